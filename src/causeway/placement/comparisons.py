"""What others do, to compare with: round robin by reserve ratio, as in the paper, and placement by mean load.

Neither looks at variances. Both keep the bound of topics as long as some broker has room. Must not know: risk.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from causeway.core.placing import NOBODY
from causeway.placement.arrays import Floats, Ints
from causeway.placement.instance import Instance

BY_RISK, ROUND_ROBIN, MEAN_LOAD = "by risk", "round robin", "mean load"
PLACEMENTS: Final = (BY_RISK, ROUND_ROBIN, MEAN_LOAD)
"""What the placements are called that are compared, ours first."""


def round_robin(instance: Instance) -> Ints:
    """Each item in turn to the broker with the greatest reserve ratio (C - V)/C, V being the mean it has so far."""
    return _one_by_one(instance, np.arange(instance.item_count), after=False)


def by_mean_load(instance: Instance) -> Ints:
    """The heaviest item first, each to the broker whose mean is then the smallest part of its capacity."""
    return _one_by_one(instance, np.argsort(-instance.model.means, kind="stable"), after=True)


def _one_by_one(instance: Instance, order: Ints, *, after: bool) -> Ints:
    model, capacity = instance.model, instance.capacity
    mean: Floats = np.zeros(instance.broker_count)
    topics: Ints = np.zeros(instance.broker_count, dtype=np.int64)
    owner: Ints = np.full(instance.item_count, NOBODY, dtype=np.int64)
    for item in order.tolist():
        reserve = (capacity - mean - (model.means[item] if after else 0.0)) / capacity
        if instance.topics_max is not None:
            full = topics + model.sizes[item] > instance.topics_max
            reserve = np.where(full & ~full.all(), -np.inf, reserve)
        broker = int(reserve.argmax())
        owner[item] = broker
        mean[broker] += model.means[item]
        topics[broker] += model.sizes[item]
    return owner
