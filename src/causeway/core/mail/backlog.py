"""What is stored but not in memory: the stretch of numbers behind the window, and marks that await its batches.

Owns: where paging goes on, how much lies there, settlements of messages that are not loaded.
Must not know: batches in memory, consumers.

A batch that commits while the stretch is open stays on disk too, so nothing newer overtakes what lies there.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

from causeway.core.mail.rows import SETTLED, Mark, StoredBatch, batch_key
from causeway.types import VOLATILE_FROM, Span


class Claim(NamedTuple):
    """What the rows of marks say about a batch that comes into memory."""

    marks: tuple[Mark, ...]
    behind: tuple[Mark, ...]
    """What the same rows say about messages behind the batch: now kept under the number after it."""
    stale: list[int]
    """Numbers of rows below the batch, which are of no use any more."""


_NOTHING = Claim((), (), [])


class Backlog:
    """Stored messages start .. last that are only on disk; nothing when start > last."""

    __slots__ = ("_ahead", "_asked", "_end", "_endless", "_gone", "_keys", "_loaded", "last", "start")

    def __init__(self) -> None:
        self.start = 0
        self.last = -1
        self._asked: Span | None = None
        """The numbers being loaded: first, and first behind."""
        self._endless = False
        """After a take-over: rows may lie behind `last`, until a page has come to the end."""
        self._gone: dict[int, None] = {}
        """Batches in memory that ended while their rows were being loaded."""
        self._ahead: dict[int, tuple[Mark, ...]] = {}
        """Rows of marks whose batches are not in memory, by the number in their key."""
        self._keys: list[int] = []
        """The keys of `_ahead`, in order."""
        self._loaded = (0, 0)
        self._end = (0, 0)
        """Messages and bytes ever stored, up to the last batch in memory and up to the last one on disk."""

    @property
    def is_open(self) -> bool:
        """Whether anything lies here."""
        return self.start <= self.last

    @property
    def count(self) -> int:
        """Messages here, those settled ahead of time included."""
        return max(self._end[0] - self._loaded[0], 0) if self.is_open else 0

    @property
    def size(self) -> int:
        """Their bytes."""
        return max(self._end[1] - self._loaded[1], 0) if self.is_open else 0

    # Growing and shrinking -------------------------------------------------------------------------------------
    def open(self, start: int, last: int, ever: tuple[int, int]) -> None:
        """After a take-over: the rows from `start` on were not loaded; `ever` counts everything stored."""
        self.start, self.last = start, max(start, last)
        self._endless = True
        self._end = ever

    def drop(self, info: StoredBatch) -> None:
        """A batch that just committed stays on disk."""
        if not self.is_open:
            self.start = info.seq
            self._loaded = (info.count_before, info.bytes_before)
        self.last = info.seq + info.count - 1
        self._end = (info.count_before + info.count, info.bytes_before + len(info.body))

    def ask(self, stop: int | None) -> tuple[bytes, bytes] | None:
        """The key range to load, up to the first uncommitted number `stop`; None while a load is under way."""
        if self._asked is not None or not self.is_open:
            return None
        if stop is None:
            stop = VOLATILE_FROM if self._endless else self.last + 1
        self._asked = (self.start, stop)
        return batch_key(self.start), batch_key(stop)

    def taken(self, number: int) -> None:
        """A new batch takes this number: a load under way may show its row, but not as a committed one."""
        if self._asked is not None and number < self._asked[1]:
            self._asked = (self._asked[0], number)

    def gone(self, number: int) -> None:
        """A batch in memory ended; a load under way may still show its row."""
        if self._asked is not None and self._asked[0] <= number < self._asked[1]:
            self._gone[number] = None

    def ignores(self, number: int) -> bool:
        """Whether a loaded row is out of date, or not committed."""
        return number in self._gone or (self._asked is not None and number >= self._asked[1])

    def loaded(self, info: StoredBatch) -> None:
        """A batch came into memory."""
        self._loaded = (info.count_before + info.count, info.bytes_before + len(info.body))

    def advance(self, start: int | None) -> list[int]:
        """A page is in: go on at `start`, None when all that was asked for is in.

        Returns the numbers of mark rows that belong to no batch any more.
        """
        if self._asked is not None:
            if start is None or start >= self._asked[1]:
                self._endless = False
                start = self._asked[1]
            elif self._endless:
                self.last = max(start, self.last)
            self.start = start
        self._asked = None
        self._gone.clear()
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

    # Marks -----------------------------------------------------------------------------------------------------
    def mark(self, number: int, marks: tuple[Mark, ...]) -> None:
        """Keep a row of marks for a batch that is not in memory."""
        if number not in self._ahead:
            insort(self._keys, number)
        self._ahead[number] = marks

    def settle(self, first: int, last: int) -> tuple[int, tuple[Mark, ...]] | None:
        """Settle messages that may lie here: the mark row to write, as its number and its marks."""
        first, last = max(first, self.start), min(last, self.last)
        if first > last:
            return None
        marks = (*self._ahead.get(first, ()), Mark(first, last, SETTLED))
        self.mark(first, marks)
        return first, marks

    def claim(self, first: int, last: int) -> Claim:
        """The marks for a batch that comes into memory. Batches claim in order: what lies below is for nobody else."""
        keys = self._keys
        if not keys or keys[0] > last:
            return _NOTHING
        high = bisect_left(keys, last + 1)
        claimed, self._keys = keys[:high], keys[high:]
        ours: list[Mark] = []
        behind: list[Mark] = []
        for mark in [mark for key in claimed for mark in self._ahead.pop(key)]:
            if mark.first <= last and mark.last >= first:
                ours.append(Mark(max(mark.first, first), min(mark.last, last), mark.deliveries))
            if mark.last > last:
                behind.append(Mark(max(mark.first, last + 1), mark.last, mark.deliveries))
        if behind:
            behind += self._ahead.get(last + 1, ())
            self.mark(last + 1, tuple(behind))
        return Claim(tuple(ours), tuple(behind), [key for key in claimed if key < first])
