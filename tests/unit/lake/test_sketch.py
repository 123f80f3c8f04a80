"""Sketches of durations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.lake import sketch
from tests.sketches import merged, quantile

DURATIONS = st.integers(2, 10**17)


@given(DURATIONS)
def test_value_of_a_bucket_is_within_one_percent_of_what_is_in_it(duration: int) -> None:
    assert abs(sketch.value_of(sketch.number_of(duration)) - duration) <= 0.0101 * duration


@given(st.lists(DURATIONS, min_size=1, max_size=60), st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]))
def test_quantile_is_within_one_percent_of_the_sorted_one(durations: list[int], part: float) -> None:
    counts = merged({sketch.number_of(one): 1} for one in durations)
    exact = sorted(durations)[int(part * (len(durations) - 1))]
    assert abs(quantile(counts, part) - exact) <= 0.0101 * exact


@given(st.lists(st.dictionaries(st.integers(0, 50), st.integers(1, 9), max_size=8), max_size=6))
def test_merging_adds_counts_whatever_the_order(sketches: list[dict[int, int]]) -> None:
    assert merged(sketches) == merged(reversed(sketches))
    assert sum(merged(sketches).values()) == sum(sum(one.values()) for one in sketches)


def test_durations_beyond_the_borders_have_the_outermost_buckets() -> None:
    assert sketch.number_of(0) == sketch.number_of(-5) == 0
    assert sketch.value_of(0) == 0.0
    assert sketch.number_of(10**30) == sketch.NUMBER_MAX
    assert quantile({}, 0.5) == 0.0
