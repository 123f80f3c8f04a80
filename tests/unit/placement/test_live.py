"""Placement for a running cluster answers whatever was measured, and keeps what is good."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from causeway.core.placing import NOBODY, FailureCase, PlannedItems, PlanRequest, Spared
from causeway.errors import ConfigError
from causeway.placement.live import plan_live
from causeway.placement.rates import peak_samples


def asked(
    rates: tuple[tuple[int, ...], ...], capacities: tuple[int, ...], present: PlannedItems | None = None
) -> PlanRequest:
    items = len(rates[0]) if rates else 0
    nobody = (NOBODY,) * items
    return PlanRequest(
        items=tuple(f"t{number}" for number in range(items)),
        brokers=tuple(f"s{number}" for number in range(len(capacities))),
        capacities=capacities,
        samples=rates,
        owners=nobody if present is None else present.owners,
        mirrors=nobody if present is None else present.mirrors,
    )


def bursting(items: int, windows: int, seed: int = 0) -> tuple[tuple[int, ...], ...]:
    """Rates of items that rise in six groups."""
    rng = np.random.default_rng(seed)
    usual, group = np.random.default_rng(0).lognormal(3.0, 1.0, items), np.arange(items) % 6
    rates = usual * (1 + 1.5 * (rng.random((windows, 6)) < 0.2)[:, group]) * rng.uniform(0.8, 1.2, (windows, items))
    return tuple(tuple(row) for row in rates.astype(int).tolist())


def check_whole(plan: PlannedItems, items: int, brokers: int) -> None:
    """Everything has an owner and a mirror elsewhere, in the placement and in every case."""
    assert len(plan.owners) == len(plan.mirrors) == items
    for case in (FailureCase((), ()), *plan.cases):
        placed = {number: pair for number, *pair in case.changed}
        for item in range(items):
            owner, mirror = placed.get(item, [plan.owners[item], plan.mirrors[item]])
            assert owner in range(brokers)
            assert owner not in case.broken
            if brokers - len(case.broken) > 1:
                assert mirror in range(brokers)
                assert mirror not in (owner, *case.broken)
            else:
                assert mirror == NOBODY
    assert len(plan.cases) == (brokers * (brokers + 1) // 2 if brokers > 2 else (0, 2)[brokers - 1])


@pytest.mark.parametrize("brokers", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "rates",
    [((30, 20, 10, 0, 5, 9),), ((0,) * 12,) * 9, bursting(12, 3), bursting(12, 40)],
    ids=["one window", "all zero", "few windows", "many windows"],
)
def test_every_item_is_placed_whatever_was_measured(rates: tuple[tuple[int, ...], ...], brokers: int) -> None:
    plan = plan_live(asked(rates, (2_000,) * brokers))
    check_whole(plan, len(rates[0]), brokers)
    assert plan.feasible
    assert set(plan.owners) == set(range(brokers)), "idle items, too, are spread"


def test_nothing_to_place_and_nobody_to_place_on() -> None:
    assert plan_live(asked((), (100, 100))).owners == ()
    plan = plan_live(asked(((1, 2),), ()))
    assert plan.owners == plan.mirrors == (NOBODY, NOBODY)
    assert plan.cases == ()
    assert plan.spared == Spared()
    unmeasured = msgspec.structs.replace(asked(((1, 2),), (100, 100)), samples=())
    assert sorted(plan_live(unmeasured).owners) == [0, 1]


def test_an_item_goes_where_the_others_do_not_rise_with_it() -> None:
    """Two pairs that rise together: means alone would not tell which to part."""
    high, low = (100, 20, 100, 20), (20, 100, 20, 100)
    plan = plan_live(asked((high, low) * 10, (170, 170)))
    assert plan.owners[0] != plan.owners[2]
    assert plan.owners[1] != plan.owners[3]
    assert plan.risk < 1_000


def test_unknown_capacity_is_the_mean_of_the_known_ones() -> None:
    rates = bursting(24, 20)
    assert plan_live(asked(rates, (900, 0, 300))) == plan_live(asked(rates, (900, 600, 300)))
    assert set(plan_live(asked(rates, (0, 0, 0))).owners) == {0, 1, 2}


def test_infeasible_threshold_gives_the_least_risky_placement() -> None:
    plan = plan_live(asked(((10, 10, 10, 10),) * 3, (15, 15)))
    assert not plan.feasible
    assert sorted(plan.owners) == [0, 0, 1, 1]
    assert plan.risk > 500_000
    assert plan.spared == Spared()
    lopsided = msgspec.structs.replace(plan, owners=(0, 0, 0, 0), mirrors=(1, 1, 1, 1))
    again = plan_live(asked(((10, 10, 10, 10),) * 3, (15, 15), lopsided))
    assert sorted(again.owners) == [0, 0, 1, 1]
    assert again.present_risk > again.risk


def test_good_placement_is_kept_and_has_the_same_version() -> None:
    rates = bursting(64, 40)
    first = plan_live(asked(rates, (900,) * 6))
    again = plan_live(asked(rates, (900,) * 6, first))
    assert (again.owners, again.mirrors, again.version) == (first.owners, first.mirrors, first.version)
    assert (again.present_risk, again.present_risk_after) == (again.risk, max(map(max, again.risks_after)))
    assert first.present_risk == 0, "nobody had anything"
    other = plan_live(asked(bursting(64, 40, seed=1), (900,) * 6, first))
    assert other.version != first.version
    assert sum(one != two for one, two in zip(first.owners, other.owners, strict=True)) < 16


def test_risks_after_a_failure_are_those_of_the_case() -> None:
    rates = ((40, 30, 20, 10), (44, 27, 22, 9)) * 5
    plan = plan_live(asked(rates, (80, 80, 80)))
    assert len(plan.risks) == len(plan.risks_after) == 3
    for case in plan.cases:
        if len(case.broken) == 1:
            failed = case.broken[0]
            owners = list(plan.owners)
            for item, owner, _mirror in case.changed:
                owners[item] = owner
            then = plan_live(msgspec.structs.replace(asked(rates, (80, 80, 80)), owners=tuple(owners)))
            assert plan.risks_after[failed][failed] == 0
            assert then.present_risk == max(plan.risks_after[failed])
    assert max(map(max, plan.risks_after)) >= plan.risk


def test_idle_brokers_are_spared_and_their_items_move() -> None:
    plan = plan_live(asked(bursting(24, 20), (5_000,) * 5))
    off = set(plan.spared.brokers)
    assert len(off) == 3
    placed = {item: (owner, mirror) for item, owner, mirror in plan.spared.changed}
    for item, present in enumerate(zip(plan.owners, plan.mirrors, strict=True)):
        assert not off & {*placed.get(item, present)}


def test_landmark_sized_question_has_every_double_failure() -> None:
    rates = bursting(160, 60)
    capacity = 3 * sum(sum(row) for row in rates) // 60 // 30
    plan = plan_live(asked(rates, (capacity,) * 30))
    check_whole(plan, 160, 30)
    assert plan.feasible
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(plan), type=PlannedItems) == plan


def test_peak_samples_are_the_upper_half() -> None:
    rows = np.arange(20.0).reshape(10, 2)
    assert peak_samples(rows).tolist() == rows[5:].tolist()
    assert peak_samples(rows[:7]).tolist() == rows[:7].tolist()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"capacities": (1,)}, "capacities"),
        ({"samples": ((1, 2, 3),)}, "samples, row 0"),
        ({"samples": ((1, -2),)}, "samples"),
        ({"owners": (0,)}, "owners"),
        ({"mirrors": (0, 2)}, "mirrors"),
        ({"threshold": 0}, "threshold"),
    ],
)
def test_question_that_does_not_fit_together_is_refused(change: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        plan_live(msgspec.structs.replace(asked(((1, 2),), (10, 10)), **change))
