"""Policies by name, the changes between two, and the same policy with fewer moves."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.errors import ConfigError
from causeway.placement import BrokerCapacity, Instance
from causeway.placement.policy import PlacementPolicy, changes, nearest, numbers_of, policy_of
from tests.unit.placement.paper import OPTIMUM, paper_instance, paper_model


def test_names_and_numbers_are_the_same_policy() -> None:
    instance = paper_instance()
    owner, mirror = np.array(OPTIMUM), np.array([0, 1, 1, 2, -1, 2])
    policy = policy_of(instance, owner, mirror)
    assert policy.owners["item3"] == "b3"
    assert "item5" not in policy.mirrors
    back = numbers_of(instance, policy)
    assert (back[0].tolist(), back[1].tolist()) == (owner.tolist(), mirror.tolist())


def test_brokers_that_are_gone_are_nobody_and_a_mirror_on_the_owner_is_none() -> None:
    policy = PlacementPolicy(owners={"item1": "gone", "item2": "b1"}, mirrors={"item2": "b1", "item1": "b2"})
    owner, mirror = numbers_of(paper_instance(), policy)
    assert owner.tolist() == [-1, 0, -1, -1, -1, -1]
    assert mirror.tolist() == [1, -1, -1, -1, -1, -1]
    with pytest.raises(ConfigError, match="this item has no rates"):
        numbers_of(paper_instance(), PlacementPolicy(owners={"other": "b1"}, mirrors={}))


def test_changes_name_item_source_target_and_what() -> None:
    now = PlacementPolicy(owners={"x": "a", "y": "a"}, mirrors={"x": "b", "y": "b"})
    wanted = PlacementPolicy(owners={"x": "a", "y": "b", "z": "a"}, mirrors={"x": "b", "y": "a"})
    told = [(one.item, one.what, one.source, one.target) for one in changes(now, wanted)]
    assert told == [("y", "owner", "a", "b"), ("z", "owner", "", "a"), ("y", "mirror", "b", "a")]
    assert changes(now, now) == []


def test_shares_of_brokers_that_are_alike_are_exchanged_to_move_less() -> None:
    brokers = [BrokerCapacity("p", 700.0), BrokerCapacity("q", 700.0), BrokerCapacity("r", 600.0)]
    instance = Instance(paper_model(), brokers)
    now = policy_of(instance, np.array([0, 0, 1, 1, 2, 2]), np.array([1, 1, 2, 2, 0, 0]))
    wanted = policy_of(instance, np.array([1, 1, 0, 0, 2, 2]), np.array([0, 0, 2, 2, 1, 1]))
    assert nearest(instance, now, wanted) == now
    fixed = policy_of(instance, np.array([2, 2, 1, 1, 0, 0]), np.array([1, 1, 2, 2, 1, 1]))
    assert nearest(instance, now, fixed) == fixed, "brokers of other capacities are not exchanged"
