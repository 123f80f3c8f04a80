"""The dense grid of time under sparse rows: windows that were recorded, and the periods that they make up.

Writers leave seconds out in which nothing happened, so a missing row means zero, if anybody was there to write one.
Days without any row were not recorded and are no part of the grid, nor are days that are missing in the middle of a
domain's life. What is left are *spans* of days that follow each other, each from its first to its last second. A clock
that jumped years away makes a short span of its own and stretches none.

Windows are the samples of a rate (a second each, as a rule), periods what is looked at to find the peak.
Owns: arithmetic of windows, periods and spans. Must not know: Spark, messages.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from causeway.errors import LakeError

DAYS_MAX: Final = 20_000
"""Days of all domains together, which the driver holds: three years of eighteen domains."""
SPANS_MAX: Final = 1_000
"""Times that recording may have stopped for a day: more is a clock that runs wild."""
PERIODS_MAX: Final = 100_000
"""Periods of a grid: almost three years of quarter hours."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class DaySeen(NamedTuple):
    """What was recorded of one domain on one day."""

    domain: str
    day: int
    """Days since 1970."""
    first: int
    last: int
    """First and last second."""


class Grid(NamedTuple):
    """Windows of `interval` seconds in spans, grouped into periods of `period` seconds."""

    interval: int
    period: int
    spans: tuple[tuple[int, int], ...]
    """First and last second of each, whole windows."""
    days_left_out: tuple[int, ...] = ()
    """Between the first and the last day of a span or a domain, and not recorded."""

    @property
    def windows(self) -> int:
        """How many there are."""
        return sum(last - first + 1 for first, last in self.spans) // self.interval

    def has(self, windows: Ints) -> npt.NDArray[np.bool_]:
        """Which of these windows, by their numbers counted from 1970 on, are on the grid."""
        seconds = windows * self.interval
        found = np.zeros(len(windows), np.bool_)
        for first, last in self.spans:
            found |= (first <= seconds) & (seconds <= last)
        return found

    def periods(self) -> Ints:
        """Their numbers, counted from 1970 on, ascending. One where a span ends and another begins is there once."""
        parts = [np.arange(first // self.period, last // self.period + 1) for first, last in self.spans]
        numbers = np.unique(np.concatenate(parts))
        return numbers[self.windows_in(numbers) > 0]

    def windows_in(self, periods: Ints) -> Ints:
        """Windows of the grid in each of these periods."""
        found = np.zeros(len(periods), np.int64)
        for first, last in self.spans:
            begin = np.maximum(periods * self.period, first)
            end = np.minimum((periods + 1) * self.period, last + 1)
            found += np.maximum(end - begin, 0) // self.interval
        return found


def make_grid(days: Iterable[DaySeen], interval: int, period: int) -> Grid:
    """The grid of what was recorded; a LakeError if not one whole window was."""
    seen = list(days)
    left_out = _gaps(seen)
    limits: dict[int, tuple[int, int]] = {}
    for one in seen:
        if one.day not in left_out:
            first, last = limits.get(one.day, (one.first, one.last))
            limits[one.day] = min(first, one.first), max(last, one.last)
    spans: list[tuple[int, int]] = []
    before = None
    for day in sorted(limits):
        first, last = limits[day]
        if before == day - 1:
            spans[-1] = spans[-1][0], last
        else:
            spans.append((first, last))
        before = day
    whole = tuple(span for span in (_whole(first, last, interval) for first, last in spans) if span is not None)
    if not whole:
        raise LakeError(
            "the lake",
            f"has not one whole window of {interval} s",
            "choose a shorter one with --set interval=1, or wait for more",
        )
    if len(whole) > SPANS_MAX:
        raise LakeError(
            "the lake", f"was recorded in {len(whole)} separate spans", "a clock runs wild: leave its days out"
        )
    grid = Grid(interval, period, whole, tuple(sorted(left_out)))
    if sum((last - first) // period + 1 for first, last in whole) > PERIODS_MAX:
        raise LakeError("the lake", f"has more than {PERIODS_MAX} periods of {period} s", "choose longer ones (period)")
    return grid


class Periods(NamedTuple):
    """Every period of a grid, and which of them are the peak."""

    numbers: Ints
    begins: Ints
    """First second of each."""
    windows: Ints
    messages: Ints
    """Of all topics."""
    rates: Floats
    threshold: float
    peak: npt.NDArray[np.bool_]

    @property
    def peak_windows(self) -> int:
        """Windows of the peak periods."""
        return int(self.windows[self.peak].sum())


def find_peaks(sums: Mapping[int, int], grid: Grid, quantile: float) -> Periods:
    """Periods with zeros filled in; the peak are those whose rate is not below the quantile. Of a constant series all
    are."""
    numbers = grid.periods()
    windows = grid.windows_in(numbers)
    messages = np.array([sums.get(number, 0) for number in numbers.tolist()], np.int64)
    rates = messages / (windows * grid.interval)
    threshold = float(np.quantile(rates, quantile))
    return Periods(numbers, numbers * grid.period, windows, messages, rates, threshold, rates >= threshold)


def time_name(second: int) -> str:
    """A second as people read it, in UTC."""
    return f"{dt.datetime.fromtimestamp(second, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def _whole(first: int, last: int, interval: int) -> tuple[int, int] | None:
    begin, end = -(-first // interval) * interval, (last + 1) // interval * interval - 1
    return (begin, end) if begin <= end else None


def _gaps(seen: list[DaySeen]) -> frozenset[int]:
    """Days that were recorded by some domain and are missing in the middle of another one's."""
    all_days = {one.day for one in seen}
    by_domain: dict[str, list[int]] = {}
    for one in seen:
        by_domain.setdefault(one.domain, []).append(one.day)
    found: dict[int, None] = {}
    for mine in by_domain.values():
        had = frozenset(mine)
        for day in all_days:
            if min(mine) < day < max(mine) and day not in had:
                found[day] = None
    return frozenset(found)
