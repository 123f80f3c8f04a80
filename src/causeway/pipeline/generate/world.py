"""A made-up circle of applications and its brokers: what they would have recorded, and faults planted among it.

Applications send to each other's mailboxes and to a queue that two of them read, publish on topics, and answer what
they are given, in every class and in causal order. Mailboxes keep the order of sending, so a circle without planted
faults breaks no promise; messages expire, are refused, given back, passed without being stored; applications restart;
brokers hand over and, in rough circles, are killed with the last of their records.

Everything follows from (seed, number of the circle). Memory holds what is on its way.
Owns: what happens. Must not know: the audit's rules, Spark.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from causeway.names import SEATS
from causeway.pipeline.generate.writers import Batch, Record, Writer
from causeway.trace import Step
from causeway.types import MILLISECOND, ServiceClass

BROKERS: Final = 5
COPIES: Final = 3
BATCH_MAX: Final = 40
SENDS_APART: Final = MILLISECOND
HOP: Final = (MILLISECOND // 10, 8 * MILLISECOND)
"""Bounds of what one step takes."""

FAULTS: Final = (
    "lost",
    "taken twice",
    "handed out after settled",
    "stored twice",
    "out of order",
    "acknowledged before stored",
    "acknowledged and nowhere",
    "copies missing",
    "against causal order",
)
"""Kinds of faults that can be planted in a calm circle."""
GAP: Final = "records missing"
"""Planted in rough circles: a message that would look lost if its records were not known to be missing."""

Task = Callable[[], None]


class Planted(NamedTuple):
    """One planted fault: which messages, and where they show it."""

    fault: str
    domain: str
    source: str
    incarnation: int
    dest: str
    stream: int
    first: int
    last: int
    mailbox: str


class Entry:
    """A batch in a mailbox."""

    __slots__ = ("batch", "fault", "healthy", "ready", "then")

    def __init__(self, batch: Batch, fault: str, *, healthy: bool) -> None:
        self.batch, self.fault, self.healthy = batch, fault, healthy
        self.ready = False
        self.then: Task | None = None
        """What follows when its reader has taken it."""


class Mailbox:
    """A mailbox, an item or a subscription: a group of brokers, a queue in the order of sending, and who reads it."""

    def __init__(self, name: str, members: list[Writer], readers: list[Writer]) -> None:
        self.name = name
        self.members = members
        self.epoch = 1
        self.readers = readers
        self.queue: deque[Entry] = deque()
        self.closed = False
        self.taken_at = 0
        """When the last of what was handed out is taken: readers take things in order."""

    @property
    def owner(self) -> Writer:
        return self.members[0]


class World:
    """One circle."""

    def __init__(
        self, seed: int, number: int, applications: int, events: int, faults: list[str], *, rough: bool
    ) -> None:
        self.domain = f"circle-{number:05}"
        self._chance = random.Random(f"{seed} {number}")
        self._events = events
        self.out: list[Record] = []
        self._written = 0
        self.planted: list[Planted] = []
        chance, out = self._chance, self.out
        name = self.domain
        self._brokers = [Writer(f"{name}-broker-{i}", "broker", name, out, chance) for i in range(BROKERS)]
        self._applications = [Writer(f"{name}-app-{i}", "application", name, out, chance) for i in range(applications)]
        self._boxes = [Mailbox(one.name, self._group(), [one]) for one in self._applications]
        shared = self._applications[: 2 if applications > 1 else 1]
        self._queue = Mailbox(f"{name}-queue", self._group(), shared)
        self._item = Mailbox(f"causeway/topics/{number % 64:02}", self._group(), [])
        self._subscriptions = [
            Mailbox(f"sub/{one.name}/news", self._group(), [one]) for one in self._applications[: 1 + applications // 3]
        ]
        self._numbers: dict[tuple[str, int, str, int], int] = {}
        self._heap: list[tuple[int, int, Task]] = []
        self._count = 0
        self.now = 0
        self._rough = rough
        self._stopped = False
        # Faults keep away from where brokers hand over, and from the end.
        places = [chance.uniform(0.05, 0.4) if chance.random() < 0.5 else chance.uniform(0.6, 0.9) for _ in faults]
        chosen = [faults[i] for i in chance.sample(range(len(faults)), len(faults))]
        self._due = deque(sorted(zip((int(place * events) for place in places), chosen, strict=True)))

    def _group(self) -> list[Writer]:
        return self._chance.sample(self._brokers, COPIES)

    # Time ------------------------------------------------------------------------------------------------------
    def run(self, records_max: int) -> Iterator[list[Record]]:
        """Records, so many at a time; each list is ours to keep."""
        self._at(0, self._traffic)
        if self._rough:
            self._at(50 * MILLISECOND, self._kill)
        moved = False
        while self._heap:
            self.now, _, task = heapq.heappop(self._heap)
            task()
            done = self._written + len(self.out)
            if not moved and done > self._events // 2:
                moved = True
                self._hand_over()
            if len(self.out) >= records_max:
                yield self._flushed()
        for writer in (*self._brokers, *self._applications):
            writer.restart(self.now, closed=True)
        yield self._flushed()

    def _flushed(self) -> list[Record]:
        records = self.out[:]
        self._written += len(records)
        self.out.clear()
        return records

    def _at(self, delay: int, task: Task) -> None:
        self._count += 1
        heapq.heappush(self._heap, (self.now + delay, self._count, task))

    def _soon(self, task: Task) -> None:
        self._at(self._chance.randint(*HOP), task)

    def _traffic(self) -> None:
        """Somebody sends something, and so on until enough has happened."""
        done = self._written + len(self.out)
        if done >= self._events:
            return
        if not self._stopped and done > 0.97 * self._events:
            self._stopped = True
            for box in self._boxes[1:3]:
                box.closed = True  # what comes now waits there for good
        if self._due and done >= self._due[0][0]:
            self._plant(self._due.popleft()[1])
        else:
            self._send_something(self._chance.choice(self._applications))
        chance = self._chance.random()
        if chance < 0.0005:
            self._chance.choice((*self._brokers, *self._applications)).clock.jump(self._chance)
        elif chance < 0.001:
            self._chance.choice(self._applications).restart(self.now, closed=self._chance.random() < 0.5)
        self._at(int(self._chance.expovariate(1 / SENDS_APART)), self._traffic)

    # Sending ---------------------------------------------------------------------------------------------------
    def _send_something(self, sender: Writer) -> None:
        draw = self._chance.random()
        service, reliable = self._service()
        if draw < 0.25:
            self._send_causal(sender, self._other(sender), service)
        elif draw < 0.32:
            self._publish_causal(sender, service)
        elif draw < 0.45:
            self._publish(sender, service, reliable=reliable)
        elif draw < 0.52:
            self._send(sender, self._queue, service, reliable=reliable)
        else:
            self._send(sender, self._other(sender), service, reliable=reliable)

    def _service(self) -> tuple[ServiceClass, bool]:
        service = self._chance.choices(list(ServiceClass), (3, 4, 4, 1))[0]
        return service, service >= ServiceClass.TRANSACTIONAL or self._chance.random() < 0.8

    def _other(self, sender: Writer) -> Mailbox:
        boxes = [box for box in self._boxes if box.readers[0] is not sender] or self._boxes
        return self._chance.choice(boxes)

    def _batch(self, sender: Writer, dest: str, service: int, **how: Any) -> Batch:
        where = (sender.name, sender.life, dest, int(service))
        first = self._numbers.get(where, 0) + 1
        last = first + (0 if self._chance.random() < 0.4 else self._chance.randint(0, BATCH_MAX - 1))
        self._numbers[where] = last
        reliable = how.pop("reliable", True)
        causal, topic = how.pop("causal", False), how.pop("topic", "")
        size = 128 * (last - first + 1)
        return Batch(*where, first, last, int(service), reliable, causal, topic, size)

    def _send(
        self,
        sender: Writer,
        box: Mailbox,
        service: int,
        *,
        reliable: bool = True,
        fault: str = "",
        healthy: bool = False,
    ) -> Entry:
        """One batch to a mailbox; what is healthy meets no misfortune on its way."""
        batch = self._batch(sender, box.name, service, reliable=reliable)
        entry = Entry(batch, fault, healthy=healthy or bool(fault))
        broker = self._set_off(sender, batch, box.name)
        draw = 1.0 if entry.healthy else self._chance.random()
        if draw < 0.005:
            self._soon(lambda: self._refuse(sender, broker, box, batch))
            return entry
        box.queue.append(entry)
        if service == ServiceClass.EXPRESS or draw < 0.05:
            self._soon(lambda: self._pass(sender, broker, box, entry))
        else:
            self._store(box, entry, lambda: self._acknowledge(sender, broker, batch, box.name))
        return entry

    def _set_off(self, sender: Writer, batch: Batch, mailbox: str) -> Writer:
        """A batch leaves its sender; the broker that takes it."""
        sender.write(self.now, Step.SENT, batch, mailbox)
        broker = self._chance.choice(self._brokers)
        self._soon(lambda: broker.write(self.now, Step.SENT, batch, mailbox))
        return broker

    def _refuse(self, sender: Writer, broker: Writer, box: Mailbox, batch: Batch) -> None:
        broker.write(self.now, Step.REFUSED, batch, box.name, note="mailbox_full")
        self._soon(lambda: sender.write(self.now, Step.REFUSED, batch, box.name, note="mailbox_full"))

    def _acknowledge(self, sender: Writer, broker: Writer, batch: Batch, mailbox: str) -> None:
        if batch.reliable:
            self._soon(lambda: broker.write(self.now, Step.ACKNOWLEDGED, batch, mailbox))
            self._at(HOP[1] + 1, lambda: sender.write(self.now, Step.ACKNOWLEDGED, batch, mailbox))

    def _pass(self, sender: Writer, broker: Writer, box: Mailbox, entry: Entry) -> None:
        """Into the owner's memory, to a reader that waits; acknowledged when it is there, or done with."""
        box.owner.write(self.now, Step.TAKEN, entry.batch, box.name)
        entry.ready = True
        if entry.batch.service == ServiceClass.EXPRESS:
            self._acknowledge(sender, broker, entry.batch, box.name)
        else:
            entry.then = lambda: self._at(3 * HOP[1], lambda: self._acknowledge(sender, broker, entry.batch, box.name))
            entry.healthy = True
        self._pump(box)

    # Storing ---------------------------------------------------------------------------------------------------
    def _store(self, box: Mailbox, entry: Entry, then: Task, seat: str = "") -> None:
        """On all copies, then in its mailbox."""
        members, epoch, batch, fault = box.members, box.epoch, entry.batch, entry.fault
        copied = members[:-1] if fault == "copies missing" else members
        for member in copied:
            self._soon(
                lambda member=member: member.write(  # type: ignore[misc]
                    self.now, Step.COPIED, batch, box.name, peer=members[0].name, epoch=epoch
                )
            )
        if fault == "acknowledged before stored":
            self._soon(lambda: members[0].write(self.now, Step.ACKNOWLEDGED, batch, box.name))

        def stored() -> None:
            for _ in range(2 if fault == "stored twice" else 1):
                if fault != "acknowledged and nowhere":
                    members[0].write(
                        self.now, Step.STORED, batch, box.name, seat=seat, epoch=epoch, copies=len(members)
                    )
            if fault in {"lost", "acknowledged and nowhere"}:
                box.queue.remove(entry)
            entry.ready = True
            then()
            self._pump(box)

        self._at(HOP[1] + 1, stored)

    # Handing out -----------------------------------------------------------------------------------------------
    def _pump(self, box: Mailbox) -> None:
        """Hand out what is ready, in order."""
        while box.queue and box.queue[0].ready and not (box.closed and not box.queue[0].healthy):
            entry = box.queue.popleft()
            if not entry.healthy and self._chance.random() < 0.003:
                box.owner.write(self.now, Step.EXPIRED, entry.batch, box.name)
                continue
            self._hand_out(box, entry)

    def _hand_out(self, box: Mailbox, entry: Entry) -> None:
        reader = self._chance.choice(box.readers)
        box.owner.dropping = entry.fault == GAP
        box.owner.write(self.now, Step.DELIVERED, entry.batch, box.name, peer=reader.name)
        box.owner.dropping = False
        box.taken_at = max(box.taken_at + 1, self.now + self._chance.randint(*HOP))
        self._at(box.taken_at - self.now, lambda: self._take(box, entry, reader))

    def _take(self, box: Mailbox, entry: Entry, reader: Writer) -> None:
        batch = entry.batch
        reader.dropping = entry.fault == GAP
        for _ in range(2 if entry.fault == "taken twice" else 1):
            reader.write(self.now, Step.RECEIVED, batch, box.name, peer=box.owner.name)
        reader.dropping = False
        draw = 1.0 if entry.healthy else self._chance.random()
        if draw < 0.006:
            self._soon(lambda: self._give_back(box, entry))
            return
        if draw < 0.009:  # it ends before it is done; its next life is given it again
            reader.restart(self.now, closed=False)
            self._soon(lambda: self._hand_out(box, entry))
            return
        if entry.then is not None:
            entry.then()
        elif draw < 0.15 and batch.causal:
            self._send_causal(reader, self._other(reader), self._service()[0])
        if entry.fault != GAP:
            self._soon(lambda: reader.write(self.now, Step.SETTLED, batch, box.name))
        self._at(HOP[1] + 1, lambda: self._settle(box, entry))

    def _settle(self, box: Mailbox, entry: Entry) -> None:
        owner = box.owner
        owner.dropping = entry.fault == GAP
        owner.write(self.now, Step.SETTLED, entry.batch, box.name)
        owner.dropping = False
        if entry.fault == "handed out after settled":
            owner.write(self.now, Step.DELIVERED, entry.batch, box.name, peer=box.readers[0].name)

    def _give_back(self, box: Mailbox, entry: Entry) -> None:
        box.owner.write(self.now, Step.RETURNED, entry.batch, box.name)
        if self._chance.random() < 0.1:
            box.owner.write(self.now, Step.DEAD, entry.batch, box.name)
        else:
            self._hand_out(box, entry)

    # Topics and causal order -----------------------------------------------------------------------------------
    def _publish(self, sender: Writer, service: int, *, reliable: bool) -> None:
        """To the item of a topic, and from there to who subscribes."""
        item = self._item
        batch = self._batch(sender, item.name, service, reliable=reliable, topic=f"{self.domain}/news")
        broker = self._set_off(sender, batch, item.name)
        wanted = [box for box in self._subscriptions if self._chance.random() < 0.9]  # others have a selector
        entries = []
        for box in wanted:
            entries.append(Entry(batch, "", healthy=False))
            box.queue.append(entries[-1])
        held = Entry(batch, "", healthy=True)

        def forward() -> None:
            item.queue.remove(held)
            for box, entry in zip(wanted, entries, strict=True):
                if service == ServiceClass.EXPRESS:
                    self._soon(lambda box=box, entry=entry: self._arrive(box, entry))  # type: ignore[misc]
                else:
                    self._store(box, entry, lambda: None)
            self._at(3 * HOP[1], lambda: item.owner.write(self.now, Step.SETTLED, batch, item.name))

        item.queue.append(held)
        if service == ServiceClass.EXPRESS:
            item.owner.write(self.now, Step.TAKEN, batch, item.name)
            self._acknowledge(sender, broker, batch, item.name)
            forward()
        else:

            def stored() -> None:
                self._acknowledge(sender, broker, batch, item.name)
                forward()

            self._store(item, held, stored)

    def _arrive(self, box: Mailbox, entry: Entry) -> None:
        box.owner.write(self.now, Step.TAKEN, entry.batch, box.name)
        entry.ready = True
        self._pump(box)

    def _send_causal(
        self, sender: Writer, box: Mailbox, service: int, *, fault: str = "", healthy: bool = False
    ) -> Entry:
        batch = self._batch(sender, SEATS, min(service, ServiceClass.TRANSACTIONAL), causal=True)
        entry = Entry(batch, fault, healthy=healthy or bool(fault))
        broker = self._set_off(sender, batch, box.name)
        box.queue.append(entry)
        self._store(box, entry, lambda: self._acknowledge(sender, broker, batch, box.name), f"seat of {broker.name}")
        return entry

    def _publish_causal(self, sender: Writer, service: int) -> None:
        topic = f"{self.domain}/events"
        batch = self._batch(sender, SEATS, min(service, ServiceClass.TRANSACTIONAL), causal=True, topic=topic)
        broker = self._set_off(sender, batch, "")
        for number, box in enumerate(self._boxes[::2]):
            entry = Entry(batch, "", healthy=False)
            box.queue.append(entry)
            last = number == 0
            self._store(box, entry, (lambda: self._acknowledge(sender, broker, batch, "")) if last else (lambda: None))

    # Misfortune ------------------------------------------------------------------------------------------------
    def _hand_over(self) -> None:
        """A broker leaves in order: its mailboxes have other owners, under a new epoch."""
        leaver = self._chance.choice(self._brokers)
        self._replace(leaver)
        leaver.restart(self.now, closed=True)

    def _kill(self) -> None:
        """A broker is killed; the last of its records were not written yet. Its neighbours go on at once."""
        if self._written + len(self.out) >= 0.9 * self._events:
            return
        victim = self._chance.choice(self._brokers)
        victim.muted = True

        def dead() -> None:
            self._replace(victim)
            victim.restart(self.now, closed=False)
            self._at(self._chance.randint(1, 4) * 500 * MILLISECOND, self._kill)

        self._at(20 * MILLISECOND, dead)

    def _replace(self, leaver: Writer) -> None:
        for box in (*self._boxes, self._queue, self._item, *self._subscriptions):
            if leaver in box.members:
                others = [one for one in self._brokers if one not in box.members]
                box.members = [*(one for one in box.members if one is not leaver), self._chance.choice(others)]
                box.epoch += 1

    # Faults ----------------------------------------------------------------------------------------------------
    def _plant(self, fault: str) -> None:
        if fault == "against causal order":
            self._plant_causal(fault)
            return
        sender = self._chance.choice(self._applications)
        box = self._other(sender)
        service = self._chance.choice((ServiceClass.RECOVERABLE, ServiceClass.TRANSACTIONAL))
        if fault in {"out of order", GAP}:
            service = ServiceClass.TRANSACTIONAL
        elif fault == "acknowledged and nowhere":
            service = ServiceClass.RECOVERABLE
        if fault == "lost" and self._chance.random() < 0.3:
            entry = self._send_causal(sender, box, service, fault=fault)
            self._send_causal(sender, box, service, healthy=True)
        else:
            entry = self._send(sender, box, service, fault=fault)
            behind = self._send(sender, box, service, healthy=True)
            if fault == "out of order":
                box.queue.remove(entry)
                box.queue.insert(box.queue.index(behind) + 1, entry)
        self._note(fault, entry.batch, box)

    def _plant_causal(self, fault: str) -> None:
        """One tells two others; the second hears of it from the first before it is told."""
        first, second, third = self._chance.sample(self._boxes, 3)
        late = self._send_causal(first.readers[0], third, ServiceClass.RECOVERABLE, fault=fault)
        third.queue.remove(late)
        told = self._send_causal(first.readers[0], second, ServiceClass.RECOVERABLE, healthy=True)

        def answer() -> None:
            early = self._send_causal(second.readers[0], third, ServiceClass.RECOVERABLE, healthy=True)
            early.then = lambda: self._at(2 * HOP[1], come)

        def come() -> None:
            third.queue.appendleft(late)
            self._pump(third)

        told.then = answer
        self._note(fault, late.batch, third)

    def _note(self, fault: str, batch: Batch, box: Mailbox) -> None:
        who = (batch.source, batch.incarnation, batch.dest, batch.stream, batch.first, batch.last)
        self.planted.append(Planted(fault, self.domain, *who, box.name))
