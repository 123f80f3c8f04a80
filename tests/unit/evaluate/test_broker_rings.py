"""Rings and links: ways end where they should, and prefer what is near."""

from __future__ import annotations

import random
import statistics
from itertools import pairwise

import pytest

from causeway.evaluate.broker_rings import ALL, CheapestLinks, FilledRing, JoinedRing, Places, join
from causeway.evaluate.site_distances import SiteDistances
from causeway.types import MILLISECOND, Key

DISTANCES = SiteDistances(0, 15 * MILLISECOND)


def way_ms(ring: FilledRing | JoinedRing, count: int = 300) -> tuple[float, float]:
    """Hops, and how far a message travels between brokers; every way is checked to end at the closest broker."""
    rng = random.Random(1)
    hops, travelled = [], []
    for _ in range(count):
        source, target = ring.places.client(rng), ring.places.client(rng)
        path = ring.route(source.home, target.key)
        assert path[-1] == target.home == ring.places.closest(target.key, 1)[0]
        hops.append(len(path) - 1)
        travelled.append(sum(DISTANCES.between(a, b) for a, b in pairwise(path)))
    return statistics.fmean(hops), statistics.fmean(travelled) / MILLISECOND


def test_applications_are_spread_evenly_over_brokers_that_are_closest_to_them() -> None:
    places, rng = Places(8), random.Random(0)
    clients = [places.client(rng) for _ in range(800)]
    assert all(places.closest(client.key, 1) == [client.home] for client in clients)
    assert min(sum(client.home == home for client in clients) for home in range(8)) > 70


def test_closest_is_what_brute_force_says() -> None:
    places, rng = Places(50), random.Random(0)
    for _ in range(50):
        key = Key(rng.randbytes(16))
        at = int.from_bytes(key, "big")
        gaps = [abs(int.from_bytes(broker, "big") - at) for broker in places.ids]
        ranked = sorted(range(50), key=lambda number: min(gaps[number], (1 << 128) - gaps[number]))
        assert places.closest(key, 3) == ranked[:3]


def test_joined_brokers_and_filled_tables_route_alike() -> None:
    joined, filled = JoinedRing(join(48, DISTANCES, 0)), FilledRing(48, DISTANCES, 0)
    (hops, ms), (filled_hops, filled_ms) = way_ms(joined), way_ms(filled)
    assert filled_hops == pytest.approx(hops, rel=0.03)
    assert filled_ms == pytest.approx(ms, rel=0.2)
    key = Places(48).client(random.Random(3)).key
    assert joined.copies(key, 3) == filled.copies(key, 3) == joined.places.closest(key, 3)


def test_tables_that_have_seen_more_lead_over_nearer_brokers() -> None:
    ways = [way_ms(FilledRing(300, DISTANCES, 0, seen)) for seen in (1, 4, ALL)]
    assert ways[0][1] > 1.2 * ways[1][1] > 1.2 * ways[2][1]
    assert max(hops for hops, _ in ways) - min(hops for hops, _ in ways) < 0.1


def test_cheapest_way_is_no_dearer_than_any_other_over_the_same_links() -> None:
    links = CheapestLinks(40, DISTANCES)

    def price(path: list[int]) -> int:
        return sum(DISTANCES.between(a, b) for a, b in pairwise(path))

    reachable = [(a, b) for a in range(40) for b in range(40) if a != b and links.route(a, b)]
    assert len(reachable) > 0.9 * 40 * 39
    for source, target in reachable:
        path = links.route(source, target)
        assert (path[0], path[-1]) == (source, target)
        for middle in path[1:-1]:
            assert price(path) == price(links.route(source, middle)) + price(links.route(middle, target))
    assert links.route(5, 5) == [5]
    nearest = sorted(range(40), key=lambda site: DISTANCES.between(5, site))[1:6]
    assert all(len(links.route(5, site)) == 2 for site in nearest[:1])
