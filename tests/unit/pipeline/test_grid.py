"""Which windows were recorded, and what periods they make up."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.errors import LakeError
from causeway.lake.days import DAY_SECONDS as DAY
from causeway.pipeline.grid import DaySeen, find_peaks, make_grid


def seen(day: int, first: int, last: int, domain: str = "d") -> DaySeen:
    return DaySeen(domain, day, day * DAY + first, day * DAY + last)


def test_days_that_follow_each_other_are_one_span() -> None:
    grid = make_grid([seen(5, 0, 10), seen(4, 100, 200)], 1, 900)
    assert grid.spans == ((4 * DAY + 100, 5 * DAY + 10),)
    assert grid.windows == DAY - 100 + 11


def test_day_that_nobody_recorded_is_no_part_of_it() -> None:
    grid = make_grid([seen(4, 0, 9), seen(6, 0, 9)], 1, 900)
    assert grid.windows == 20
    assert grid.days_left_out == ()


def test_day_that_one_domain_lacks_in_the_middle_is_left_out() -> None:
    days = [seen(day, 0, 9, domain) for domain, mine in (("n", (1, 2, 3, 4)), ("s", (1, 3))) for day in mine]
    grid = make_grid(days, 1, 900)
    assert grid.days_left_out == (2,)
    # Day 4 counts although s has ended: whoever has ended sends nothing.
    assert grid.spans == ((DAY, DAY + 9), (3 * DAY, 4 * DAY + 9))


def test_only_whole_windows_count() -> None:
    grid = make_grid([seen(0, 7, 34)], 10, 20)
    assert grid.spans == ((10, 29),)
    assert grid.periods().tolist() == [0, 1]
    assert grid.windows_in(grid.periods()).tolist() == [1, 1]
    with pytest.raises(LakeError, match="not one whole window of 60 s"):
        make_grid([seen(0, 7, 34)], 60, 60)


def test_windows_of_periods_are_those_of_the_grid() -> None:
    grid = make_grid([seen(0, 7, 340), seen(2, 0, 1), seen(9, 5, 5)], 1, 100)
    assert int(grid.windows_in(grid.periods()).sum()) == grid.windows


def test_clock_that_runs_wild_is_named() -> None:
    with pytest.raises(LakeError, match=r"1001 separate spans"):
        make_grid([seen(2 * day, 0, 1) for day in range(1001)], 1, 900)
    with pytest.raises(LakeError, match=r"more than 100000 periods"):
        make_grid([seen(day, 0, DAY - 1) for day in range(3)], 1, 1)


def test_peak_is_what_is_not_below_the_quantile() -> None:
    grid = make_grid([seen(0, 0, 49)], 1, 10)
    found = find_peaks({0: 10, 2: 30, 3: 20}, grid, 0.75)
    assert found.rates.tolist() == [1, 0, 3, 2, 0]
    assert (found.threshold, found.peak.tolist()) == (2.0, [False, False, True, True, False])
    assert found.peak_windows == 20
    assert find_peaks(dict.fromkeys(range(5), 7), grid, 0.75).peak.all()
    np.testing.assert_array_equal(find_peaks({}, grid, 0.5).messages, np.zeros(5))
