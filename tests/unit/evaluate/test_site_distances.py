"""Distances between sites: the paper's matrix, without the matrix."""

from __future__ import annotations

import statistics

import pytest

from causeway.evaluate.site_distances import LEAST, SiteDistances
from causeway.types import MILLISECOND

MOST = 15 * MILLISECOND


@pytest.mark.parametrize("directed", [False, True], ids=["same both ways", "each way"])
def test_rows_are_what_pairs_are(directed: bool) -> None:
    distances = SiteDistances(3, MOST, directed)
    row = distances.row(7, 40)
    assert [int(found) for found in row] == [distances.between(7, other) for other in range(40)]
    assert row[7] == 0


def test_both_ways_are_the_same_unless_they_are_drawn_apart() -> None:
    pairs = [(a, b) for a in range(20) for b in range(a)]
    assert all(SiteDistances(1, MOST).between(a, b) == SiteDistances(1, MOST).between(b, a) for a, b in pairs)
    apart = SiteDistances(1, MOST, directed=True)
    assert sum(apart.between(a, b) == apart.between(b, a) for a, b in pairs) < 3


def test_distances_are_spread_evenly_and_know_no_triangles() -> None:
    distances = SiteDistances(0, MOST)
    found = [int(way) for site in range(60) for way in distances.row(site, 60) if way]
    assert LEAST <= min(found) < 1.1 * LEAST
    assert 0.99 * MOST < max(found) <= MOST
    assert statistics.fmean(found) == pytest.approx((LEAST + MOST) / 2, rel=0.02)
    around = [distances.between(0, b) + distances.between(b, 1) for b in range(2, 60)]
    assert any(detour < distances.between(0, 1) for detour in around)


def test_sites_farther_apart_keep_their_order() -> None:
    near, far = (SiteDistances(5, most).row(0, 100) for most in (MOST, 4 * MOST))
    assert list(near.argsort()) == list(far.argsort())


def test_another_seed_is_another_map() -> None:
    assert SiteDistances(0, MOST).between(1, 2) != SiteDistances(1, MOST).between(1, 2)
