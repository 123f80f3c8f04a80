"""Instances: what cannot be met by any placement is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.errors import ConfigError
from causeway.placement import BrokerCapacity, Instance, from_moments
from tests.unit.placement.paper import BROKERS, paper_model


@pytest.mark.parametrize("capacity", [0.0, -1.0, float("nan"), float("inf")])
def test_capacity_must_be_something(capacity: float) -> None:
    with pytest.raises(ConfigError, match="above 0") as caught:
        Instance(paper_model(), [*BROKERS, BrokerCapacity("b4", capacity)])
    assert caught.value.field == "brokers, b4, capacity"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 0.0}, "threshold=0.0: must be a probability"),
        ({"threshold": 1.5}, "threshold=1.5"),
        ({"threshold": float("nan")}, "threshold=nan"),
        ({"topics_max": 0}, "topics_max=0: must be 1 or more"),
        ({"topics_max": 1}, "topics_max=1: 3 brokers may have 3 topics then, and there are 6"),
    ],
)
def test_constraints_that_nothing_can_meet_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Instance(paper_model(), BROKERS, **options)
    assert said in str(caught.value)


def test_mirrors_need_a_second_broker() -> None:
    with pytest.raises(ConfigError, match="two brokers or more"):
        Instance(paper_model(), BROKERS[:1])
    assert Instance(paper_model(), BROKERS[:1], mirrors=False).broker_count == 1


def test_brokers_are_some_and_different() -> None:
    with pytest.raises(ConfigError, match="twice"):
        Instance(paper_model(), [*BROKERS, BROKERS[0]])
    with pytest.raises(ConfigError, match="brokers=0"):
        Instance(paper_model(), [], mirrors=False)


def test_item_that_is_larger_than_every_broker_is_named() -> None:
    model = from_moments([1.0] * 3, [[0.0] * 3] * 3, ["a", "b", "c"], {"x": ["a", "b"], "y": ["c"]})
    with pytest.raises(ConfigError, match="the item x alone has 2"):
        Instance(model, BROKERS, topics_max=1)
