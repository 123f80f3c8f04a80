"""Causal order, judged from what applications did: what happened before what follows from the trace and from no clock.

One send happened before another if its application sent it earlier, or if the sender of the other one had been given
it before, or over any number of such steps. `replay` goes through the records of applications that talk to each other
in an order that respects this: each application in its own, and nobody takes what has not been sent. For each life it
keeps how many messages of each life happened before its present (a vector); a batch takes its sender's vector along
until the last who takes it has done so. Vectors change only when something is taken; batches in between share one.

Memory: 8 bytes per life and vector; as many vectors as lives, mailboxes, and batches on their way; beside the columns.
Owns: this order. Must not know: Spark, any other guarantee.
"""

from __future__ import annotations

from array import array
from collections import deque
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from causeway.pipeline.audit.chains import Chains, Records, TakenPart, matched
from causeway.ranges import IdSet

Vector = NDArray[np.int64]

TURN: Final = 64
"""Records that one application may be ahead of the others: so few batches are on their way at once."""
CHAINS_MAX: Final = 1_000
"""Findings of one circle that are shown with the whole chain of events; to find one is a walk through the records."""


class Late(NamedTuple):
    """Messages that a mailbox showed after something that they happened before."""

    taken: int
    """Entry in which they were taken."""
    first: int
    last: int
    chain: tuple[int, ...]
    """Entries from their SENT over what followed to the RECEIVED that came too early, and theirs."""


class Replayed(NamedTuple):
    """What came out."""

    late: list[Late]
    checked: NDArray[np.int64]
    """By entry: messages that were held against the order there."""
    shared: NDArray[np.int64]
    """By entry: messages that were not, because several applications read the mailbox."""
    impossible: list[int]
    """Entries that were taken before they were sent, as the records have it."""


def replay(records: Records) -> Replayed:
    """Everything that was taken against causal order."""
    return _Replay(records).run()


