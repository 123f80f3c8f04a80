"""A whole plan: what it says adds up, and the present placement is left only for something better."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.placement import BrokerCapacity, Instance, from_samples
from causeway.placement.loads import Loads
from causeway.placement.plan import plan_placement
from causeway.placement.policy import policy_of
from tests.unit.placement.paper import OPTIMUM, SOLUTION_1, SOLUTION_2, paper_instance


def test_plan_of_the_paper_says_what_its_loads_say() -> None:
    instance = paper_instance()
    found = plan_placement(instance)
    loads = Loads(instance, np.array(OPTIMUM))
    assert [item.owner for item in found.items] == [instance.names[broker] for broker in OPTIMUM]
    assert [broker.risk for broker in found.brokers] == pytest.approx(loads.risks())
    assert sum(broker.rate for broker in found.brokers) == pytest.approx(1230)
    assert (found.proven, found.feasible, found.gap) == (True, True, 0.0)
    assert set(found.brokers[0].after) == {"b2", "b3"}
    assert {other.name for other in found.alternatives} == {"round robin", "mean load"}
    assert all(other.utility < found.utility for other in found.alternatives)
    assert found.repair.repaired
    assert found.changes == []


def test_present_placement_is_changed_only_where_that_pays() -> None:
    instance = paper_instance()
    mirror = np.array([2, 2, 0, 0, 0, 2])
    present = policy_of(instance, np.array(SOLUTION_2), mirror)
    found = plan_placement(instance, present=present)
    assert found.utility > found.alternatives[0].utility
    assert 0 < sum(1 for change in found.changes if change.what == "owner") <= 4
    kept = plan_placement(instance, present=present, move_cost=1e6)
    assert [change for change in kept.changes if change.what == "owner"] == []
    assert kept.gap > 0
    assert not kept.proven


def test_infeasible_threshold_gives_the_least_risky_placement_whatever_is_present() -> None:
    instance = paper_instance(threshold=0.007)
    present = policy_of(instance, np.array(SOLUTION_2), np.array([2, 2, 0, 0, 0, 0]))
    for found in (plan_placement(instance), plan_placement(instance, present=present)):
        assert (found.feasible, found.hopeless, found.proven) == (False, True, True)
        assert [item.owner for item in found.items] == [instance.names[broker] for broker in SOLUTION_1]
        assert found.largest_risk == pytest.approx(0.017982, abs=1e-6)


def test_samples_give_a_second_opinion() -> None:
    samples = np.random.default_rng(1).normal(100.0, 10.0, (500, 4))
    model = from_samples(samples, list("abcd"))
    found = plan_placement(Instance(model, [BrokerCapacity("p", 205.0), BrokerCapacity("q", 260.0)], mirrors=False))
    for broker in found.brokers:
        assert broker.sampled is not None
        assert broker.sampled.low <= broker.risk <= broker.sampled.high
        assert broker.after == {}
