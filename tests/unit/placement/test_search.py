"""The search: near the best where all can be tried, the same every time, quick enough for thousands."""

from __future__ import annotations

import time

import numpy as np
import pytest

from causeway.errors import ConfigError
from causeway.placement import BrokerCapacity, Instance, from_moments
from causeway.placement.search import construct, least_risky, search
from tests.unit.placement.cases import every_placement, large_instance, small_instance


@pytest.mark.parametrize("seed", range(200, 215))
def test_search_is_near_the_best_of_small_ones(seed: int) -> None:
    instance = small_instance(seed)
    tried = every_placement(instance)
    limit = instance.threshold if instance.threshold is not None else np.inf
    losses = [loss for loss, risk, _owner in tried if risk < limit]
    loads = search(instance, seed)
    assert instance.topics_max is None or loads.topics.max() <= instance.topics_max
    if losses and (loads.risks() < limit).all():
        assert loads.utility() >= 0.97 * (instance.model.total - min(losses))
    risk = float(least_risky(instance, seed).risks().max())
    assert risk <= 2 * min(risk for _loss, risk, _owner in tried) + 0.05


def test_same_seed_gives_the_same_placement() -> None:
    instance = large_instance(150, 6, 0.85)
    first, second = search(instance, 5), search(instance, 5)
    assert first.owner.tolist() == second.owner.tolist()
    assert first.utility() > construct(instance).utility()


def test_topics_that_do_not_fit_together_are_named() -> None:
    names = list("abcdefghi")
    model = from_moments([1.0] * 9, np.zeros((9, 9)), names, {"x": names[:3], "y": names[3:6], "z": names[6:]})
    brokers = [BrokerCapacity("p", 9.0), BrokerCapacity("q", 9.0)]
    with pytest.raises(ConfigError, match="topics_max=5"):
        construct(Instance(model, brokers, topics_max=5))


def test_two_thousand_items_on_fifty_brokers_are_placed_in_seconds() -> None:
    instance = large_instance(2_000, 50, 0.7, threshold=0.01)
    began = time.process_time()
    loads = search(instance, 1)
    assert time.process_time() - began < 20
    assert (loads.risks() < 0.01).all()
    assert loads.utility() > 0.99 * instance.model.total
