"""Instances that tests of placement draw: small ones to try every placement of, large ones to measure."""

from __future__ import annotations

import itertools

import numpy as np

from causeway.placement import BrokerCapacity, Instance, LoadModel, from_moments
from causeway.placement.loads import Loads


def small_instance(seed: int, *, items_max: int = 8, brokers_max: int = 3, mirrors: bool = False) -> Instance:
    """A few items with any correlations, on brokers between idle and hopeless, with or without constraints."""
    rng = np.random.default_rng(seed)
    items, brokers = int(rng.integers(1, items_max + 1)), int(rng.integers(2 if mirrors else 1, brokers_max + 1))
    factors = rng.normal(size=(items, items))
    means = rng.uniform(0, 300, items)
    capacity = rng.choice([0.8, 1.0, 1.3], brokers) * means.sum() / brokers * rng.uniform(0.6, 1.6) + 1.0
    model = from_moments(means, factors @ factors.T * rng.uniform(1, 900), [f"t{number}" for number in range(items)])
    return Instance(
        model,
        [BrokerCapacity(f"b{number}", float(each)) for number, each in enumerate(capacity)],
        threshold=[None, 0.3, 0.05][int(rng.integers(3))],
        topics_max=[None, int(rng.integers(-(-items // brokers), items + 1))][int(rng.integers(2))],
        mirrors=mirrors,
    )


def every_placement(instance: Instance) -> list[tuple[float, float, tuple[int, ...]]]:
    """Loss, largest risk and owners of every placement that keeps the bound of topics."""
    found = []
    for owner in itertools.product(range(instance.broker_count), repeat=instance.item_count):
        loads = Loads(instance, np.array(owner))
        if instance.topics_max is None or loads.topics.max() <= instance.topics_max:
            found.append((loads.loss(), float(loads.risks().max()), owner))
    return found


def grouped_model(seed: int, items: int, groups: int) -> LoadModel:
    """Items of very different sizes that rise in groups, and a little all together."""
    rng = np.random.default_rng(seed)
    means = rng.lognormal(3.0, 1.0, items)
    deviation = means * rng.uniform(0.1, 0.6, items)
    factors = np.zeros((items, groups + 1))
    factors[np.arange(items), rng.integers(0, groups, items)] = deviation * rng.uniform(0.3, 0.8, items)
    factors[:, groups] = deviation * 0.2
    covariance = factors @ factors.T + np.diag(deviation**2 * 0.3)
    return from_moments(means, covariance, [f"t{number}" for number in range(items)], repair=False)


def large_instance(
    items: int, brokers: int, used: float, *, threshold: float | None = None, mirrors: bool = True, seed: int = 1
) -> Instance:
    """Brokers of three sizes of which the means use this part."""
    model = grouped_model(seed, items, 40)
    capacity = np.random.default_rng(seed).choice([1.0, 1.5, 2.0], brokers)
    capacity *= model.total / used / capacity.sum()
    named = [BrokerCapacity(f"b{number}", float(each)) for number, each in enumerate(capacity)]
    return Instance(model, named, threshold=threshold, mirrors=mirrors)
