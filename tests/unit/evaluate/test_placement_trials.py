"""Random instances: what differs from one to another, and what is compared."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.evaluate.placement_trials import BY_ITEM, NONE, WHOLE, TrialCase, draw, measure, whole_broker_mirrors
from causeway.placement.comparisons import round_robin


def test_instances_of_one_seed_differ_in_the_correlation_alone() -> None:
    none, much = draw(TrialCase(0.0, 0.7, 3)), draw(TrialCase(0.9, 0.7, 3))
    assert (none.model.means == much.model.means).all()
    assert none.capacity == pytest.approx(much.capacity)
    assert np.diag(none.model.covariance) == pytest.approx(np.diag(much.model.covariance))
    assert np.count_nonzero(none.model.covariance) == 36
    assert np.count_nonzero(much.model.covariance) == 6 * 36


def test_use_is_what_means_take_of_all_capacities() -> None:
    instance = draw(TrialCase(0.5, 0.6, 1))
    assert instance.model.total / instance.capacity.sum() == pytest.approx(0.6)


def test_whole_broker_has_one_mirror_and_it_is_another() -> None:
    instance = draw(TrialCase(0.5, 0.6, 1))
    owner = round_robin(instance)
    mirror = whole_broker_mirrors(instance, owner)
    for broker in range(instance.broker_count):
        heirs = np.unique(mirror[owner == broker])
        assert len(heirs) == 1
        assert heirs[0] != broker


def test_failures_are_counted_for_every_way_to_mirror() -> None:
    found = measure(TrialCase(0.5, 0.5, 2, fails=True)).failures
    assert [(one.mirrors, one.failures) for one in found[:4]] == [
        (BY_ITEM, 0),
        (BY_ITEM, 1),
        (BY_ITEM, 2),
        ("by item, owners eased", 0),
    ]
    by_item, whole = ({one.failures: one for one in found if one.mirrors == way} for way in (BY_ITEM, WHOLE))
    assert by_item[0].loss == whole[0].loss
    assert by_item[0].loss < by_item[1].loss < by_item[2].loss
    assert by_item[1].loss < whole[1].loss


def test_without_mirrors_all_is_lost_that_broken_brokers_had() -> None:
    none = {one.failures: one for one in measure(TrialCase(0.5, 0.5, 2, fails=True)).failures if one.mirrors == NONE}
    assert none[0].loss < 0.001
    # Every broker is broken in as many of the sets: one or two of six, and what the others lose anyway.
    assert none[1].loss == pytest.approx(1 / 6, abs=0.001)
    assert none[2].loss == pytest.approx(2 / 6, abs=0.001)
    assert none[1].largest_risk == none[2].worst_risk == 1
