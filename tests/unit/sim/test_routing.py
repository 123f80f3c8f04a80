from __future__ import annotations

from causeway.sim.routing import closest_gap, gap, measure_routing
from causeway.types import Key


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