class _Replay:
    def __init__(self, records: Records) -> None:
        self._r = records
        size = len(records.life)
        lives = codes(np.concatenate([records.life, records.incarnation]))
        names = np.concatenate([records.writer, records.source])
        processes = codes(names * (int(lives.max(initial=0)) + 1) + lives)
        self._count = int(processes.max(initial=-1)) + 1
        self._process, self._sender = processes[:size], processes[size:]
        order = np.lexsort((records.sequence, records.life, records.writer))
        self._queues = _queues(order, records.writer)
        self._number = _numbers(records, order, self._process)
        self._parts = matched(records, self._sender)
        self._takers = np.zeros(size, np.int64)
        for parts in self._parts.values():
            for part in parts:
                self._takers[part.batch] += 1
        self._shared = _shared(records)
        # What changes:
        self._knows: list[Vector] = [np.zeros(self._count, np.int64) for _ in range(self._count)]
        self._serials = [0] * self._count
        """By life: a number that its vector has as long as it stays the same."""
        self._serial = 0
        self._posted: dict[int, tuple[int, Vector]] = {}
        """By batch: what its sender knew; as long as somebody will take it."""
        self._done = bytearray(size)
        self._readings: dict[int, Vector] = {}
        """By mailbox: what happened before anything that it has shown."""
        self._merged: dict[tuple[int, int, bool], int] = {}
        """The vector of a sender that somebody, or a mailbox, had from it last: most batches bring it again."""
        self._seen: dict[tuple[int, int, int], IdSet] = {}
        self._log = array("q")
        self._late: list[tuple[int, TakenPart]] = []
        self._impossible: list[int] = []
        self._checked = np.zeros(size, np.int64)
        self._unchecked = np.zeros(size, np.int64)

    def run(self) -> Replayed:
        at = [0] * len(self._queues)
        ready = deque(range(len(self._queues)))
        waiting: dict[int, list[int]] = {}
        while ready or waiting:
            if not ready:
                ready.extend(self._force(waiting))
                continue
            one = ready.popleft()
            queue = self._queues[one]
            for _ in range(TURN):
                if at[one] == len(queue):
                    break
                entry = int(queue[at[one]])
                missing = next((part.batch for part in self._parts.get(entry, ()) if not self._done[part.batch]), None)
                if missing is not None:
                    waiting.setdefault(missing, []).append(one)
                    break
                at[one] += 1
                self._step(entry)
                ready.extend(waiting.pop(entry, ()))
            else:
                ready.append(one)
        chains = Chains(self._r.sequence, self._process, self._r.mailbox, self._parts, self._log)
        late = [
            Late(entry, part.first, part.last, chains.of(entry, part) if shown < CHAINS_MAX else (part.batch, entry))
            for shown, (entry, part) in enumerate(self._late)
        ]
        return Replayed(late, self._checked, self._unchecked, self._impossible)

    def _force(self, waiting: dict[int, list[int]]) -> list[int]:
        """Everybody waits for somebody: the records cannot be. Whoever waits for the first of them goes on without."""
        batch = min(waiting)
        self._impossible.append(batch)
        self._done[batch] = 1
        self._posted[batch] = (0, np.zeros(self._count, np.int64))
        return waiting.pop(batch)

    def _step(self, entry: int) -> None:
        self._log.append(entry)
        if self._r.sent[entry]:
            if self._takers[entry] and not self._done[entry]:
                me = int(self._process[entry])
                if not self._serials[me]:
                    self._serial += 1
                    self._serials[me] = self._serial
                self._posted[entry] = (self._serials[me], self._knows[me])
            self._done[entry] = 1
            return
        for part in self._parts.get(entry, ()):
            self._take(entry, part)

    def _take(self, entry: int, part: TakenPart) -> None:
        # Which life sent it: who keeps its state is called the same in all of them.
        me, sender, mailbox = int(self._process[entry]), int(self._process[part.batch]), int(self._r.mailbox[entry])
        serial, vector = self._posted[part.batch]
        self._takers[part.batch] -= 1
        if not self._takers[part.batch]:
            del self._posted[part.batch]
        number = int(self._number[part.batch]) + part.first - int(self._r.first[part.batch])
        if mailbox in self._shared:
            self._unchecked[entry] += part.last - part.first + 1
        else:
            self._check(entry, part, number, serial, vector)
        last = number + part.last - part.first
        if self._merged.get((me, sender, True)) != serial:
            self._merged[me, sender, True] = serial
            self._learn(me, np.maximum(self._knows[me], vector))
        if self._knows[me][sender] < last:
            if self._serials[me]:
                self._learn(me, self._knows[me].copy())  # a batch on its way has the other one
            self._knows[me][sender] = last

    def _learn(self, me: int, vector: Vector) -> None:
        self._knows[me] = vector
        self._serials[me] = 0

    def _check(self, entry: int, part: TakenPart, number: int, serial: int, vector: Vector) -> None:
        """Hold messages that a mailbox shows against what it has shown; `number` is that of their first."""
        sender, mailbox = int(self._process[part.batch]), int(self._r.mailbox[entry])
        seen = self._seen.setdefault((mailbox, int(self._sender[entry]), int(self._r.stream[entry])), IdSet())
        reading = self._readings.get(mailbox)
        if reading is None:
            reading = self._readings[mailbox] = np.zeros(self._count, np.int64)
        overtaken = part.first + int(reading[sender]) - number
        for first, last in seen.missing(part.first, part.last):
            self._checked[entry] += last - first + 1
            if first <= overtaken:
                self._late.append((entry, TakenPart(first, min(last, overtaken), part.batch)))
        seen.add(part.first, part.last)
        if self._merged.get((mailbox, sender, False)) != serial:
            self._merged[mailbox, sender, False] = serial
            np.maximum(reading, vector, out=reading)
        behind = number + part.last - part.first - 1
        if reading[sender] < behind:
            reading[sender] = behind


def codes(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each value its number among the different ones."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _queues(order: NDArray[np.int64], writer: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The entries of each application, in its order."""
    names = writer[order]
    return np.split(order, np.flatnonzero(np.diff(names)) + 1) if len(order) else []


def _numbers(records: Records, order: NDArray[np.int64], process: NDArray[np.int64]) -> NDArray[np.int64]:
    """By entry that sends: the number of its first message among all of its life, from 1 on."""
    sends = order[records.sent[order]]
    sizes = records.last[sends] - records.first[sends] + 1
    before = np.cumsum(sizes) - sizes
    changed = np.flatnonzero(np.diff(process[sends], prepend=-1))
    base = np.repeat(before[changed], np.diff(changed, append=len(sends)))
    numbers = np.zeros(len(order), np.int64)
    numbers[sends] = before - base + 1
    return numbers


def _shared(records: Records) -> frozenset[int]:
    """Mailboxes that several applications have taken something from."""
    taken = ~records.sent
    pairs = np.unique(np.stack([records.mailbox[taken], records.writer[taken]], axis=1), axis=0)
    boxes, readers = np.unique(pairs[:, 0], return_counts=True)
    return frozenset(boxes[readers > 1].tolist())
