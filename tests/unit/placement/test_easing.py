"""Owners with the next failure in mind: less risk after it, hardly less utility before."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.placement import place
from causeway.placement.easing import LOST_MOST, ease_failures
from causeway.placement.loads import Loads
from causeway.placement.mirrors import risks_after
from tests.unit.placement.cases import large_instance


@pytest.mark.parametrize("seed", [10, 12])
def test_worst_failure_costs_half_as_much_and_little_is_lost(seed: int) -> None:
    instance = large_instance(64, 8, 0.65, threshold=0.05, seed=seed)
    found = place(instance, seed=1)
    assert found.feasible
    owner, mirror = ease_failures(instance, found.owner, found.mirror, 1)
    before, after = (risks_after(instance, *pair).max() for pair in ((found.owner, found.mirror), (owner, mirror)))
    assert after < 0.6 * before
    loads = Loads(instance, owner)
    assert loads.utility() >= found.utility - LOST_MOST * instance.model.total
    assert (loads.risks() < 0.05).all()
    assert (mirror != owner).all()
    assert (mirror >= 0).all()


def test_topics_stay_within_their_bound_and_without_mirrors_nothing_changes() -> None:
    instance = large_instance(64, 8, 0.65, seed=12)
    instance.topics_max = 8
    found = place(instance, seed=1)
    owner, _mirror = ease_failures(instance, found.owner, found.mirror, 1)
    assert np.bincount(owner, minlength=8).max() <= 8
    alone = large_instance(64, 8, 0.65, mirrors=False, seed=12)
    same = place(alone, seed=1)
    assert ease_failures(alone, same.owner, same.mirror, 1) == (same.owner, same.mirror)
