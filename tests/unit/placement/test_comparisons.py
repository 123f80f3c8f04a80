"""What others do: by reserve ratio in turn, and by mean load."""

from __future__ import annotations

import numpy as np

from causeway.placement import BrokerCapacity, Instance, from_moments
from causeway.placement.comparisons import by_mean_load, round_robin
from causeway.placement.loads import Loads
from tests.unit.placement.paper import BROKERS, paper_instance, paper_model


def test_round_robin_gives_each_item_to_the_greatest_reserve_ratio() -> None:
    """b1 has 550/700 left after item 1, b2 450/750 after item 2, b3 250/600 after item 3; and so on."""
    assert round_robin(paper_instance()).tolist() == [0, 1, 2, 0, 1, 0]


def test_mean_load_gives_the_heaviest_item_first_to_whom_it_fills_least() -> None:
    owner = by_mean_load(paper_instance())
    loads = Loads(paper_instance(), owner)
    assert owner[2] == 1, "the heaviest item goes to the largest broker"
    assert (loads.mean / loads.capacity).max() < 0.7


def test_both_keep_the_bound_of_topics() -> None:
    instance = Instance(paper_model(), [*BROKERS[:2], BrokerCapacity("b3", 1e6)], topics_max=2)
    for owner in (round_robin(instance), by_mean_load(instance)):
        assert np.bincount(owner).tolist() == [2, 2, 2]


def test_a_bound_that_cannot_be_kept_does_not_stop_them() -> None:
    model = from_moments([1.0] * 4, np.zeros((4, 4)), list("abcd"), {"x": ["a", "b", "c"], "y": ["d"]})
    instance = Instance(model, [BrokerCapacity("p", 9.0)], topics_max=4, mirrors=False)
    assert round_robin(instance).tolist() == [0, 0]
