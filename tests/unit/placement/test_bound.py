"""The bound: never below what a placement has, and close where that can be told."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.placement import BrokerCapacity, Instance, from_moments
from causeway.placement.bound import bound_of, noise_of
from causeway.placement.loads import Loads
from tests.unit.placement.cases import every_placement, large_instance, small_instance
from tests.unit.placement.paper import paper_instance


@pytest.mark.parametrize("seed", range(100, 125))
def test_no_placement_is_better_than_the_bound(seed: int) -> None:
    instance = small_instance(seed, items_max=6)
    bound = bound_of(instance)
    limit = instance.threshold if instance.threshold is not None else np.inf
    for loss, risk, _owner in every_placement(instance):
        assert risk >= bound.risk - 1e-12
        if risk < limit:
            assert bound.feasible
            assert instance.model.total - loss <= bound.utility + 1e-9 * instance.model.total


def test_bound_holds_for_a_matrix_that_is_no_covariance() -> None:
    assert 1216.707 <= bound_of(paper_instance(repair=False)).utility <= 1230


def test_one_broker_has_only_one_placement_and_the_bound_knows_it() -> None:
    model = large_instance(100, 2, 1.0).model
    instance = Instance(model, [BrokerCapacity("b", 1.15 * model.total)], mirrors=False)
    bound, risk = bound_of(instance), float(Loads(instance, np.zeros(100, dtype=np.int64)).risks()[0])
    assert 0.01 < risk < 0.1
    assert 0 < bound.risk <= risk
    assert 0.8 * risk * model.total <= model.total - bound.utility <= risk * model.total


def test_more_than_all_brokers_can_take_is_proven_to_be_too_much() -> None:
    model = from_moments([400.0] * 6, np.eye(6) * 100, list("abcdef"))
    brokers = [BrokerCapacity("x", 1000.0), BrokerCapacity("y", 1100.0)]
    bound = bound_of(Instance(model, brokers, threshold=0.01))
    assert not bound.feasible
    assert bound.risk > 0.99
    assert bound_of(Instance(model, brokers)).utility < 1800


@pytest.mark.parametrize(("used", "least"), [(0.85, 0.012), (0.9, 0.065), (1.0, 0.165)])
def test_near_capacity_the_bound_knows_that_much_must_be_lost(used: float, least: float) -> None:
    """400 items on 10 brokers, where the loss that is found is up to three times that."""
    instance = large_instance(400, 10, used)
    assert bound_of(instance).utility < (1 - least) * instance.model.total


def test_own_noise_is_found_and_leaves_a_covariance() -> None:
    """Two factors and each item's own noise: what the bound takes for noise is nearly that, and never too much."""
    rng = np.random.default_rng(3)
    factors, own = rng.uniform(0.0, 2.0, (60, 2)), rng.uniform(0.5, 3.0, 60)
    covariance = factors @ factors.T + np.diag(own)
    noise = noise_of(from_moments([5.0] * 60, covariance, [f"t{number}" for number in range(60)]))
    assert np.linalg.eigvalsh(covariance - np.diag(noise))[0] > 0
    assert 0.8 * own.sum() < noise.sum() < 1.1 * own.sum()
    singular = from_moments([5.0] * 60, factors @ factors.T, [f"t{number}" for number in range(60)])
    assert not noise_of(singular).any()


def test_nothing_to_carry_has_no_loss() -> None:
    model = from_moments([0.0, 0.0], np.zeros((2, 2)), ["a", "b"])
    assert bound_of(Instance(model, [BrokerCapacity("x", 1.0)], mirrors=False)).utility == 0.0
