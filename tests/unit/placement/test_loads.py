"""Loads stay what they would be if computed anew, whatever moves."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.placement.loads import Loads
from tests.unit.placement.cases import large_instance


def test_moves_keep_means_variances_and_topics_up_to_date() -> None:
    instance = large_instance(60, 5, 0.8)
    rng = np.random.default_rng(3)
    loads = Loads(instance, rng.integers(0, 5, 60))
    before = loads.copy()
    for _ in range(200):
        loads.move(int(rng.integers(60)), int(rng.integers(5)))
    loads.take(7)
    fresh = Loads(instance, loads.owner)
    assert loads.mean == pytest.approx(fresh.mean)
    assert loads.variance == pytest.approx(fresh.variance)
    assert loads.cross == pytest.approx(fresh.cross)
    assert loads.topics.tolist() == fresh.topics.tolist()
    assert before.mean == pytest.approx(Loads(instance, before.owner).mean), "a copy is its own"


def test_one_more_item_is_what_it_says() -> None:
    instance = large_instance(30, 3, 0.8)
    loads = Loads(instance, np.array([0, 1, 2] * 10))
    loads.take(4)
    mean, variance = loads.with_item(4)
    loads.put(4, 2)
    assert (loads.mean[2], loads.variance[2]) == pytest.approx((mean[2], variance[2]))
    chosen = (loads.owner == 2).astype(float)
    assert loads.variance[2] == pytest.approx(chosen @ instance.model.covariance @ chosen)
    assert loads.utility() == pytest.approx(instance.model.total - loads.loss())
