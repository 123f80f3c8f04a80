"""The meter: what a broker sustains, from a start value and from what it was seen to do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.errors import ConfigError
from causeway.limits import CAPACITY_MAX
from causeway.probes.capacity import BUSY_MIN, PEAK_SECONDS, CapacityMeter

seconds = st.lists(st.tuples(st.integers(0, 10**7), st.floats(0, 2)), max_size=40)


def test_begins_with_its_start_value() -> None:
    assert CapacityMeter(5000.0).capacity() == 5000.0


def test_what_is_configured_overrides_everything() -> None:
    meter = CapacityMeter(5000.0, configured=700)
    meter.observe(10**6, 0.9)
    assert meter.capacity() == 700.0


@pytest.mark.parametrize("share", [0.06, 0.3, 1.0])
def test_comes_to_messages_per_busy_second_however_busy_it_is(share: float) -> None:
    meter = CapacityMeter(5000.0)
    for _ in range(int(200 / share)):
        meter.observe(int(40_000 * share), share)
    assert meter.capacity() == pytest.approx(40_000, rel=0.01)


def test_one_odd_second_does_not_overthrow_what_was_learned() -> None:
    meter = CapacityMeter(5000.0)
    for _ in range(120):
        meter.observe(20_000, 0.5)
    before = meter.capacity()
    meter.observe(500, 0.5)
    assert meter.capacity() > 0.95 * before


def test_quiet_seconds_teach_nothing() -> None:
    meter = CapacityMeter(5000.0)
    for _ in range(10_000):
        meter.observe(0, 0.9)
        meter.observe(10, BUSY_MIN / 2)
    assert meter.capacity() == 5000.0


@given(seconds)
def test_what_was_really_handled_is_never_denied(observed: list[tuple[int, float]]) -> None:
    meter = CapacityMeter(1.0)
    for messages, busy in observed:
        meter.observe(messages, busy)
    assert meter.capacity() >= max((messages for messages, _ in observed), default=1)
    assert math.isfinite(meter.capacity())
    assert 0 < meter.capacity() <= CAPACITY_MAX


def test_a_peak_is_forgotten_in_the_end() -> None:
    meter = CapacityMeter(1000.0)
    meter.observe(100_000, 0.0)
    for _ in range(PEAK_SECONDS):
        meter.observe(0, 0.0)
    assert meter.capacity() == 100_000
    for _ in range(PEAK_SECONDS + 1):
        meter.observe(0, 0.0)
    assert meter.capacity() == 1000.0


@pytest.mark.parametrize(("seconds", "peak"), [(10.0, 3000.0), (0.01, 30_000.0)], ids=["long", "a moment"])
def test_what_was_handled_counts_per_second(seconds: float, peak: float) -> None:
    meter = CapacityMeter(1.0)
    meter.observe(30_000, 0.0, seconds=seconds)
    assert meter.capacity() == peak


def test_absurd_observations_are_ignored() -> None:
    meter = CapacityMeter(1000.0)
    for seen in ((-5, 0.5, 1.0), (5, -0.5, 1.0), (5, 0.5, 0.0), (5, math.nan, 1.0), (5, 0.5, math.nan)):
        meter.observe(*seen)
    assert meter.capacity() == 1000.0


@pytest.mark.parametrize(
    ("start", "configured", "field"),
    [(0.0, 0, "start"), (math.nan, 0, "start"), (1.0, -1, "capacity"), (1.0, CAPACITY_MAX + 1, "capacity")],
)
def test_values_that_cannot_be_are_refused_by_name(start: float, configured: int, field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        CapacityMeter(start, configured=configured)
    assert refused.value.field == field
