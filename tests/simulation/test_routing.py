"""The overlay at the size the papers measure: joined by real messages, routed by every broker's own tables."""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from collections.abc import Callable

import msgspec
import pytest

from causeway.sim.cluster import Broker
from causeway.sim.routing import Overlays, gap, node_of
from causeway.types import SECOND, Key

BROKERS = int(os.environ.get("CAUSEWAY_ROUTING_BROKERS", "256"))
"""1024 with CAUSEWAY_ROUTING_BROKERS=1024: about a minute."""


class RoutingResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured."""

    brokers: int
    lookups: int
    hops_mean: float
    hops_max: int
    histogram: dict[int, int]
    """Lookups by hops between brokers."""
    bound: int
    """ceil(log16 N)."""
    within_bound_plus_one: float
    """Share of lookups that took at most one hop more than the bound."""
    wrong: int
    """Lookups that did not end at the numerically closest broker."""
    virtual_seconds: float
    events: int


def measure_routing(
    brokers: int, lookups: int, seed: int, *, wave: int = 32, tell: Callable[[int], None] = lambda joined: None
) -> RoutingResult:
    """Join that many brokers and route that many random keys from random brokers."""
    overlays = Overlays(seed, brokers)
    overlays.grow(brokers, wave, tell)
    overlays.settle()
    places = sorted(int.from_bytes(broker.id, "big") for broker in overlays.cluster.brokers)
    bound = max(1, math.ceil(math.log(brokers, 16) - 1e-9))
    histogram: dict[int, int] = {}
    wrong = 0
    for _ in range(lookups):
        key = Key(overlays.rng.randbytes(16))
        found, hops = lookup(overlays, overlays.rng.choice(overlays.cluster.brokers), key)
        histogram[hops] = histogram.get(hops, 0) + 1
        wrong += gap(int.from_bytes(found.id, "big"), key) != closest_gap(places, key)
    return RoutingResult(
        brokers=brokers,
        lookups=lookups,
        hops_mean=sum(hops * count for hops, count in histogram.items()) / lookups,
        hops_max=max(histogram),
        histogram=dict(sorted(histogram.items())),
        bound=bound,
        within_bound_plus_one=sum(count for hops, count in histogram.items() if hops <= bound + 1) / lookups,
        wrong=wrong,
        virtual_seconds=overlays.world.now / SECOND,
        events=overlays.world.events,
    )


def lookup(overlays: Overlays, source: Broker, key: Key) -> tuple[Broker, int]:
    """Where the chain of next hops ends, and its length."""
    brokers = {broker.id: broker for broker in overlays.cluster.brokers}
    hops = 0
    at = source
    while (hop := node_of(at)._overlay.next_hop(key)) is not None:
        at = brokers[hop]
        hops += 1
        assert hops <= len(brokers), f"a lookup of {key.hex()} goes round in circles"
    return at, hops


def closest_gap(places: list[int], key: Key) -> int:
    """The distance of the closest broker, by looking at both neighbours of the key."""
    at = bisect_left(places, int.from_bytes(key, "big"))
    return min(gap(places[at % len(places)], key), gap(places[at - 1], key))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_lookups_take_few_hops_and_end_at_the_closest_broker() -> None:
    result = measure_routing(BROKERS, 5000, 1, wave=64)
    assert result.wrong == 0
    assert result.hops_mean <= result.bound, result
    assert result.within_bound_plus_one >= 0.999, result


def test_small_overlay_routes_every_key_to_the_closest_broker() -> None:
    joined: list[int] = []
    result = measure_routing(24, 400, 3, wave=8, tell=joined.append)
    assert result.wrong == 0
    assert joined[-1] == 24
    assert sum(result.histogram.values()) == 400
    assert result.hops_mean <= result.bound == 2
    assert result.within_bound_plus_one == 1.0


def test_closest_gap_looks_across_the_end_of_the_ring() -> None:
    top = (1 << 128) - 1
    assert closest_gap([5, 1 << 100], Key(top.to_bytes(16, "big"))) == 6
    assert gap(5, Key(bytes(16))) == 5
