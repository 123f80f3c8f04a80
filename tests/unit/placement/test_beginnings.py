"""Uneven beginnings: calm items apart from others, and what is too much on one broker."""

from __future__ import annotations

import numpy as np

from causeway.placement import BrokerCapacity, Instance, from_moments
from causeway.placement.beginnings import by_classes, given_up
from causeway.placement.search import construct, search
from tests.unit.placement.cases import large_instance

NOTHING = np.zeros(0, dtype=np.int64)


def test_what_is_too_much_goes_to_the_smallest_broker_and_disturbs_most() -> None:
    instance = large_instance(300, 10, 1.1)
    items = given_up(instance)
    loads = by_classes(instance, items)
    assert loads is not None
    smallest = int(instance.capacity.argmin())
    assert set(np.flatnonzero(loads.owner == smallest)) == set(items.tolist())
    assert loads.loss() < 0.8 * construct(instance).loss()
    varying = np.sqrt(np.diag(instance.model.covariance)) / instance.model.means
    assert varying[items].mean() > varying.mean()


def test_nothing_is_given_up_where_all_fits() -> None:
    assert not len(given_up(large_instance(300, 10, 0.5)))


def test_calm_items_are_kept_apart() -> None:
    deviation = np.where(np.arange(120) % 2 == 0, 1.0, 8.0)
    model = from_moments([10.0] * 120, np.diag(deviation**2), [f"t{number}" for number in range(120)])
    instance = Instance(model, [BrokerCapacity(f"b{number}", 220.0) for number in range(6)])
    loads = by_classes(instance, NOTHING)
    assert loads is not None
    assert (loads.owner >= 0).all()
    calm = np.bincount(loads.owner[::2], minlength=6)
    assert sum(1 for count in calm.tolist() if count == 0) == 2, "a class of its own for what varies"


def test_topics_are_kept_within_their_bound_or_there_is_no_such_beginning() -> None:
    model = large_instance(60, 6, 1.2).model
    brokers = [BrokerCapacity(f"b{number}", model.total / 7) for number in range(6)]
    tight = Instance(model, brokers, topics_max=10)
    for items in (NOTHING, given_up(tight)):
        loads = by_classes(tight, items)
        assert loads is None or int(loads.topics.max()) <= 10
    assert int(search(tight, 1).topics.max()) <= 10


def test_search_near_capacity_is_better_for_it() -> None:
    instance = large_instance(400, 10, 0.9)
    assert search(instance, 1).loss() < 0.1165 * instance.model.total, "even beginnings ended at 0.1173"
