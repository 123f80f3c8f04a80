"""What is stored but not in memory: the stretch of numbers behind the window, and marks that await its batches.

Owns: where paging goes on, how much lies there, settlements of messages that are not loaded.
Must not know: batches in memory, consumers.

A batch that commits while the stretch is open stays on disk too, so nothing newer overtakes what lies there.
Two loads may be under way at once: a page for the window, and a look that brings nothing into memory.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import NamedTuple

from causeway.core.mail.rows import CONDEMNED, SETTLED, Mark, StoredBatch, batch_key
from causeway.core.mail.stretches import Ever, Stretches
from causeway.ranges import IdSet
from causeway.types import VOLATILE_FROM


class Claim(NamedTuple):
    """What the rows of marks say about a batch that comes into memory."""

    marks: tuple[Mark, ...]
    behind: tuple[Mark, ...]
    """What the same rows say about messages behind the batch: now kept under the number after it."""
    stale: list[int]
    """Numbers of rows below the batch, which are of no use any more."""


_NOTHING = Claim((), (), [])


class Read:
    """A load under way of the batches first .. stop-1, and what became of them since it was asked for."""

    __slots__ = ("first", "gone", "stop")

    def __init__(self, first: int, stop: int) -> None:
        self.first = first
        self.stop = stop
        """Nothing from here on was committed when the load was asked for."""
        self.gone: dict[int, None] = {}
        """Batches that ended while their rows were being loaded."""

    def ignores(self, number: int) -> bool:
        """Whether a loaded row is out of date, or not committed."""
        return number >= self.stop or number in self.gone


class MarkCursor:
    """The marks of batches that are looked at in order; compare `Backlog.claim`, which takes them away."""

    __slots__ = ("_ahead", "_at", "_carried", "_keys")

    def __init__(self, keys: list[int], ahead: dict[int, tuple[Mark, ...]]) -> None:
        self._keys, self._ahead = keys, ahead
        self._at = 0
        self._carried: list[Mark] = []
        """Marks of lower rows that reach behind the batches looked at so far."""

    def of(self, first: int, last: int) -> tuple[Mark, ...]:
        """The marks for messages first..last, cut to fit."""
        high = bisect_left(self._keys, last + 1, self._at)
        found = self._carried + [mark for key in self._keys[self._at : high] for mark in self._ahead[key]]
        self._at = high
        self._carried = [mark for mark in found if mark.last > last]
        return _cut(found, first, last)


def _cut(marks: Iterable[Mark], first: int, last: int) -> tuple[Mark, ...]:
    """What marks say about first..last."""
    return tuple(
        Mark(max(mark.first, first), min(mark.last, last), mark.deliveries)
        for mark in marks
        if mark.first <= last and mark.last >= first
    )


class Backlog:
    """Stored messages start .. last that are only on disk; nothing when start > last."""

    __slots__ = (
        "_ahead",
        "_end",
        "_endless",
        "_keys",
        "_loaded",
        "_look",
        "_page",
        "_settled",
        "_void",
        "condemned",
        "last",
        "start",
        "stretches",
    )

    def __init__(self) -> None:
        self.start = 0
        self.last = -1
        self._page: Read | None = None
        """The load for the window."""
        self._look: Read | None = None
        """The load that leaves everything where it is."""
        self._endless = False
        """After a take-over: rows may lie behind `last`, until a page has come to the end."""
        self._ahead: dict[int, tuple[Mark, ...]] = {}
        """Rows of marks whose batches are not in memory, by the number in their key."""
        self._keys: list[int] = []
        """The keys of `_ahead`, in order."""
        self._settled = IdSet()
        """Numbers that a mark calls settled: nothing is marked twice, however often it is settled."""
        self.condemned = IdSet()
        """Numbers that a mark calls condemned: somebody may have buried them, so nobody settles them here."""
        self._loaded = (0, 0)
        self._end = (0, 0)
        """Messages and bytes ever stored, up to the last batch in memory and up to the last one on disk."""
        self._void = (0, 0)
        """What of that was swept away between the two."""
        self.stretches = Stretches()
        """When something expires here."""

    @property
    def is_open(self) -> bool:
        """Whether anything lies here."""
        return self.start <= self.last

    @property
    def count(self) -> int:
        """Messages here, those settled ahead of time included."""
        return max(self._end[0] - self._loaded[0] - self._void[0], 0) if self.is_open else 0

    @property
    def size(self) -> int:
        """Their bytes."""
        return max(self._end[1] - self._loaded[1] - self._void[1], 0) if self.is_open else 0

    @property
    def passed(self) -> Ever:
        """Messages and bytes ever stored that do not lie here any more."""
        return self._loaded

    # Growing and shrinking -------------------------------------------------------------------------------------
    def open(self, start: int, last: int, ever: Ever, *, timed: bool = False) -> None:
        """After a take-over: the rows from `start` on were not loaded; `ever` counts everything stored.

        `timed`: messages with a time to live may be among them.
        """
        self.start, self.last = start, max(start, last)
        self._endless = True
        self._end = ever
        if timed:
            self.stretches.open(start, (self._loaded, ever))

    def drop(self, info: StoredBatch) -> None:
        """A batch that just committed stays on disk."""
        if not self.is_open:
            self.start = info.seq
            self._loaded = (info.count_before, info.bytes_before)
        self.last = info.seq + info.count - 1
        self._end = (info.count_before + info.count, info.bytes_before + len(info.body))
        if info.expires:
            self.stretches.add(info)

    def ask(self, stop: int | None) -> tuple[bytes, bytes] | None:
        """The key range to load, up to the first uncommitted number `stop`; None while a load is under way."""
        if self._page is not None or not self.is_open:
            return None
        self._page = Read(self.start, self._stop(stop))
        return batch_key(self._page.first), batch_key(self._page.stop)

    def _stop(self, uncommitted: int | None) -> int:
        """The first number that is not to be read."""
        if uncommitted is not None:
            return uncommitted
        return VOLATILE_FROM if self._endless else self.last + 1

    def taken(self, number: int) -> None:
        """A new batch takes this number: a load under way may show its row, but not as a committed one."""
        for read in (self._page, self._look):
            if read is not None and number < read.stop:
                read.stop = number

    def gone(self, number: int) -> None:
        """A batch ended; a load under way may still show its row."""
        for read in (self._page, self._look):
            if read is not None and read.first <= number < read.stop:
                read.gone[number] = None

    def ignores(self, number: int) -> bool:
        """Whether a row loaded for the window is out of date, or not committed."""
        return self._page is not None and self._page.ignores(number)

    # Looking ---------------------------------------------------------------------------------------------------
    def hidden_above(self, number: int) -> int | None:
        """The first number above `number` that may lie only on disk, None when there is none."""
        last = VOLATILE_FROM - 1 if self._endless else self.last
        return max(self.start, number + 1) if self.is_open and number < last else None

    def holds(self, number: int) -> bool:
        """Whether a committed batch with this number, if there is one and it is not in memory, lies here."""
        return self.is_open and number >= self.start

    def look(self, first: int, uncommitted: int | None) -> bytes:
        """A load from `first` on begins that brings nothing into memory; its start. One at a time."""
        assert self._look is None, "looked() comes first"
        self._look = Read(first, self._stop(uncommitted))
        return batch_key(first)

    def looked(self) -> Read:
        """That load has ended: what to make of its rows."""
        read, self._look = self._look, None
        assert read is not None
        return read

    def marks(self) -> MarkCursor:
        """All marks kept here, to be looked at in the order of the batches."""
        return MarkCursor(self._keys, self._ahead)

    def loaded(self, info: StoredBatch) -> None:
        """A batch came into memory. What is missing before it was swept."""
        self.void(min(self._loaded[0] - info.count_before, 0), min(self._loaded[1] - info.bytes_before, 0))
        self._loaded = (info.count_before + info.count, info.bytes_before + len(info.body))

    def advance(self, start: int | None) -> list[int]:
        """A page is in: go on at `start`, None when all that was asked for is in.

        Returns the numbers of mark rows that belong to no batch any more.
        """
        if self._page is not None:
            if start is None or start >= self._page.stop:
                self._endless = False
                start = self._page.stop
            elif self._endless:
                self.last = max(start, self.last)
            self.start = start
        self._page = None
        if not self.is_open:
            self._void = (0, 0)
        for known in (self._settled, self.condemned):
            known.forget_below(self.start if self.is_open else VOLATILE_FROM)
        passed = bisect_left(self._keys, self.start) if self.is_open else len(self._keys)
        stale = [key for key in self._keys[:passed] if not self.is_open or self._is_stale(key)]
        for key in stale:
            del self._ahead[key]
        if stale:
            self._keys = [key for key in self._keys if key in self._ahead]
        return stale

    def _is_stale(self, key: int) -> bool:
        """Whether a row of marks says nothing about what is still to come."""
        return all(mark.last < self.start for mark in self._ahead[key])

    # Sweeping --------------------------------------------------------------------------------------------------
    def void(self, count: int, size: int) -> None:
        """So many messages and bytes less lie here than the numbers say."""
        self._void = (max(self._void[0] + count, 0), max(self._void[1] + size, 0))

    def marks_within(self, first: int, last: int) -> list[Mark]:
        """Every mark of the rows first..last, wherever it reaches."""
        keys = self._keys[bisect_left(self._keys, first) : bisect_left(self._keys, last + 1)]
        return [mark for key in keys for mark in self._ahead[key]]

    def forget(self, first: int, last: int) -> bool:
        """Drop the rows of marks first..last; whether there were any."""
        low, high = bisect_left(self._keys, first), bisect_left(self._keys, last + 1)
        for key in self._keys[low:high]:
            del self._ahead[key]
        del self._keys[low:high]
        return low < high

    # Marks -----------------------------------------------------------------------------------------------------
    def mark(self, number: int, marks: tuple[Mark, ...]) -> None:
        """Keep a row of marks for a batch that is not in memory."""
        if number not in self._ahead:
            insort(self._keys, number)
        self._ahead[number] = marks
        for mark in marks:
            if mark.deliveries == SETTLED:
                self._settled.add(mark.first, mark.last)
            elif mark.deliveries >= CONDEMNED:
                self.condemned.add(mark.first, mark.last)

    def settle(self, first: int, last: int) -> list[tuple[int, tuple[Mark, ...]]]:
        """Settle messages that may lie here: the mark rows to write, as their numbers and their marks."""
        first, last = max(first, self.start), min(last, self.last)
        if first > last:
            return []
        rows: list[tuple[int, tuple[Mark, ...]]] = []
        open_spans = self._settled.missing(first, last)
        for start, stop in [span for found in open_spans for span in self.condemned.missing(*found)]:
            rows.append((start, (*self._ahead.get(start, ()), Mark(start, stop, SETTLED))))
            self.mark(*rows[-1])
        return rows

    def claim(self, first: int, last: int) -> Claim:
        """The marks for a batch that comes into memory. Batches claim in order: what lies below is for nobody else."""
        keys = self._keys
        if not keys or keys[0] > last:
            return _NOTHING
        high = bisect_left(keys, last + 1)
        claimed, self._keys = keys[:high], keys[high:]
        marks = [mark for key in claimed for mark in self._ahead.pop(key)]
        behind = _cut(marks, last + 1, VOLATILE_FROM)
        if behind:
            behind += self._ahead.get(last + 1, ())
            self.mark(last + 1, behind)
        return Claim(_cut(marks, first, last), behind, [key for key in claimed if key < first])
