"""Batches in memory: each is tiled by parts, and a part is a run of messages with one fate.

Owns: parts, and the shelf that finds a batch by a message's number.
Must not know: what is delivered next, consumers' credit, rows, streams, time.

A batch is its own first part, and the usual one has no other from arrival to settlement: it costs one object beside
its row. Nothing here is done per message.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import Final

from causeway.core.mail.consumers import Consumer
from causeway.core.mail.rows import CONDEMNED, SETTLED, Mark, StoredBatch, stretch
from causeway.core.mail.seen import AdmittedStream
from causeway.limits import ID_MAX
from causeway.types import Span

READY: Final = 1
"""Waits for a consumer."""
HELD: Final = 2
"""With a consumer."""
LOCKED: Final = 4
"""A transaction settles it, if it commits."""
DEAD: Final = 8
"""Given back too often; waits for the dead-letter mailbox."""
DONE: Final = 16
"""Settled (or a duplicate, or expired)."""
UNSAFE: Final = 32
"""Would be ready, but its number is not committed yet."""
DELAYED: Final = 64
"""Would be ready, but its time has not come."""
OPEN: Final = READY | HELD | UNSAFE | DELAYED
"""What a consumer may settle."""

PRIORITY_COUNT: Final = 10
BATCH_OVERHEAD_BYTES: Final = 700
"""Bookkeeping of one batch in memory beside its body, measured; charged to the window."""
_PURGE_MIN: Final = 64


class BatchPart:
    """Messages start .. stop-1 (offsets in their batch), all in one state."""

    __slots__ = ("batch", "deliveries", "holder", "losses", "queued", "start", "state", "stop")

    def __init__(self, batch: Batch, span: Span, state: int, deliveries: int = 0) -> None:
        self.batch = batch
        self.start, self.stop = span
        self.state = state
        self.deliveries = deliveries
        self.losses = 0
        """How many readers were lost while they held it beside others: any of these may have killed them."""
        self.holder: Consumer | None = None
        self.queued = False
        """Whether a lane has an entry for it, if only a stale one."""

    @property
    def key(self) -> int:
        """Its place in the order of delivery within its priority; unique."""
        return self.batch.rank << 32 | self.start

    @property
    def order(self) -> int:
        """Its place in the order of delivery, before all that is greater."""
        return PRIORITY_COUNT - self.batch.info.priority << 96 | self.batch.rank << 32 | self.start

    @property
    def length(self) -> int:
        """How many messages."""
        return self.stop - self.start


class Batch(BatchPart):
    """One batch in memory, and its own first part."""

    __slots__ = (
        "alias",
        "count",
        "delayed",
        "info",
        "marked",
        "open",
        "operation",
        "rank",
        "redelivered",
        "safe",
        "several",
        "stored",
        "stream",
        "timed",
    )

    def __init__(self, info: StoredBatch, *, stored: bool, stream: AdmittedStream | None = None) -> None:
        self.batch = self
        self.start = 0
        self.stop = self.count = self.open = info.count
        """Where its first part ends; how many messages there are in all parts, and how many of them are not settled."""
        self.state = READY
        self.deliveries = self.losses = 0
        self.holder = None
        self.queued = False
        self.several: list[BatchPart] | None = None
        """All parts; None while it is in one piece."""
        self.info = info
        self.stored = stored
        self.stream = stream
        """Known as long as the batch is not safe on the copies."""
        self.operation = info.seq
        """Number of the operation that stores it."""
        self.rank = -1
        self.safe = True
        """Its messages may be delivered as soon as they are ready."""
        self.redelivered = False
        """May have been delivered by an earlier owner."""
        self.marked = False
        """Has a row of marks."""
        self.timed = False
        """Has an entry among the expiries."""
        self.delayed = False
        """Its time has not come."""
        self.alias = -1
        """Its number while it was passing; a consumer may still know it by that."""

    @property
    def charge(self) -> int:
        """Bytes of memory."""
        return len(self.info.body) + BATCH_OVERHEAD_BYTES

    @property
    def key(self) -> int:
        """As of any part, also when it has been forgotten."""
        return self.rank << 32

    @property
    def parts(self) -> list[BatchPart]:
        """All of it, in order; to be changed by `split` and `compact` only."""
        return [self] if self.several is None else self.several

    def forget(self) -> None:
        """It is settled to the end: let go of what would keep it in memory."""
        self.several = None
        del self.batch

    def index(self, offset: int) -> int:
        """Which part holds an offset."""
        return 0 if self.several is None else bisect_right(self.several, offset, key=_start) - 1

    def split(self, index: int, at: int) -> BatchPart:
        """Cut the part at `index` before offset `at`; the new part behind it."""
        parts = self.several
        if parts is None:
            parts = self.several = [self]
        left = parts[index]
        right = BatchPart(self, (at, left.stop), left.state, left.deliveries)
        right.holder, right.losses = left.holder, left.losses
        left.stop = at
        parts.insert(index + 1, right)
        return right

    def compact(self) -> None:
        """Join settled neighbours."""
        parts = self.several
        if parts is None:
            return
        kept = parts[:1]
        for part in parts[1:]:
            before = kept[-1]
            if part.state == DONE and before.state == DONE:
                before.stop = part.stop
            else:
                kept.append(part)
        self.several = kept if len(kept) > 1 else None

    def marks(self) -> tuple[Mark, ...]:
        """What a new owner must know beside the batch itself."""
        found: list[Mark] = []
        seq = self.info.seq
        for part in self.parts:
            if part.state == DONE:
                value = SETTLED
            else:
                value = part.deliveries + (CONDEMNED if part.state == DEAD else 0)
            if value == 0:
                continue
            first, last = seq + part.start, seq + part.stop - 1
            if found and found[-1].last + 1 == first and found[-1].deliveries == value:
                found[-1] = Mark(found[-1].first, last, value)
            else:
                found.append(Mark(first, last, value))
        return tuple(found)

    def apply(self, marks: tuple[Mark, ...]) -> None:
        """Take over marks, on a batch that nobody has seen yet."""
        for mark in marks:
            first, stop = mark.first - self.info.seq, mark.last + 1 - self.info.seq
            for part in self.carve(first, stop, READY | DEAD):
                if mark.deliveries == SETTLED:
                    part.state = DONE
                    self.open -= part.length
                else:
                    part.state = DEAD if mark.deliveries >= CONDEMNED else READY
                    part.deliveries = mark.deliveries % CONDEMNED
        self.compact()

    def lock(self, spans: Sequence[Span]) -> bool:
        """Reserve what is ready of these numbers, on a batch that nobody has seen yet; whether there is any."""
        found = False
        for first, last in spans:
            for part in self.carve(first - self.info.seq, last + 1 - self.info.seq, READY):
                part.state = LOCKED
                found = True
        return found

    def carve(self, start: int, stop: int, mask: int, fresh: list[BatchPart] | None = None) -> list[BatchPart]:
        """The parts of start..stop-1 in one of the states of `mask`, cut to fit; new parts are added to `fresh`."""
        if start <= 0 and stop >= self.count:
            return [part for part in self.parts if part.state & mask]
        chosen: list[BatchPart] = []
        made: list[BatchPart] = []
        at = self.index(max(start, 0))
        while at < len(self.parts) and self.parts[at].start < stop:
            part = self.parts[at]
            if part.state & mask and part.stop > start:
                if part.start < start:
                    part = self.split(at, start)
                    made.append(part)
                    at += 1
                if part.stop > stop:
                    made.append(self.split(at, stop))
                chosen.append(part)
            at += 1
        if fresh is not None:
            fresh += made
        return chosen

    def piece(self, start: int, stop: int) -> StoredBatch:
        """Messages start .. stop-1 as a batch of their own."""
        return stretch(self.info, start, stop)


def _start(part: BatchPart) -> int:
    return part.start


class Shelf(dict[int, Batch]):
    """Batches by the number of their first message. Their order is kept while somebody asks for more than one batch.

    Numbers of dead batches stay in the order for a while: they cover nothing, and cost little.
    """

    __slots__ = ("_head", "_order")

    def __init__(self) -> None:
        super().__init__()
        self._order: list[int] | None = None
        self._head = 0
        """Nothing before this index is alive."""

    def add(self, number: int, batch: Batch) -> None:
        """Put a batch where its number belongs."""
        self[number] = batch
        order = self._order
        if order is None:
            return
        if order and number < order[-1]:
            insort(order, number)
            self._head = 0
        else:
            order.append(number)

    def remove(self, number: int) -> None:
        """Take a batch away."""
        del self[number]
        if self._order is not None and (not self or len(self._order) > 2 * len(self) + _PURGE_MIN):
            self._order = None

    def _ordered(self) -> list[int]:
        if self._order is None:
            self._order, self._head = sorted(self), 0
        return self._order

    def first(self) -> Batch | None:
        """The batch with the lowest number."""
        if self._order is None and len(self) < 2:
            return next(iter(self.values()), None)
        order, at = self._ordered(), self._head
        while at < len(order) and order[at] not in self:
            at += 1
        self._head = at
        return self[order[at]] if at < len(order) else None

    def batches(self) -> Iterator[Batch]:
        """All, in order, each once. The shelf must not change meanwhile."""
        return (batch for number, batch in self.covering(0, ID_MAX) if number == batch.info.seq)

    def oldest(self, size: int) -> list[Span]:
        """The numbers of the first batches that together have so many bytes.

        Whole batches, and none that a transaction has locked or that is not safe yet. What is in a consumer's hands
        comes last: it is read in any case, and giving its credit back would push everything else after it.
        """
        free: list[Span] = []
        held: list[tuple[Span, int]] = []
        for batch in self.batches():
            if size <= 0:
                break
            if not all(part.state & (READY | HELD | DELAYED | DONE) for part in batch.parts):
                continue
            span = (batch.info.seq, batch.info.seq + batch.count - 1)
            if all(part.state & HELD for part in batch.parts):
                held.append((span, len(batch.info.body)))
            else:
                free.append(span)
                size -= len(batch.info.body)
        for span, body in held:
            if size > 0:
                free.append(span)
                size -= body
        return sorted(free)

    def covering(self, first: int, last: int) -> Iterator[tuple[int, Batch]]:
        """(number, batch) of all that hold messages first..last, in order. The shelf must not change meanwhile."""
        order = self._ordered()
        at = max(bisect_right(order, first) - 1, 0)
        while at < len(order) and order[at] <= last:
            number = order[at]
            batch = self.get(number)
            if batch is not None and number + batch.count > first:
                yield number, batch
            at += 1
