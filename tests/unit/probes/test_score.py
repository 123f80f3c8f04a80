"""The equations: 1 when needs are met, less the more is missing, never outside 0 to 1."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.errors import ConfigError
from causeway.probes.needs import Need
from causeway.probes.score import ProbeAnswer, Score, normalised, rate, satisfaction

amounts = st.floats(0, 1e15)
"""From nothing to more bytes than any machine has."""
needed = st.floats(1e-3, 1e15)
weights = st.floats(1e-3, 1e3)
machines = st.lists(st.tuples(needed, weights, st.none() | amounts), min_size=1, max_size=6)


def scored(machine: list[tuple[float, float, float | None]]) -> Score:
    needs = [Need(f"p{number}", need, weight) for number, (need, weight, _) in enumerate(machine)]
    return rate(needs, {f"p{number}": ProbeAnswer(available) for number, (_, _, available) in enumerate(machine)})


@pytest.mark.parametrize(
    ("available", "value"),
    [(8.0, 1.0), (4.0, 1.0), (2.0, math.exp(-1)), (4 / 3, math.exp(-2)), (0.0, 0.0), (-1.0, 0.0), (None, 1.0)],
)
def test_half_of_a_need_is_worth_one_over_e(available: float | None, value: float) -> None:
    assert satisfaction(available, 4.0) == pytest.approx(value)


def test_the_score_does_not_depend_on_the_unit() -> None:
    assert satisfaction(3.0, 4.0) == pytest.approx(satisfaction(3.0 * 2**30, 4.0 * 2**30))


def test_overall_score_is_the_weighted_mean_of_its_parts() -> None:
    needs = (Need("cpu", 1.0, 3.0), Need("disk", 100.0, 1.0))
    score = rate(needs, {"cpu": ProbeAnswer(0.5), "disk": ProbeAnswer(100.0)})
    assert [part.weight for part in score.parts] == [0.75, 0.25]
    assert score.value == pytest.approx(0.75 * math.exp(-1) + 0.25)


@given(machines, st.integers(0, 5), amounts)
def test_more_of_anything_is_never_worse(
    machine: list[tuple[float, float, float | None]], which: int, more: float
) -> None:
    need, weight, available = machine[which % len(machine)]
    richer = list(machine)
    richer[which % len(machine)] = (need, weight, None if available is None else available + more)
    assert scored(richer).value >= scored(machine).value


@given(machines, st.floats(1e-6, 1e6))
def test_only_the_proportions_of_weights_count(machine: list[tuple[float, float, float | None]], factor: float) -> None:
    scaled = [(need, weight * factor, available) for need, weight, available in machine]
    assert scored(scaled).value == pytest.approx(scored(machine).value)


@given(machines)
def test_score_is_1_exactly_when_every_need_is_met(machine: list[tuple[float, float, float | None]]) -> None:
    score = scored(machine)
    assert 0.0 <= score.value <= 1.0
    short = [need / available - 1 if available else math.inf for need, _, available in machine if available is not None]
    if all(shortfall <= 0 for shortfall in short):
        assert score.value == 1.0
    elif max(short) > 1e-6:  # what is less can be lost to rounding
        assert score.value < 1.0


def test_failed_or_absurd_or_silent_probes_count_nothing_and_say_why() -> None:
    needs = [Need(name, 1.0) for name in ("failed", "absurd", "silent", "absent", "fine")]
    score = rate(
        needs,
        {
            "failed": ProbeAnswer(9.0, failure="OSError: gone"),
            "absurd": ProbeAnswer(math.nan),
            "absent": ProbeAnswer(note="no battery"),
            "fine": ProbeAnswer(math.inf),
        },
    )
    assert score.value == pytest.approx(0.4)
    assert score.reasons == {
        "failed": "OSError: gone",
        "absurd": "it measured no number (NaN)",
        "silent": "not measured yet",
        "absent": "no battery",
    }


def test_weights_that_add_up_to_infinity_are_still_normalised() -> None:
    assert normalised([Need("a", 1, 1e308), Need("b", 1, 1e308)]) == [0.5, 0.5]


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf], ids=["negative", "nan", "infinite"])
def test_weights_that_cannot_be_are_refused_by_name(weight: float) -> None:
    with pytest.raises(ConfigError) as refused:
        normalised([Need("cpu", 1.0, weight), Need("disk", 1.0)])
    assert refused.value.field == "probes.cpu.weight"
