"""Re-planning moves what is worth it; at low load brokers are spared."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.errors import ConfigError
from causeway.placement import BrokerCapacity, Instance, from_moments, place
from causeway.placement.loads import Loads
from causeway.placement.policy import PlacementPolicy, changes, numbers_of, policy_of
from causeway.placement.replan import fewest_brokers, replan
from tests.unit.placement.cases import large_instance
from tests.unit.placement.paper import paper_instance


def solved(instance: Instance) -> PlacementPolicy:
    found = place(instance, seed=1)
    return policy_of(instance, found.owner, found.mirror)


def test_good_placement_is_kept() -> None:
    instance = large_instance(200, 8, 0.7)
    present = solved(instance)
    assert changes(present, replan(instance, present)) == []


def test_changed_load_moves_few_items_and_the_dearer_a_move_the_fewer() -> None:
    old = large_instance(200, 8, 0.7)
    present = solved(old)
    means = old.model.means * np.where(np.arange(200) % 8 == 0, 2.0, 1.0)
    new = Instance(from_moments(means, old.model.covariance, old.model.items), old.brokers, threshold=0.2)
    assert Loads(new, numbers_of(new, present)[0]).risks().max() > 0.2
    counts = []
    for cost in (0.1, 5.0, 50.0):
        wanted = replan(new, present, move_cost=cost)
        counts.append(sum(1 for change in changes(present, wanted) if change.what == "owner"))
        assert Loads(new, numbers_of(new, wanted)[0]).risks().max() < 0.2, "the threshold outweighs every cost"
    assert counts == sorted(counts, reverse=True)
    assert 0 < counts[-1] < counts[0] < 100


def test_items_of_a_broker_that_is_gone_are_placed_and_others_stay() -> None:
    instance = large_instance(100, 5, 0.5)
    present = solved(instance)
    fewer = Instance(instance.model, instance.brokers[:4], threshold=None)
    wanted = replan(fewer, present, move_cost=1e9)
    for item, broker in present.owners.items():
        assert wanted.owners[item] == broker or broker == "b4"
    assert all(wanted.owners[item] != mirror for item, mirror in wanted.mirrors.items())
    with pytest.raises(ConfigError, match="move_cost"):
        replan(fewer, present, move_cost=-1.0)


@pytest.mark.parametrize(("used", "needed"), [(0.1, 2), (0.5, 3), (0.7, 4)])
def test_fewest_brokers_that_keep_the_threshold(used: float, needed: int) -> None:
    model = from_moments([10.0] * 40, np.eye(40), [f"t{number}" for number in range(40)])
    capacity = 400.0 / used / 5
    instance = Instance(model, [BrokerCapacity(f"b{number}", capacity) for number in range(5)], threshold=0.01)
    present = solved(instance)
    found = fewest_brokers(instance, present)
    assert 5 - len(found.off) == needed
    assert found.proven
    assert found.largest_risk < 0.01
    assert not set(found.off) & {*found.policy.owners.values(), *found.policy.mirrors.values()}
    for item, broker in present.owners.items():
        assert broker in found.off or found.policy.owners[item] == broker, "who stays on keeps what it has"


def test_bound_of_topics_keeps_brokers_on() -> None:
    model = from_moments([1.0] * 12, np.eye(12), [f"t{number}" for number in range(12)])
    brokers = [BrokerCapacity(f"b{number}", 1000.0) for number in range(4)]
    instance = Instance(model, brokers, threshold=0.01, topics_max=4)
    assert len(fewest_brokers(instance, solved(instance)).off) == 1


def test_without_a_threshold_nobody_can_tell() -> None:
    with pytest.raises(ConfigError, match="threshold"):
        fewest_brokers(paper_instance(), solved(paper_instance()))
