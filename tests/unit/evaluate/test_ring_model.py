"""The ring as arrays: routing that ends where it should, and tables that brute force confirms."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.evaluate.ring_model import ModelCase, RingModel, measure, upkeep_of


def test_entries_are_counted_as_brute_force_counts_them() -> None:
    model = RingModel(500, seed=1)
    places = [int(at) for at in model.places]
    prefixes = []
    for mine in places:
        slots = set()
        for other in places:
            if other != mine:
                row = (64 - (mine ^ other).bit_length()) // 4
                slots.add((row, other >> (60 - 4 * row) & 15))
        prefixes.append(len(slots))
    sums = model._count(np.arange(500))
    assert sums[0] == sum(prefixes)


def test_every_lookup_arrives_and_few_hops_are_enough() -> None:
    model = RingModel(5_000, seed=2)
    chance = np.random.default_rng(1)
    hops = model.route(chance.integers(0, 5_000, 2_000), chance.integers(0, 1 << 64, 2_000, dtype=np.uint64))
    assert hops.sum() == 2_000
    assert hops[:8].sum() == 2_000


def test_same_seed_gives_the_same_ring_and_another_one_nearly_the_same_means() -> None:
    first, again, other = (measure(ModelCase(2_000, 5_000, 1_000, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert other.hops_mean == pytest.approx(first.hops_mean, rel=0.02)
    assert other.table == pytest.approx(first.table, rel=0.02)


def test_signs_of_life_grow_as_the_heartbeat_shrinks_and_rounds_do_not() -> None:
    ring = measure(ModelCase(1_000, 100, 1_000))
    calm, usual = upkeep_of(ring, 10, 60), upkeep_of(ring, 0.25, 1.5)
    assert usual.signs > 20 * calm.signs
    assert usual.ring == pytest.approx(calm.ring, rel=0.01)
    assert upkeep_of(ring, 10, 60, age=10).signs > calm.signs
