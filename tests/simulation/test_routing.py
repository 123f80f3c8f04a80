"""The overlay at the size the papers measure: joined by real messages, routed by every broker's own tables."""

from __future__ import annotations

import os

import pytest

from causeway.sim.routing import measure_routing

BROKERS = int(os.environ.get("CAUSEWAY_ROUTING_BROKERS", "256"))
"""1024 with CAUSEWAY_ROUTING_BROKERS=1024: about a minute."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_lookups_take_few_hops_and_end_at_the_closest_broker() -> None:
    result = measure_routing(BROKERS, 5000, 1, wave=64)
    assert result.wrong == 0
    assert result.hops_mean <= result.bound, result
    assert result.within_bound_plus_one >= 0.999, result
