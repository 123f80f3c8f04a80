"""How messages go in a made-up circle: from their sender over copies into mailboxes, and from there to readers.

Mailboxes keep the order of sending, so nothing here breaks a promise but what an entry's `fault` says.
Owns: these ways. Must not know: who sends what, and when (`world`), the audit's rules.
"""

from __future__ import annotations

import heapq
import random
from typing import Any, Final

from causeway.names import SEATS
from causeway.pipeline.generate.boxes import MadeEntry, MadeMailbox, Task
from causeway.pipeline.generate.writers import COPIES, MadeBatch, Record, Writer
from causeway.trace import MEMBERS_APART, Step
from causeway.types import MILLISECOND, ServiceClass

BROKERS: Final = 5
BATCH_MAX: Final = 40
HOP: Final = (MILLISECOND // 10, 8 * MILLISECOND)
"""Bounds of what one step takes."""

REDELIVERED: Final = "redelivered"
GAP: Final = "records missing"
"""A fault of the records alone: those about a message that was handed out and settled are lost."""


class Post:
    """The brokers of one circle, its mailboxes, and its virtual time."""

    def __init__(self, seed: int, number: int, applications: int) -> None:
        self.domain = f"circle-{number:05}"
        self._chance = random.Random(f"{seed} {number}")
        self.out: list[Record] = []
        chance, out = self._chance, self.out
        name = self.domain
        self._brokers = [Writer(f"{name}-broker-{i}", "broker", name, out, chance) for i in range(BROKERS)]
        self._applications = [Writer(f"{name}-app-{i}", "application", name, out, chance) for i in range(applications)]
        self._boxes = [MadeMailbox(one.name, self._group(), [one]) for one in self._applications]
        shared = self._applications[: 2 if applications > 1 else 1]
        self._queue = MadeMailbox(f"{name}-queue", self._group(), shared)
        self._item = MadeMailbox(f"causeway/topics/{number % 64:02}", self._group(), [])
        self._subscriptions = [
            MadeMailbox(f"sub/{one.name}/news", self._group(), [one])
            for one in self._applications[: 1 + applications // 3]
        ]
        self._numbers: dict[tuple[str, int, str, int], int] = {}
        self._heap: list[tuple[int, int, Task]] = []
        self._count = 0
        self.now = 0

    def _group(self) -> list[Writer]:
        return self._chance.sample(self._brokers, COPIES)

    # Time ------------------------------------------------------------------------------------------------------
    def _at(self, delay: int, task: Task) -> None:
        self._count += 1
        heapq.heappush(self._heap, (self.now + delay, self._count, task))

    def _soon(self, task: Task) -> None:
        self._at(self._chance.randint(*HOP), task)

    # Sending ---------------------------------------------------------------------------------------------------
    def _service(self) -> tuple[ServiceClass, bool]:
        service = self._chance.choices(list(ServiceClass), (3, 4, 4, 1))[0]
        return service, service >= ServiceClass.TRANSACTIONAL or self._chance.random() < 0.8

    def _other(self, sender: Writer) -> MadeMailbox:
        boxes = [box for box in self._boxes if box.readers[0] is not sender] or self._boxes
        return self._chance.choice(boxes)

    def _batch(self, sender: Writer, dest: str, service: int, **how: Any) -> MadeBatch:
        where = (sender.name, sender.life, dest, int(service))
        first = self._numbers.get(where, 0) + 1
        last = first + (0 if self._chance.random() < 0.4 else self._chance.randint(0, BATCH_MAX - 1))
        self._numbers[where] = last
        reliable = how.pop("reliable", True)
        causal, topic = how.pop("causal", False), how.pop("topic", "")
        size = 128 * (last - first + 1)
        return MadeBatch(*where, first, last, int(service), reliable, causal, topic, size)

    def _send(
        self,
        sender: Writer,
        box: MadeMailbox,
        service: int,
        *,
        reliable: bool = True,
        fault: str = "",
        healthy: bool = False,
    ) -> MadeEntry:
        """One batch to a mailbox; what is healthy meets no misfortune on its way."""
        batch = self._batch(sender, box.name, service, reliable=reliable)
        entry = MadeEntry(batch, fault, healthy=healthy or bool(fault))
        broker = self._set_off(sender, batch, box.name)
        draw = 1.0 if entry.healthy else self._chance.random()
        if draw < 0.005:
            self._soon(lambda: self._refuse(sender, broker, box, batch))
            return entry
        box.queue.append(entry)
        if service == ServiceClass.EXPRESS or (draw < 0.05 and service != ServiceClass.COMMITTED):
            self._soon(lambda: self._pass(sender, broker, box, entry))
        else:
            self._store(box, entry, lambda: self._acknowledge(sender, broker, batch, box.name))
        return entry

    def _set_off(self, sender: Writer, batch: MadeBatch, mailbox: str) -> Writer:
        """A batch leaves its sender; the broker that takes it."""
        sender.write(self.now, Step.SENT, batch, mailbox)
        broker = self._chance.choice(self._brokers)
        self._soon(lambda: broker.write(self.now, Step.SENT, batch, mailbox))
        return broker

    def _refuse(self, sender: Writer, broker: Writer, box: MadeMailbox, batch: MadeBatch) -> None:
        broker.write(self.now, Step.REFUSED, batch, box.name, note="mailbox_full")
        self._soon(lambda: sender.write(self.now, Step.REFUSED, batch, box.name, note="mailbox_full"))

    def _acknowledge(self, sender: Writer, broker: Writer, batch: MadeBatch, mailbox: str) -> None:
        if batch.reliable:
            self._soon(lambda: broker.write(self.now, Step.ACKNOWLEDGED, batch, mailbox))
            self._at(HOP[1] + 1, lambda: sender.write(self.now, Step.ACKNOWLEDGED, batch, mailbox))

    def _pass(self, sender: Writer, broker: Writer, box: MadeMailbox, entry: MadeEntry) -> None:
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
    def _store(self, box: MadeMailbox, entry: MadeEntry, then: Task, seat: str = "") -> None:
        """On all copies, then in its mailbox."""
        members, epoch, batch, fault = box.members, box.epoch, entry.batch, entry.fault
        names = MEMBERS_APART.join(member.name for member in members)
        held: Any = {"peer": names, "epoch": epoch, "copies": len(members)}
        copied = {"copies missing": members[:-1], "acknowledged and nowhere": []}.get(fault, members)
        for member in copied:
            self._soon(
                lambda member=member: member.write(  # type: ignore[misc]
                    self.now, Step.COPIED, batch, box.name, peer=members[0].name, epoch=epoch
                )
            )
        if fault == "acknowledged before stored":
            self._soon(lambda: members[0].write(self.now, Step.ACKNOWLEDGED, batch, box.name))

        def prepared() -> None:
            """In a transaction it is held ready first; when that is so everywhere, the sender is told."""
            if fault != "acknowledged and nowhere":
                members[0].write(self.now, Step.PREPARED, batch, box.name, **held)
            if told_early:
                then()

        def stored() -> None:
            for _ in range(2 if fault == "stored twice" else 1):
                if fault != "acknowledged and nowhere":
                    members[0].write(self.now, Step.STORED, batch, box.name, seat=seat, **held)
            if fault in {"lost", "acknowledged and nowhere"}:
                box.queue.remove(entry)
            entry.ready = True
            if not told_early:
                then()
            self._pump(box)

        told_early = batch.service == ServiceClass.COMMITTED and not batch.topic
        if batch.service == ServiceClass.COMMITTED:
            self._at(HOP[1] // 2, prepared)
        self._at(HOP[1] + 1, stored)

    # Handing out -----------------------------------------------------------------------------------------------
    def _pump(self, box: MadeMailbox) -> None:
        """Hand out what is ready, in order."""
        while box.queue and box.queue[0].ready and not (box.closed and not box.queue[0].healthy):
            entry = box.queue.popleft()
            if not entry.healthy and self._chance.random() < 0.003:
                box.owner.write(self.now, Step.EXPIRED, entry.batch, box.name)
                continue
            self._hand_out(box, entry)

    def _hand_out(self, box: MadeMailbox, entry: MadeEntry) -> None:
        reader = self._chance.choice(box.readers)
        box.owner.dropping = entry.fault == GAP
        box.owner.write(self.now, Step.DELIVERED, entry.batch, box.name, peer=reader.name, note=entry.again)
        entry.again = REDELIVERED
        box.owner.dropping = False
        box.taken_at = max(box.taken_at + 1, self.now + self._chance.randint(*HOP))
        self._at(box.taken_at - self.now, lambda: self._take(box, entry, reader))

    def _take(self, box: MadeMailbox, entry: MadeEntry, reader: Writer) -> None:
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

    def _settle(self, box: MadeMailbox, entry: MadeEntry) -> None:
        owner = box.owner
        owner.dropping = entry.fault == GAP
        owner.write(self.now, Step.SETTLED, entry.batch, box.name)
        owner.dropping = False
        if entry.fault == "handed out after settled":
            reader = box.readers[0].name
            owner.write(self.now, Step.DELIVERED, entry.batch, box.name, peer=reader, note=REDELIVERED)

    def _give_back(self, box: MadeMailbox, entry: MadeEntry) -> None:
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
            entries.append(MadeEntry(batch, "", healthy=False))
            box.queue.append(entries[-1])
        held = MadeEntry(batch, "", healthy=True)

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

    def _arrive(self, box: MadeMailbox, entry: MadeEntry) -> None:
        box.owner.write(self.now, Step.TAKEN, entry.batch, box.name)
        entry.ready = True
        self._pump(box)

    def _send_causal(
        self, sender: Writer, box: MadeMailbox, service: int, *, fault: str = "", healthy: bool = False
    ) -> MadeEntry:
        batch = self._batch(sender, SEATS, min(service, ServiceClass.TRANSACTIONAL), causal=True)
        entry = MadeEntry(batch, fault, healthy=healthy or bool(fault))
        broker = self._set_off(sender, batch, box.name)
        box.queue.append(entry)
        self._store(box, entry, lambda: self._acknowledge(sender, broker, batch, box.name), f"seat of {broker.name}")
        return entry

    def _publish_causal(self, sender: Writer, service: int) -> None:
        topic = f"{self.domain}/events"
        batch = self._batch(sender, SEATS, min(service, ServiceClass.TRANSACTIONAL), causal=True, topic=topic)
        broker = self._set_off(sender, batch, "")
        for number, box in enumerate(self._boxes[::2]):
            entry = MadeEntry(batch, "", healthy=False)
            box.queue.append(entry)
            last = number == 0
            self._store(box, entry, (lambda: self._acknowledge(sender, broker, batch, "")) if last else (lambda: None))
