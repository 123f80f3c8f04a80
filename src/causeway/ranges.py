"""Sets of ids as runs: what was admitted, accepted, or still waits for a confirmation. It costs by run."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from causeway.types import Span


class IdSet:
    """An exact set of integers held as disjoint runs, lowest first; adding at the end is cheap."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in spans:
            self.add(first, last)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __len__(self) -> int:
        """How many runs, not how many ids: the measure that a bound applies to."""
        return len(self._firsts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdSet) and self.spans() == other.spans()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"IdSet({self.spans()})"

    @property
    def high(self) -> int:
        """The greatest member, 0 when empty (ids start at 1)."""
        return self._lasts[-1] if self._lasts else 0

    def spans(self) -> list[Span]:
        """The runs, lowest first."""
        return list(zip(self._firsts, self._lasts, strict=True))

    def add(self, first: int, last: int) -> bool:
        """Put first..last in; whether there may be more runs than before."""
        firsts, lasts = self._firsts, self._lasts
        if not firsts or first > lasts[-1] + 1:
            firsts.append(first)
            lasts.append(last)
            return True
        if first >= firsts[-1]:
            if last > lasts[-1]:
                lasts[-1] = last
            return False
        # Runs low..high-1 touch first..last; they become one.
        low = bisect_left(lasts, first - 1)
        high = bisect_right(firsts, last + 1)
        if low < high:
            first = min(first, firsts[low])
            last = max(last, lasts[high - 1])
        firsts[low:high] = [first]
        lasts[low:high] = [last]
        return low == high

    def remove(self, first: int, last: int) -> None:
        """Take first..last out; members or not."""
        firsts, lasts = self._firsts, self._lasts
        low = bisect_left(lasts, first)
        high = bisect_right(firsts, last)
        if low >= high:
            return
        kept: list[Span] = []
        if firsts[low] < first:
            kept.append((firsts[low], first - 1))
        if lasts[high - 1] > last:
            kept.append((last + 1, lasts[high - 1]))
        firsts[low:high] = [span[0] for span in kept]
        lasts[low:high] = [span[1] for span in kept]

    def missing(self, first: int, last: int) -> list[Span]:
        """The runs of first..last that are not in the set."""
        firsts, lasts = self._firsts, self._lasts
        if not lasts or first > lasts[-1]:
            return [(first, last)] if first <= last else []
        gaps: list[Span] = []
        at = bisect_left(lasts, first)
        while at < len(firsts) and firsts[at] <= last:
            if firsts[at] > first:
                gaps.append((first, firsts[at] - 1))
            first = lasts[at] + 1
            at += 1
        if first <= last:
            gaps.append((first, last))
        return gaps

    def end_of(self, number: int) -> int:
        """The last member of the run that holds `number`; number - 1 when it is not a member."""
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
        excess = len(self._firsts) - runs_max
        if excess > 0:
            del self._firsts[:excess]
            del self._lasts[:excess]

    def forget_below(self, number: int) -> None:
        """Drop the runs that end below `number`."""
        count = bisect_left(self._lasts, number)
        del self._firsts[:count]
        del self._lasts[:count]

    def clear(self) -> None:
        """Take everything out."""
        self._firsts.clear()
        self._lasts.clear()


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
