"""What lies in a mailbox: batches in memory, what is behind them on disk, and every change of a message's state.

Owns: the states of messages, the order of delivery, expiry, the bound of the window, the rows that record it all.
Must not know: duplicates, whose turn it is, transactions (beyond a lock).
"""

from __future__ import annotations

from collections.abc import Sequence

from causeway.core.mail.answers import piece_of
from causeway.core.mail.backlog import Backlog
from causeway.core.mail.batches import (
    DEAD,
    DELAYED,
    DONE,
    HELD,
    LOCKED,
    OPEN,
    READY,
    UNSAFE,
    Batch,
    BatchPart,
    Shelf,
)
from causeway.core.mail.consumers import Consumer
from causeway.core.mail.graves import Graves, beyond
from causeway.core.mail.lanes import Lanes
from causeway.core.mail.reading import read_batch
from causeway.core.mail.rows import StoredBatch, batch_key, encode, mark_key
from causeway.core.mail.tally import Tally
from causeway.core.mail.timers import Timers
from causeway.store.base import Delete, Put, Row, Write
from causeway.types import VOLATILE_FROM, Instant, Span


class Contents:
    """All messages of one mailbox."""

    __slots__ = (
        "_chores",
        "_expiries",
        "_flat",
        "_group",
        "_rank",
        "_window_bytes",
        "backlog",
        "bytes",
        "count",
        "delays",
        "graves",
        "lanes",
        "memory_bytes",
        "stored",
        "volatile",
        "volatile_bytes",
        "volatile_count",
    )

    def __init__(self, group: bytes, window_bytes: int, *, flat: bool = False) -> None:
        self._group, self._window_bytes = group, window_bytes
        self._flat = flat
        """Whether it is handed on as it comes: then priority and delay are seen to where it arrives."""
        self._rank = 0
        self._expiries = Timers()
        self._chores: list[Write] = []
        """Rows found useless or misplaced; they go out with the next operation."""
        self.stored = Shelf()
        self.volatile = Shelf()
        self.lanes = Lanes(flat=flat)
        self.delays = Timers()
        """Batches whose time has not come."""
        self.backlog = Backlog()
        self.graves = Graves(group)
        self.count = self.bytes = self.memory_bytes = 0
        """Stored messages in memory: how many, their bodies, and their cost."""
        self.volatile_count = 0
        self.volatile_bytes = 0

    # Coming in -------------------------------------------------------------------------------------------------
    def commit(self, batch: Batch) -> None:
        """A stored batch is on all copies: into the window, or behind it when that is full."""
        if self.backlog.is_open or (self.memory_bytes + batch.charge > self._window_bytes and len(self.stored)):
            self.backlog.drop(batch.info)
            if batch.marked:
                self.backlog.mark(batch.info.seq, batch.marks())
        else:
            self._shelve(batch)

    def load(self, row: Row, locks: Sequence[Span], *, redelivered: bool) -> Batch | None:
        """A batch row from disk comes into the window; None when nothing of it is left or it is here already."""
        info = read_batch(row)
        if info is None or self.backlog.ignores(info.seq):
            return None
        self.backlog.loaded(info)
        if info.seq in self.stored:
            return None
        batch = Batch(info, stored=True)
        batch.redelivered = redelivered
        last = info.seq + info.count - 1
        claim = self.backlog.claim(info.seq, last)
        if claim.behind:
            self._chores.append(Put(self._group, mark_key(last + 1), last + 1, encode(claim.behind)))
        if claim.marks:
            batch.apply(claim.marks)
            batch.marked = True
            self.graves.condemned += sum(part.count for part in batch.parts if part.state == DEAD)
        if claim.stale:
            if claim.marks:
                self._chores.append(self.marks(batch))
            self._chores += [Delete(self._group, mark_key(number)) for number in claim.stale]
        if batch.open == 0:
            self._chores.append(Delete(self._group, batch_key(info.seq)))
            self._chores.append(Delete(self._group, mark_key(info.seq), mark_key(last + 1)))
            return None
        batch.lock(locks)
        self._shelve(batch)
        return batch

    def page_done(self, start: int | None) -> None:
        """A page is in; see `Backlog.advance`."""
        for number in self.backlog.advance(start):
            self._chores.append(Delete(self._group, mark_key(number)))

    def hold(self, batch: Batch) -> None:
        """A batch that is only in memory."""
        self._enter(batch)
        self.volatile.add(batch.info.seq, batch)
        self.volatile_count += batch.open
        self.volatile_bytes += len(batch.info.body)

    def keep(self, batch: Batch, info: StoredBatch) -> None:
        """A batch so far only in memory is stored under another number; it is not handed out until that commits."""
        size = len(info.body)
        self.volatile_count -= batch.open
        self.volatile_bytes -= size
        batch.alias, batch.info = batch.info.seq, info
        batch.stored, batch.safe = True, False
        self.stored.add(info.seq, batch)
        self.count += batch.open
        self.bytes += size
        self.memory_bytes += batch.charge
        for part in batch.parts:
            if part.state == READY:
                self.lanes.leave(part)
                part.state = UNSAFE

    def secure(self, batch: Batch) -> None:
        """A batch that was kept has committed."""
        batch.safe = True
        for part in batch.parts:
            if part.state == UNSAFE:
                self._make_ready(part)

    def _shelve(self, batch: Batch) -> None:
        self._enter(batch)
        self.stored.add(batch.info.seq, batch)
        self.count += batch.open
        self.bytes += len(batch.info.body)
        self.memory_bytes += batch.charge

    def _enter(self, batch: Batch) -> None:
        self._rank += 1
        batch.rank = self._rank
        if batch.info.ready and not self._flat:
            self._delay(batch)
        for part in batch.parts:
            if part.state == READY:
                self.lanes.append(part)
        if batch.info.expires:
            self._set_timer(batch)

    # Changing state --------------------------------------------------------------------------------------------
    def settle(self, spans: Sequence[Span], mask: int, tally: Tally) -> None:
        """Settle messages by number, those in a state of `mask`; all others are left alone."""
        for first, last in spans:
            batch = (self.volatile if first >= VOLATILE_FROM else self.stored).get(first)
            if batch is not None and last - first + 1 == batch.count and len(batch.parts) == 1:
                if batch.parts[0].state & mask:
                    self._finish(batch.parts[0], tally)
                continue
            for part in self.select(first, last, mask):
                self._finish(part, tally)
            if mask & (OPEN | LOCKED) and self.backlog.is_open and first <= last:
                for number, marks in self.backlog.settle(first, last):
                    tally.writes.append(Put(self._group, mark_key(number), number, encode(marks)))

    def beyond(self, spans: Sequence[Span], *, locks: bool) -> tuple[list[Span], list[Span]]:
        """Of these numbers, those that nobody settles any more, and those that a transaction has locked, if any are."""
        return beyond(spans, self.graves, self.backlog, (self.stored, self.volatile), locks=locks)

    def select(self, first: int, last: int, mask: int) -> list[BatchPart]:
        """The parts of messages first..last in a state of `mask`, cut to fit."""
        chosen: list[BatchPart] = []
        shelf = self.volatile
        if first < VOLATILE_FROM:
            # A batch that was kept is on both shelves: a span counts on the one where it begins.
            shelf, last = self.stored, min(last, VOLATILE_FROM - 1)
        if first > last:
            return chosen
        fresh: list[BatchPart] = []
        for number, batch in shelf.covering(first, last):
            chosen += batch.carve(first - number, last + 1 - number, mask, fresh)
        for part in fresh:
            self.adopt(part)
        return chosen

    def adopt(self, part: BatchPart) -> None:
        """A part cut from another one gets its own entries."""
        if part.state == READY:
            self.lanes.requeue(part)
        if part.holder is not None:
            part.holder.held[part.key] = part

    def give(self, part: BatchPart, consumer: Consumer) -> None:
        """A part just taken from the lanes goes to a consumer."""
        count = part.stop - part.start
        self.lanes.count -= count
        part.state, part.holder = HELD, consumer
        consumer.unsettled += count
        consumer.held[part.batch.rank << 32 | part.start] = part  # part.key

    def give_back(self, part: BatchPart, deliveries_max: int, tally: Tally) -> None:
        """A consumer does not want its part, which is counted; or (deliveries_max 0) is gone, perhaps unread."""
        self._unhold(part)
        if deliveries_max:
            part.deliveries += 1
            tally.touched[part.batch.rank] = part.batch
            tally.pieces.append(piece_of(part))
        part.batch.redelivered = True
        if part.state == HELD and 0 < deliveries_max <= part.deliveries:
            part.state = DEAD
            self.graves.condemned += part.count
        elif part.state == HELD:
            self._make_ready(part)

    def lock(self, first: int, last: int) -> list[Span]:
        """Reserve messages for a transaction; their numbers as the rows know them."""
        found: list[Span] = []
        for part in self.select(first, last, OPEN):
            if part.state == READY:
                self.lanes.leave(part)
            part.state = LOCKED
            if part.holder is not None:
                part.holder.held[part.key] = part
            start, stop = part.batch.info.seq + part.start, part.batch.info.seq + part.stop
            if found and found[-1][1] + 1 == start:
                found[-1] = (found[-1][0], stop - 1)
            else:
                found.append((start, stop - 1))
        return found

    def unlock(self, first: int, last: int) -> None:
        """Give up a transaction's reservation."""
        for part in self.select(first, last, LOCKED):
            if part.holder is not None:
                part.state = HELD
            else:
                self._make_ready(part)

    def _make_ready(self, part: BatchPart) -> None:
        batch = part.batch
        if not batch.safe:
            part.state = UNSAFE
            return
        if batch.info.expires:
            self._set_timer(batch)
        if batch.delayed:
            part.state = DELAYED
            return
        part.state = READY
        self.lanes.put_back(part)

    def _unhold(self, part: BatchPart) -> None:
        holder = part.holder
        if holder is not None:
            holder.unsettled -= part.stop - part.start
            holder.held.pop(part.key, None)
            part.holder = None

    def _finish(self, part: BatchPart, tally: Tally) -> None:
        batch = part.batch
        count = part.stop - part.start
        if part.state == READY:
            self.lanes.leave(part)
        elif part.state == DEAD:
            self.graves.bury(batch.info.seq + part.start, count)
        else:
            self._unhold(part)
        part.state = DONE
        batch.open -= count
        if batch.stored:
            self.count -= count
        else:
            self.volatile_count -= count
        tally.touched[batch.rank] = batch
        tally.pieces.append(piece_of(part))

    # Time ------------------------------------------------------------------------------------------------------
    def _delay(self, batch: Batch) -> None:
        """A new batch waits for its time, in its place. That it has passed is found out by `release`."""
        batch.delayed = True
        self.delays.set(batch.info.ready, batch)
        for part in batch.parts:
            if part.state == READY:
                part.state = DELAYED

    def release(self, now: Instant) -> None:
        """What was delayed and whose time has come is ready."""
        while (batch := self.delays.pop_due(now)) is not None:
            batch.delayed = False
            for part in batch.parts:
                if part.state == DELAYED:
                    self._make_ready(part)

    def expire(self, now: Instant, tally: Tally) -> None:
        """Settle what waits and has outlived its time; every part of it goes to the tally's pieces."""
        while (batch := self._expiries.pop_due(now)) is not None:
            batch.timed = False
            for part in batch.parts:
                if part.state & (READY | DELAYED):
                    self._finish(part, tally)

    @property
    def timed(self) -> bool:
        """Whether something expires, in memory or on disk, or is delayed, or rows wait to be tidied."""
        return bool(self._expiries or self._chores or self.delays or self.backlog.stretches.due is not None)

    def next_expiry(self) -> Instant | None:
        """When `expire` has something to do; 0 when it has leftover rows to hand out."""
        return 0 if self._chores else self._expiries.next()

    def _set_timer(self, batch: Batch) -> None:
        if not batch.timed:
            batch.timed = True
            self._expiries.set(batch.info.expires, batch)

    # Writing ---------------------------------------------------------------------------------------------------
    def flush(self, tally: Tally) -> list[Write]:
        """The rows of everything the tally touched; batches settled to the end are forgotten."""
        writes: list[Write] = self._chores + tally.writes if self._chores else tally.writes
        self._chores = []
        run: Span | None = None
        for batch in tally.touched.values():
            info = batch.info
            if batch.open:
                batch.compact()
                if batch.stored:
                    writes.append(self.marks(batch))
                continue
            self._remove(batch)
            if not batch.stored:
                continue
            if batch.marked:
                writes.append(Delete(self._group, mark_key(info.seq), mark_key(info.seq + batch.count)))
            # Rows with adjacent numbers go in one deletion: nothing can lie between them.
            if run is not None and run[1] == info.seq:
                run = (run[0], info.seq + batch.count)
                continue
            if run is not None:
                writes.append(Delete(self._group, batch_key(run[0]), batch_key(run[1])))
            run = (info.seq, info.seq + batch.count)
        if run is not None:
            writes.append(Delete(self._group, batch_key(run[0]), batch_key(run[1])))
        writes += self.graves.rows()
        self.lanes.purge()
        return writes

    def marks(self, batch: Batch) -> Put:
        """The row of a batch's marks."""
        batch.marked = True
        return Put(self._group, mark_key(batch.info.seq), batch.info.seq, encode(batch.marks()))

    def _remove(self, batch: Batch) -> None:
        number = batch.info.seq
        if batch.stored:
            self.stored.remove(number)
            self.bytes -= len(batch.info.body)
            self.memory_bytes -= batch.charge
            self.backlog.gone(number)
        else:
            self.volatile.remove(number)
            self.volatile_bytes -= len(batch.info.body)
        if batch.alias >= 0:
            self.volatile.remove(batch.alias)
        batch.parts.clear()  # breaks the cycle between batch and parts
        if batch.timed:
            self._expiries.end()
        if batch.delayed:
            self.delays.end()
