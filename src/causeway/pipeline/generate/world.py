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
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from causeway.pipeline.generate.boxes import MadeMailbox
from causeway.pipeline.generate.post import GAP, HOP, Post
from causeway.pipeline.generate.writers import MadeBatch, Record, Writer
from causeway.types import MILLISECOND, ServiceClass

__all__ = ["FAULTS", "GAP", "MadeWorld", "Planted"]

SENDS_APART: Final = MILLISECOND

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


class MadeWorld(Post):
    """One circle."""

    def __init__(
        self, seed: int, number: int, applications: int, events: int, faults: list[str], *, rough: bool
    ) -> None:
        super().__init__(seed, number, applications)
        self._events = events
        self._written = 0
        self.planted: list[Planted] = []
        self._rough = rough
        self._stopped = False
        # Faults keep away from where brokers hand over, and from the end.
        chance = self._chance
        places = [chance.uniform(0.05, 0.4) if chance.random() < 0.5 else chance.uniform(0.6, 0.9) for _ in faults]
        chosen = [faults[i] for i in chance.sample(range(len(faults)), len(faults))]
        self._due = deque(sorted(zip((int(place * events) for place in places), chosen, strict=True)))

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
            service = ServiceClass.RECOVERABLE  # in a transaction it would be half of one as well
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

    def _note(self, fault: str, batch: MadeBatch, box: MadeMailbox) -> None:
        who = (batch.source, batch.incarnation, batch.dest, batch.stream, batch.first, batch.last)
        self.planted.append(Planted(fault, self.domain, *who, box.name))
