"""The way into a mailbox: admitted once, on its way to the copies, deliverable when it is there.

Owns: what was seen, operations that are not committed, batches that pass through in memory, numbering of volatile ones.
Must not know: consumers, transactions.

Passing (memory mode): a recoverable or transactional batch for an online consumer stays in the owner's memory and is
acknowledged when the application settles it (PBM section 2.5). If that takes too long it is stored after all.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from causeway.config import BrokerConfig
from causeway.core.mail.answers import Admission, Verdict
from causeway.core.mail.batches import DONE, READY, Batch
from causeway.core.mail.contents import Contents
from causeway.core.mail.rows import PreparedSend, SeenRow, StoredBatch, TxId, batch_key, encode, published_from
from causeway.core.mail.seen import ORDERED, AdmittedStream, Seen
from causeway.core.messages import Deposit
from causeway.store.base import Delete, Put, Write
from causeway.types import VOLATILE_FROM, Instant, ServiceClass, Span
from causeway.wire.body import cut

_EXPRESS = int(ServiceClass.EXPRESS)
_COMMITTED = int(ServiceClass.COMMITTED)
_NEW = Admission(Verdict.NEW)
_FULL = Admission(Verdict.FULL)
_CROWDED = Admission(Verdict.CROWDED)


class Intake:
    """Batches between their arrival and the moment they can be delivered."""

    __slots__ = (
        "_contents",
        "_end",
        "_ever",
        "_fresh_from",
        "_group",
        "_volatile_next",
        "passing",
        "pending",
        "pending_bytes",
        "pending_count",
        "reserved_bytes",
        "seen",
        "stored_bytes_max",
        "volatile_bytes_max",
    )

    def __init__(self, group: bytes, config: BrokerConfig, contents: Contents) -> None:
        self._group = group
        self.stored_bytes_max = config.stored_bytes_max
        self.volatile_bytes_max = config.volatile_bytes_max
        """Bounds of what is kept; a subscription may have its own."""
        self._contents = contents
        self._ever = (0, 0)
        """Messages and bytes ever stored in this mailbox."""
        self._end = 0
        """Above all numbers they were given."""
        self._volatile_next = VOLATILE_FROM
        self._fresh_from: int | None = 0
        """Batches from this number on were stored by ourselves; None: none was yet, after a take-over."""
        self.seen = Seen()
        self.pending: list[Batch] = []
        """Stored batches on their way to the copies, in the order of their operations."""
        self.pending_count = 0
        self.pending_bytes = 0
        self.reserved_bytes = 0
        """Bodies of transactions in doubt: they take their room when they commit, and cannot be refused then."""
        self.passing: dict[int, Batch] = {}

    def restore(self, rows: Sequence[tuple[bytes, SeenRow]]) -> tuple[int, tuple[int, int]]:
        """Rebuild; the last number taken and what was ever stored."""
        self.seen.restore(rows)
        self._fresh_from = None
        self._ever = max(((row.count, row.bytes) for _, row in rows), default=(0, 0))
        self._end = 1 + max((row.last for _, row in rows if row.last < VOLATILE_FROM), default=-1)
        return max((row.last for _, row in rows), default=-1), self._ever

    @property
    def extent(self) -> tuple[int, int]:
        """The number above all that is on every copy, in order, and how many messages lie or lay below it."""
        if self.pending:
            return self.pending[0].info.seq, self.pending[0].info.count_before
        return self._end, self._ever[0]

    @property
    def uncommitted(self) -> int | None:
        """The first number that is not on every copy."""
        return self.pending[0].operation if self.pending else None

    @property
    def fresh_from(self) -> int:
        """Batches from this number on were stored in our own time."""
        return VOLATILE_FROM if self._fresh_from is None else self._fresh_from

    def is_fresh(self, number: int) -> bool:
        """Whether a batch on disk was stored in our own time, hence never delivered before."""
        return number >= self.fresh_from

    # Admission -------------------------------------------------------------------------------------------------
    def admit(self, deposit: Deposit, size: int, now: Instant) -> Admission:
        """Whether a batch is new, seen, too early or too much."""
        stream = self.seen.find(deposit.source, deposit.incarnation, deposit.stream)
        first, last = deposit.first, deposit.first + deposit.count - 1
        if deposit.stream == ORDERED:
            high = stream.ids.high if stream is not None else 0
            skip = min(last, high) + 1 - first if first <= high else 0
            if skip < deposit.count and deposit.follows > high:
                return Admission(Verdict.GAP, after=high)
        elif stream is not None:
            missing = stream.missing(first, last)
            skip = missing[0][0] - first if missing else deposit.count
        else:
            skip = 0
        if skip == deposit.count:
            assert stream is not None
            waits_for = self._waits_for(stream, first, last) if stream.unsafe else None
            if waits_for is None:
                return Admission(Verdict.DUPLICATE)
            return Admission(Verdict.DUPLICATE, pending=True, seq=waits_for)
        if self.is_full(size):
            return _FULL
        if stream is None and self.seen.is_crowded(now, rows=True):
            return _CROWDED
        return Admission(Verdict.NEW, skip) if skip else _NEW

    def _waits_for(self, stream: AdmittedStream, first: int, last: int) -> int | None:
        """The latest unsafe batch of a stream that holds some of these ids: its operation, or its number if passing."""
        found: int | None = None
        for batch in (*self.pending, *self.passing.values()):
            info = batch.info
            if batch.stream is stream and info.first <= last and first <= info.last:
                found = batch.operation
        return found

    def is_full(self, size: int) -> bool:
        """Whether `size` more bytes would pass the bound of stored messages; an empty mailbox takes any one batch."""
        stored = self.stored_bytes() + self.reserved_bytes
        return stored > 0 and stored + max(size, 1) > self.stored_bytes_max

    def stored_bytes(self) -> int:
        """Bodies in the group."""
        contents = self._contents
        stored = contents.bytes + self.pending_bytes
        return stored if contents.behind is None else stored + contents.behind.size

    def stored_count(self) -> int:
        """Messages in the group."""
        contents = self._contents
        stored = contents.count + self.pending_count
        return stored if contents.behind is None else stored + contents.behind.count

    # Storing ---------------------------------------------------------------------------------------------------
    def store(self, deposit: Deposit, body: bytes, seq: int, now: Instant, skip: int) -> list[Write]:
        """The rows of a batch that takes the numbers from `seq` on."""
        stream, forgotten = self._use(deposit.source, deposit.incarnation, deposit.stream, now)
        assert not self.passing or not self._passing_ids(stream), "unpass() comes first"
        batch = self._batch(deposit, body, seq, now, skip, stream=stream)
        writes = self._enter(batch, stream)
        stream.admit(batch.info.first, deposit.first + deposit.count - 1)
        writes.append(Put(self._group, stream.key, seq, encode(stream.row(now, self._ever))))
        return writes + forgotten if forgotten else writes

    def store_sends(
        self, tx: TxId, origin: bytes, sends: Sequence[PreparedSend], seq: int, now: Instant
    ) -> tuple[list[Write], list[StoredBatch]]:
        """The rows of what a transaction sends, in one operation at `seq`."""
        if not sends:
            return [], []  # nothing is numbered: no stream begins
        stream, forgotten = self._use(tx.source, tx.incarnation, _COMMITTED, now)
        writes: list[Write] = []
        batches: list[StoredBatch] = []
        number = seq
        for send in sends:
            count_before, bytes_before = self._ever
            info = StoredBatch(
                number,
                stream.source,
                stream.incarnation,
                _COMMITTED,
                send.first,
                send.count,
                send.flags,
                send.priority,
                send.expires,
                now,
                origin,
                send.body,
                count_before,
                bytes_before,
                ready=send.ready,
                published=send.published,
            )
            batch = Batch(info, stored=True, stream=stream)
            batch.operation = seq
            _strike(batch, stream)
            writes += self._enter(batch, stream)
            stream.admit(info.first, info.last)
            batches.append(info)
            number += send.count
        writes.append(Put(self._group, stream.key, seq, encode(stream.row(now, self._ever))))
        return writes + forgotten, batches

    def committed(self, seq: int) -> StoredBatch | None:
        """An operation is on all copies, and all before it: its batches become deliverable."""
        stored: StoredBatch | None = None
        while self.pending and self.pending[0].operation == seq:
            batch = self.pending.pop(0)
            stored = batch.info
            if batch.stream is not None:
                batch.stream.unsafe -= 1
                batch.stream = None
            if batch.alias >= 0:
                self._contents.secure(batch)
            else:
                self.pending_count -= batch.open
                self.pending_bytes -= len(stored.body)
                self._contents.commit(batch)
        return None if stored is None or stored.stream == _COMMITTED else stored

    def _enter(self, batch: Batch, stream: AdmittedStream) -> list[Write]:
        """A batch is on its way to the copies: its row, and that of its marks if it has any."""
        info = batch.info
        seq, size = info.seq, len(info.body)
        if self._fresh_from is None:
            self._fresh_from = seq
        if self._contents.behind is not None:
            self._contents.behind.taken(seq)
        self._ever = (info.count_before + info.count, info.bytes_before + size)
        self._end = end = seq + info.count
        stream.last = end - 1
        stream.unsafe += 1
        if info.expires:
            stream.timed = True
        self.pending.append(batch)
        if batch.alias < 0:
            self.pending_count += batch.open
            self.pending_bytes += size
        writes: list[Write] = [Put(self._group, batch_key(seq), seq, encode(info))]
        if (batch.several is not None or batch.deliveries) and batch.marks():
            writes.append(self._contents.marks(batch))
        return writes

    def _use(
        self, source: str, incarnation: int, stream: int, now: Instant, *, rows: bool = True
    ) -> tuple[AdmittedStream, list[Write]]:
        """The stream, and the rows of others forgotten for it; without `rows` only such as have none.

        A row with the latest counters goes with them.
        """
        found = self.seen.find(source, incarnation, stream)
        if found is not None and found is self.seen.latest:  # who sends one batch after another is found at once
            found.used = now
            return found, []
        found, new = self.seen.use(source, incarnation, stream)
        found.used = now
        keys = self.seen.make_room(now, found, rows=rows)
        if new:
            keys += self.seen.forget(source, self._is_busy if rows else self._is_bound)
        return found, [Delete(self._group, key) for key in keys] if keys else []

    def _is_busy(self, stream: AdmittedStream) -> bool:
        """Whether a batch of the stream may still be in the mailbox."""
        if stream.unsafe:
            return True
        if stream.last >= VOLATILE_FROM:
            first = self._contents.volatile.first()
            return first is not None and stream.last >= first.info.seq
        first = self._contents.stored.first()
        if first is not None and stream.last >= first.info.seq:
            return True
        return self._contents.is_paged and stream.last >= self._contents.backlog.start

    def _is_bound(self, stream: AdmittedStream) -> bool:
        """As `_is_busy`, and also when only a row could forget it."""
        return stream.written or self._is_busy(stream)

    def _batch(
        self, deposit: Deposit, body: bytes, seq: int, now: Instant, skip: int, *, stream: AdmittedStream
    ) -> Batch:
        count = deposit.count - skip
        count_before, bytes_before = self._ever
        stored = seq < VOLATILE_FROM
        info = StoredBatch(
            seq,
            stream.source,
            deposit.incarnation,
            deposit.stream,
            deposit.first + skip,
            count,
            deposit.flags,
            deposit.priority,
            now + deposit.ttl if deposit.ttl > 0 else 0,
            now,
            deposit.origin,
            cut(body, deposit.count, skip, deposit.count) if skip else body,
            count_before if stored else 0,
            bytes_before if stored else 0,
            ready=now + deposit.delay if deposit.delay > 0 else 0,
            published=published_from(deposit.published, skip) if deposit.published is not None else None,
        )
        batch = Batch(info, stored=stored, stream=stream)
        if info.first <= stream.ids.high:
            _strike(batch, stream)
        return batch

    # In memory only --------------------------------------------------------------------------------------------
    def number_flight(self, deposit: Deposit, size: int, now: Instant) -> int | None:
        """Take in an express batch that is not kept here, if it is new, from who sent last, and would fit."""
        stream = self.seen.find(deposit.source, deposit.incarnation, deposit.stream)
        first = deposit.first
        if stream is None or stream is not self.seen.latest or first <= stream.ids.high or self._overflows(size):
            return None
        number = self._volatile_next
        self._volatile_next = following = number + deposit.count
        stream.used = now
        stream.last = following - 1
        stream.admit(first, first + deposit.count - 1)
        return number

    def hold(self, deposit: Deposit, body: bytes, now: Instant) -> int | None:
        """Keep a batch in memory; its number, 0 when nothing in it is new, None when memory is full."""
        first, last = deposit.first, deposit.first + deposit.count - 1
        known = self.seen.find(deposit.source, deposit.incarnation, deposit.stream)
        skip = 0
        high = known.ids.high if known is not None else 0
        if known is not None and first <= high:
            missing = known.missing(first, last)
            if not missing:
                return 0
            skip = missing[0][0] - first
        if known is None and self.seen.is_crowded(now, rows=False):
            return None
        if self._overflows(len(body)):
            return None
        stream = known
        if stream is None or stream is not self.seen.latest:
            stream, _ = self._use(deposit.source, deposit.incarnation, deposit.stream, now, rows=False)
        stream.used = now
        number = self._volatile_next
        self._volatile_next += deposit.count
        batch = self._batch(deposit, body, number, now, skip, stream=stream)
        stream.admit(first, last)
        if deposit.stream == _EXPRESS:
            batch.stream = None
            stream.last = number + batch.count - 1
        else:
            self.passing[number] = batch
            stream.unsafe += 1
        self._contents.hold(batch)
        return number

    def _overflows(self, size: int) -> bool:
        """Whether so much more is too much for our memory; an empty one takes any one batch."""
        held = self._contents.volatile_bytes
        return held > 0 and held + size > self.volatile_bytes_max

    def passed(self, batches: Sequence[Batch]) -> None:
        """Forget passing batches that are settled to the end."""
        for batch in batches:
            if batch.open == 0 and self.passing.pop(batch.info.seq, None) is not None and batch.stream is not None:
                batch.stream.unsafe -= 1

    def store_passed(self, passed: StoredBatch, seq: int) -> list[Write]:
        """The rows of a batch that was passing and is stored at `seq` after all."""
        batch = self.passing.pop(passed.seq)
        stream = batch.stream
        assert stream is not None
        old = batch.info
        count_before, bytes_before = self._ever
        info = msgspec.structs.replace(old, seq=seq, count_before=count_before, bytes_before=bytes_before)
        self._contents.keep(batch, info)
        batch.operation = seq
        stream.unsafe -= 1
        writes = self._enter(batch, stream)
        row = stream.safe_row(self._ever, self._passing_ids(stream))
        writes.append(Put(self._group, stream.key, seq, encode(row)))
        return writes

    def _passing_ids(self, stream: AdmittedStream) -> list[Span]:
        """The ids of a stream that are only in our memory."""
        return [(batch.info.first, batch.info.last) for batch in self.passing.values() if batch.stream is stream]


def _strike(batch: Batch, stream: AdmittedStream) -> None:
    """Settle the messages of a new batch that are duplicates."""
    info = batch.info
    at = info.first
    for first, last in [*stream.missing(info.first, info.last), (info.last + 1, info.last)]:
        for part in batch.carve(at - info.first, first - info.first, READY) if at < first else ():
            part.state = DONE
            batch.open -= part.length
        at = last + 1
    batch.compact()
