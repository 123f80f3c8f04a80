"""Sets of ids as runs: what was admitted, accepted, or still waits for a confirmation. It costs by run."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from causeway.types import Span

_NO_RUNS: list[int] = []
"""Shared by all sets of one run; never changed."""


class IdSet:
    """An exact set of integers held as disjoint runs, lowest first; adding at the end is cheap.

    Most sets are one run for their whole life: the last run lies in two fields, and only others take lists.
    """

    __slots__ = ("_first", "_firsts", "_lasts", "high")

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._first, self.high = 1, 0
        """The last run; there is none when it ends before it begins. So `high` is 0 in an empty set; ids start at 1."""
        self._firsts: list[int] | None = None
        self._lasts: list[int] = _NO_RUNS
        """The runs before it, if there are any."""
        for first, last in spans:
            self.add(first, last)

    def __bool__(self) -> bool:
        return self._first <= self.high

    def __len__(self) -> int:
        """How many runs, not how many ids: the measure that a bound applies to."""
        return len(self._lasts) + (self._first <= self.high)

    def __contains__(self, number: int) -> bool:
        return self.end_of(number) >= number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdSet) and self.spans() == other.spans()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"IdSet({self.spans()})"

    def spans(self) -> list[Span]:
        """The runs, lowest first."""
        if self._firsts is None:
            return [(self._first, self.high)] if self._first <= self.high else []
        return [*zip(self._firsts, self._lasts, strict=True), (self._first, self.high)]

    def add(self, first: int, last: int) -> bool:
        """Put first..last in; whether there may be more runs than before."""
        end = self.high
        if self._first <= first <= end + 1 and self._first <= end:
            if last > end:
                self.high = last
            return False
        if self._first > end:
            self._first, self.high = first, last
            return True
        firsts, lasts = self._unfold()
        if first > end:
            firsts.append(first)
            lasts.append(last)
            self._fold(firsts, lasts)
            return True
        # Runs low..high-1 touch first..last; they become one.
        low = bisect_left(lasts, first - 1)
        high = bisect_right(firsts, last + 1)
        if low < high:
            first = min(first, firsts[low])
            last = max(last, lasts[high - 1])
        firsts[low:high] = [first]
        lasts[low:high] = [last]
        self._fold(firsts, lasts)
        return low == high

    def _unfold(self) -> tuple[list[int], list[int]]:
        """All runs as two lists, to be changed and given to `_fold`."""
        if self._first > self.high:
            return [], []
        firsts, lasts = ([], []) if self._firsts is None else (self._firsts, self._lasts)
        firsts.append(self._first)
        lasts.append(self.high)
        return firsts, lasts

    def _fold(self, firsts: list[int], lasts: list[int]) -> None:
        self._first, self.high = (firsts.pop(), lasts.pop()) if firsts else (1, 0)
        self._firsts, self._lasts = (firsts, lasts) if firsts else (None, _NO_RUNS)

    def remove(self, first: int, last: int) -> None:
        """Take first..last out; members or not."""
        firsts, lasts = self._unfold()
        low = bisect_left(lasts, first)
        high = bisect_right(firsts, last)
        if low < high:
            kept: list[Span] = []
            if firsts[low] < first:
                kept.append((firsts[low], first - 1))
            if lasts[high - 1] > last:
                kept.append((last + 1, lasts[high - 1]))
            firsts[low:high] = [span[0] for span in kept]
            lasts[low:high] = [span[1] for span in kept]
        self._fold(firsts, lasts)

    def missing(self, first: int, last: int) -> list[Span]:
        """The runs of first..last that are not in the set."""
        if first > self.high or self._first > self.high:
            return [(first, last)] if first <= last else []
        gaps: list[Span] = []
        if self._firsts is not None:
            firsts, lasts = self._firsts, self._lasts
            at = bisect_left(lasts, first)
            while at < len(firsts) and firsts[at] <= last:
                if firsts[at] > first:
                    gaps.append((first, firsts[at] - 1))
                first = lasts[at] + 1
                at += 1
        if self._first <= last:
            if first < self._first:
                gaps.append((first, self._first - 1))
            first = max(first, self.high + 1)
        if first <= last:
            gaps.append((first, last))
        return gaps

    def end_of(self, number: int) -> int:
        """The last member of the run that holds `number`; number - 1 when it is not a member."""
        if number >= self._first or self._firsts is None:
            return self.high if self._first <= number <= self.high else number - 1
        at = bisect_right(self._firsts, number) - 1
        return self._lasts[at] if at >= 0 and number <= self._lasts[at] else number - 1

    def common(self, first: int, last: int) -> list[Span]:
        """The runs of first..last that are in the set."""
        found: list[Span] = []
        for start, stop in [*self.missing(first, last), (last + 1, last)]:
            if first < start:
                found.append((first, start - 1))
            first = stop + 1
        return found

    def merge(self, spans: Iterable[Span], runs_max: int) -> None:
        """Include all of these; then drop the lowest runs until at most `runs_max` remain."""
        for first, last in spans:
            self.add(first, last)
        self.forget_lowest(runs_max)

    def forget_lowest(self, runs_max: int) -> None:
        """Drop the lowest runs until at most `runs_max` remain."""
        excess = len(self) - runs_max
        if excess > 0:
            self._drop(excess)

    def forget_below(self, number: int) -> None:
        """Drop the runs that end below `number`."""
        if number > self.high:
            self.clear()
        elif self._firsts is not None:
            self._drop(bisect_left(self._lasts, number))

    def _drop(self, count: int) -> None:
        firsts, lasts = self._unfold()
        del firsts[:count], lasts[:count]
        self._fold(firsts, lasts)

    def clear(self) -> None:
        """Take everything out."""
        self._fold([], [])


def disjoint(spans: Sequence[Span]) -> Sequence[Span]:
    """The same ids in order and each once, as they are if they are so: what overlaps must not cost twice."""
    end = -1
    for first, last in spans:
        if first <= end:
            return merged(spans)
        end = last
    return spans


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same ids as the fewest runs, lowest first."""
    return IdSet(sorted(spans)).spans()
