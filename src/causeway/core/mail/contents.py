"""What lies in a mailbox: batches in memory, what is behind them on disk, and every change of a message's state.

Owns: the states of messages, the order of delivery, expiry, the bound of the window, the rows that record it all.
Must not know: duplicates, whose turn it is, transactions (beyond a lock).
"""

from __future__ import annotations

from collections.abc import Sequence

from causeway.core.mail.answers import Settlement, piece_of
from causeway.core.mail.backlog import Backlog
from causeway.core.mail.batches import (
    BATCH_OVERHEAD_BYTES,
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
from causeway.core.mail.dead_letters import DeadNumbers, beyond
from causeway.core.mail.lanes import Lanes
from causeway.core.mail.reading import read_batch
from causeway.core.mail.rows import StoredBatch, batch_key, encode, mark_key
from causeway.core.mail.seen import ORDERED
from causeway.core.mail.tally import Tally
from causeway.core.mail.timers import Timers
from causeway.store.base import Delete, Put, Row, Write
from causeway.types import VOLATILE_FROM, Instant, Span


class Contents:
    """All messages of one mailbox."""

    __slots__ = (
        "_chores",
        "_dead",
        "_expiries",
        "_flat",
        "_group",
        "_rank",
        "_window_bytes",
        "barrier",
        "behind",
        "bytes",
        "count",
        "delays",
        "lanes",
        "orphaned",
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
        self._expiries: Timers | None = None
        self._chores: list[Write] | None = None
        """Rows found useless or misplaced; they go out with the next operation."""
        self.stored = Shelf()
        self.volatile = Shelf()
        self.lanes = Lanes(flat=flat)
        self.delays: Timers | None = None
        """Batches whose time has not come."""
        self.behind: Backlog | None = None
        """The backlog, if there has ever been a need for it."""
        self._dead: DeadNumbers | None = None
        self.orphaned = False
        """Whether a transaction may have locked what no consumer holds."""
        self.barrier: int | None = None
        """The place of the first of that, if nothing is to overtake it: see `orphan`."""
        self.count = self.bytes = 0
        """Stored messages in memory: how many, and their bodies."""
        self.volatile_count = 0
        self.volatile_bytes = 0

    @property
    def memory_bytes(self) -> int:
        """What stored messages in memory cost."""
        return self.bytes + BATCH_OVERHEAD_BYTES * len(self.stored)

    # What most mailboxes never need ----------------------------------------------------------------------------
    @property
    def backlog(self) -> Backlog:
        """What is stored but not in memory."""
        if self.behind is None:
            self.behind = Backlog()
        return self.behind

    @property
    def any_condemned(self) -> bool:
        """Whether messages in memory wait for the dead-letter mailbox."""
        return self._dead is not None and self._dead.condemned > 0

    def expect_pages(self) -> None:
        """Not everything will fit into memory: whatever is loaded from now on is counted."""
        self.behind = self.backlog

    @property
    def is_paged(self) -> bool:
        """Whether anything lies in the backlog."""
        return self.behind is not None and self.behind.is_open

    @property
    def dead(self) -> DeadNumbers:
        """What went to the dead-letter mailbox, or is on its way there."""
        if self._dead is None:
            self._dead = DeadNumbers(self._group)
        return self._dead

    # Coming in -------------------------------------------------------------------------------------------------
    def commit(self, batch: Batch) -> None:
        """A stored batch is on all copies: into the window, or behind it when that is full."""
        behind = self.behind is not None and self.behind.is_open
        if behind or (self.stored and self.memory_bytes + batch.charge > self._window_bytes):
            self.backlog.drop(batch.info)
            if batch.marked:
                self.backlog.mark(batch.info.seq, batch.marks())
            batch.forget()
        else:
            self._shelve(batch)

    def load(self, row: Row, locks: Sequence[Span], *, redelivered: bool) -> Batch | None:
        """A batch row from disk comes into the window; None when nothing of it is left or it is here already."""
        info = read_batch(row)
        backlog = self.behind
        if info is None or (backlog is not None and backlog.ignores(info.seq)):
            return None
        if backlog is not None:
            backlog.loaded(info)
        if info.seq in self.stored:
            return None
        batch = Batch(info, stored=True)
        batch.redelivered = redelivered
        if backlog is not None and not self._claim(batch, backlog):
            return None
        if locks:
            self.orphaned |= batch.lock(locks)
        self._shelve(batch)
        return batch

    def _claim(self, batch: Batch, backlog: Backlog) -> bool:
        """Apply the rows of marks to a batch that comes from disk; whether anything of it is left."""
        seq, last = batch.info.seq, batch.info.seq + batch.count - 1
        claim = backlog.claim(seq, last)
        chores: list[Write] = []
        if claim.behind:
            chores.append(Put(self._group, mark_key(last + 1), last + 1, encode(claim.behind)))
        if claim.marks:
            batch.apply(claim.marks)
            batch.marked = True
            self.dead.condemned += sum(part.length for part in batch.parts if part.state == DEAD)
        if claim.stale:
            if claim.marks:
                chores.append(self.marks(batch))
            chores += [Delete(self._group, mark_key(number)) for number in claim.stale]
        if batch.open == 0:
            chores.append(Delete(self._group, batch_key(seq)))
            chores.append(Delete(self._group, mark_key(seq), mark_key(last + 1)))
        self._tidy(chores)
        return batch.open > 0

    def _tidy(self, chores: list[Write]) -> None:
        if self._chores is None:
            self._chores = chores or None
        else:
            self._chores += chores

    def page_done(self, start: int | None) -> None:
        """A page is in; see `Backlog.advance`."""
        if self.behind is not None:
            self._tidy([Delete(self._group, mark_key(number)) for number in self.behind.advance(start)])

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

    def _enter(self, batch: Batch) -> None:
        info = batch.info
        self._rank += 1
        batch.rank = self._rank
        if info.ready and not self._flat:
            self._delay(batch)
        if batch.several is None:
            if batch.state == READY:
                self.lanes.append(batch)
        else:
            for part in batch.parts:
                if part.state == READY:
                    self.lanes.append(part)
        if info.expires:
            self._set_timer(batch)

    # Changing state --------------------------------------------------------------------------------------------
    def settle_batch(self, first: int, last: int) -> Settlement | None:
        """The usual settlement: just one batch, all of it with a consumer. None when it is another one."""
        batch = (self.volatile if first >= VOLATILE_FROM else self.stored).get(first)
        if (
            batch is None
            or batch.count != last - first + 1
            or batch.state != HELD
            or batch.several is not None
            or batch.marked
            or batch.alias >= 0
            or self._chores is not None
        ):
            return None
        piece = piece_of(batch)
        self._end(batch)
        self._remove(batch)
        return Settlement([Delete(self._group, batch_key(first))] if batch.stored else [], [piece])

    def settle(self, spans: Sequence[Span], mask: int, tally: Tally) -> None:
        """Settle messages by number, those in a state of `mask`; all others are left alone."""
        for first, last in spans:
            shelf = self.volatile if first >= VOLATILE_FROM else self.stored
            # Whole batches one after the other, as consumers take them; the rest, if any, is looked for.
            while first <= last and (batch := shelf.get(first)) is not None and first + batch.count <= last + 1:
                for part in batch.parts:
                    if part.state & mask:
                        self._finish(part, tally)
                first += batch.count
            if first > last:
                continue
            for part in self.select(first, last, mask):
                self._finish(part, tally)
            if mask & (OPEN | LOCKED) and self.is_paged:
                for number, marks in self.backlog.settle(first, last):
                    tally.writes.append(Put(self._group, mark_key(number), number, encode(marks)))

    def beyond(self, spans: Sequence[Span], *, locks: bool) -> tuple[Sequence[Span], Sequence[Span]]:
        """Of these numbers, those that nobody settles any more, and those that a transaction has locked, if any are."""
        if self._dead is None and self.behind is None and not locks:
            return (), ()
        return beyond(spans, self.dead, self.backlog, (self.stored, self.volatile), locks=locks)

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
            part.holder.held[part] = None

    def give(self, part: BatchPart, consumer: Consumer) -> None:
        """A part just taken from the lanes goes to a consumer."""
        count = part.stop - part.start
        self.lanes.count -= count
        part.state = HELD
        part.holder = consumer
        consumer.alone = False
        consumer.unsettled += count
        consumer.held[part] = None

    def give_back(self, part: BatchPart, deliveries_max: int, tally: Tally) -> None:
        """A consumer does not want its part, which is counted; or (deliveries_max 0) is gone, perhaps unread."""
        self._unhold(part)
        if deliveries_max:
            part.deliveries += 1
            tally.touched[part.batch.rank] = part.batch
            tally.pieces.append(piece_of(part))
        part.batch.redelivered = True
        self.orphaned |= part.state == LOCKED
        if part.state == HELD and 0 < deliveries_max <= part.deliveries:
            part.state = DEAD
            self.dead.condemned += part.length
        elif part.state == HELD:
            self._make_ready(part)

    def lock(self, first: int, last: int) -> list[Span]:
        """Reserve messages for a transaction; their numbers as the rows know them."""
        found: list[Span] = []
        for part in self.select(first, last, OPEN):
            if part.state == READY:
                self.lanes.leave(part)
            self.orphaned |= part.holder is None
            part.state = LOCKED
            start, stop = part.batch.info.seq + part.start, part.batch.info.seq + part.stop
            if found and found[-1][1] + 1 == start:
                found[-1] = (found[-1][0], stop - 1)
            else:
                found.append((start, stop - 1))
        return found

    def orphan(self, locks: Sequence[Span]) -> int | None:
        """The place of the first message with an order that a transaction has locked and no consumer holds, if there is
        one. It comes again if the transaction fails: to one reader alone it must come before what is behind it."""
        found = [part for span in locks for part in self.select(*span, LOCKED) if part.holder is None]
        found = [part for part in found if part.batch.info.stream >= ORDERED]
        self.orphaned = bool(found)
        return min((part.order for part in found), default=None)

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
            del holder.held[part]
            part.holder = None

    def _finish(self, part: BatchPart, tally: Tally) -> None:
        batch = part.batch
        tally.touched[batch.rank] = batch
        tally.pieces.append(piece_of(part))
        self._end(part)

    def _end(self, part: BatchPart) -> None:
        """Messages are settled."""
        batch = part.batch
        count = part.stop - part.start
        if part.state == READY:
            self.lanes.leave(part)
        elif part.state == DEAD:
            self.dead.bury(batch.info.seq + part.start, count)
        else:
            self._unhold(part)
        part.state = DONE
        batch.open -= count
        if batch.stored:
            self.count -= count
        else:
            self.volatile_count -= count

    # Time ------------------------------------------------------------------------------------------------------
    def _delay(self, batch: Batch) -> None:
        """A new batch waits for its time, in its place. That it has passed is found out by `release`."""
        batch.delayed = True
        if self.delays is None:
            self.delays = Timers()
        self.delays.set(batch.info.ready, batch)
        for part in batch.parts:
            if part.state == READY:
                part.state = DELAYED

    def release(self, now: Instant) -> None:
        """What was delayed and whose time has come is ready."""
        while self.delays is not None and (batch := self.delays.pop_due(now)) is not None:
            batch.delayed = False
            for part in batch.parts:
                if part.state == DELAYED:
                    self._make_ready(part)

    def expire(self, now: Instant, tally: Tally) -> None:
        """Settle what waits and has outlived its time; every part of it goes to the tally's pieces."""
        while self._expiries is not None and (batch := self._expiries.pop_due(now)) is not None:
            batch.timed = False
            for part in batch.parts:
                if part.state & (READY | DELAYED):
                    self._finish(part, tally)

    @property
    def timed(self) -> bool:
        """Whether something expires, in memory or on disk, or is delayed, or rows wait to be tidied."""
        timers = self._expiries or self._chores or self.delays
        return bool(timers) or (self.behind is not None and self.behind.stretches.due is not None)

    def next_expiry(self) -> Instant | None:
        """When `expire` has something to do; 0 when it has leftover rows to hand out."""
        if self._chores is not None:
            return 0
        return None if self._expiries is None else self._expiries.next()

    def next_delivery(self) -> Instant | None:
        """When `release` has something to do."""
        return None if self.delays is None else self.delays.next()

    def _set_timer(self, batch: Batch) -> None:
        if not batch.timed:
            batch.timed = True
            if self._expiries is None:
                self._expiries = Timers()
            self._expiries.set(batch.info.expires, batch)

    # Writing ---------------------------------------------------------------------------------------------------
    def flush(self, tally: Tally) -> list[Write]:
        """The rows of everything the tally touched; batches settled to the end are forgotten."""
        writes: list[Write] = tally.writes if self._chores is None else self._chores + tally.writes
        self._chores = None
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
        if self._dead is not None:
            writes += self._dead.rows()
        self.lanes.purge()
        return writes

    def marks(self, batch: Batch) -> Put:
        """The row of a batch's marks."""
        batch.marked = True
        return Put(self._group, mark_key(batch.info.seq), batch.info.seq, encode(batch.marks()))

    def _remove(self, batch: Batch) -> None:
        number, size = batch.info.seq, len(batch.info.body)
        if batch.stored:
            self.stored.remove(number)
            self.bytes -= size
            if self.behind is not None:
                self.behind.gone(number)
        else:
            self.volatile.remove(number)
            self.volatile_bytes -= size
        if batch.alias >= 0:
            self.volatile.remove(batch.alias)
        if batch.timed and self._expiries is not None:
            self._expiries.end()
        if batch.delayed and self.delays is not None:
            self.delays.end()
        batch.forget()
