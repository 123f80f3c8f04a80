"""Mirrors: on another broker, and the best ones for what they would inherit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from causeway.placement.loads import Loads
from causeway.placement.mirrors import choose_mirrors, risks_after
from causeway.placement.search import search
from tests.unit.placement.cases import large_instance, small_instance
from tests.unit.placement.paper import OPTIMUM, paper_instance


def test_mirrors_of_the_papers_optimum_are_the_best_for_every_failure() -> None:
    instance = paper_instance()
    owner = np.array(OPTIMUM)
    mirror = choose_mirrors(instance, owner)
    assert (mirror != owner).all()
    for failed in range(3):
        items = np.flatnonzero(owner == failed)
        others = [broker for broker in range(3) if broker != failed]
        losses = {}
        for ways in itertools.product(others, repeat=len(items)):
            taken = owner.copy()
            taken[items] = ways
            losses[ways] = Loads(instance, taken).loss()
        assert losses[tuple(mirror[items].tolist())] == pytest.approx(min(losses.values()))


def test_risks_after_a_failure_are_those_of_the_loads_then() -> None:
    instance = paper_instance()
    owner = np.array(OPTIMUM)
    mirror = choose_mirrors(instance, owner)
    risks = risks_after(instance, owner, mirror)
    taken = np.where(owner == 1, mirror, owner)
    assert risks[1] == pytest.approx(Loads(instance, taken).risks())
    assert risks[1, 1] == 0


@pytest.mark.parametrize("seed", range(300, 306))
def test_every_item_has_a_mirror_elsewhere(seed: int) -> None:
    instance = small_instance(seed, mirrors=True)
    owner = np.arange(instance.item_count) % instance.broker_count
    mirror = choose_mirrors(instance, owner)
    assert (mirror != owner).all()
    assert (mirror >= 0).all()


def test_many_items_are_inherited_by_many_brokers_and_present_mirrors_stay() -> None:
    instance = large_instance(200, 10, 0.6)
    owner = search(instance, 1).owner
    mirror = choose_mirrors(instance, owner)
    assert len(np.unique(mirror[owner == 3])) >= 5
    assert (choose_mirrors(instance, owner, present=mirror, move_cost=1.0) == mirror).all()
    lost = np.where(mirror == 4, -1, mirror)
    again = choose_mirrors(instance, owner, present=lost, move_cost=1e9)
    assert (again[mirror != 4] == mirror[mirror != 4]).all()
    assert (again != owner).all()
