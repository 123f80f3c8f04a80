"""Steps: what they are said to gain is what they gain."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.placement.loads import Loads
from causeway.placement.steps import Moves, Price, Search, Swaps
from tests.unit.placement.cases import large_instance


def test_moves_and_swaps_tell_the_loads_that_follow() -> None:
    instance = large_instance(24, 4, 0.9)
    loads = Loads(instance, np.arange(24) % 4)
    items, others = np.flatnonzero(loads.owner == 1), np.flatnonzero(loads.owner != 1)
    moves, swaps = Moves(loads, 1, items), Swaps(loads, 1, items, others)
    for row, item in enumerate(items.tolist()):
        after = loads.copy()
        after.move(item, 3)
        assert (moves.here_mean[row], moves.here_variance[row]) == pytest.approx((after.mean[1], after.variance[1]))
        assert (moves.there_mean[row, 3], moves.there_variance[row, 3]) == pytest.approx(
            (after.mean[3], after.variance[3])
        )
        for column, other in enumerate(others.tolist()):
            after, target = loads.copy(), int(loads.owner[other])
            after.move(item, target)
            after.move(other, 1)
            fresh = Loads(instance, after.owner)
            told = (swaps.here_mean, swaps.here_variance, swaps.there_mean, swaps.there_variance)
            real = (fresh.mean[1], fresh.variance[1], fresh.mean[target], fresh.variance[target])
            assert [each[row, column] for each in told] == pytest.approx(real)


def test_improving_lowers_the_cost_and_keeps_what_is_not_free() -> None:
    instance = large_instance(60, 4, 0.8)
    loads = Loads(instance, np.zeros(60, dtype=np.int64))
    free = np.arange(60) % 3 > 0
    targets = np.array([True, True, True, False])
    search = Search(loads, Price(instance), free=free, targets=targets)
    before = search.cost()
    search.improve(500)
    assert search.cost() < before / 2
    assert (search.loads.owner[~free] == 0).all()
    assert (search.loads.owner < 3).all()


def test_levelling_helps_the_broker_most_at_risk() -> None:
    instance = large_instance(60, 4, 0.8)
    search = Search(Loads(instance, np.arange(60) % 4), Price(instance))
    before = search.least_margin()
    search.level(200, enough=1e-3 + before)
    some = search.least_margin()
    search.level(200)
    assert before < some < search.least_margin()


def test_a_move_that_gains_less_than_it_costs_is_not_made() -> None:
    instance = large_instance(60, 4, 0.95)
    home = np.arange(60) % 4
    moved = []
    for cost in (0.0, 1.0, 10.0, 1e6):
        search = Search(Loads(instance, home), Price(instance))
        search.stay_near(home, cost)
        search.improve(500)
        moved.append(int((search.loads.owner != home).sum()))
        assert search.loads.loss() + cost * moved[-1] <= Loads(instance, home).loss() + 1e-6
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > moved[2] >= moved[3] == 0


def test_a_broker_above_the_threshold_costs_more_than_all_utility() -> None:
    instance = large_instance(10, 2, 0.9)
    price = Price(instance, 0.01)
    mean, capacity = np.array([90.0, 99.0]), np.array([100.0, 100.0])
    below, above = price.of(mean, np.array([4.0, 4.0]), capacity)
    assert below < 1
    assert above > instance.model.total
