"""Causal order across whole brokers: random trees of domains, random talk, and everything that can break meanwhile.

The checker computes what happened before what from what applications did and saw; it knows no clock.
"""

from __future__ import annotations

import pytest

from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.sim.verdict import SimVerdict
from causeway.types import MILLISECOND, SECOND

TALK = {"workloads": ["causal"], "clients": 4, "rate": 6.0, "burst": 2, "safety": 6 * SECOND}
TROUBLE: dict[str, dict[str, object]] = {
    "none": {},
    "crashes": {"crashes": 30.0, "crash_group_max": 2, "down_max": 3 * SECOND},
    "unnoticed": {"crashes": 12.0, "stops": 12.0, "partitions": 15.0, "slow_links": 20.0},
    "network": {"loss": 0.03, "duplicate": 0.05, "reorder": 0.1, "resets": 60.0, "jitter": 20 * MILLISECOND},
    "paths": {"paths": 2, "loss": 0.03, "resets": 60.0, "partitions": 15.0, "duplicate": 0.05},
    "hand-over": {"joins": 20.0, "leaves": 20.0, "migrate_after": SECOND // 2},
    "applications": {"client_crashes": 40.0, "crashes": 10.0, "client_roams": True},
    "storage": {"disk_losses": 15.0, "slow_disks": 20.0},
}


def talk(seed: int, **options: object) -> SimVerdict:
    values: dict[str, object] = {**TALK, "brokers": 6, "domains": 3, **options}
    return SimRun(options_calm(seed, **values)).run()


@pytest.mark.parametrize("trouble", list(TROUBLE))
@pytest.mark.parametrize("seed", [1, 2])
def test_causal_order_holds(seed: int, trouble: str) -> None:
    verdict = talk(seed, **TROUBLE[trouble])
    assert verdict.ok, verdict.failure_line()
    assert verdict.observations["delivered"] > 200


@pytest.mark.parametrize(("brokers", "domains"), [(3, 1), (12, 8)])
def test_causal_order_holds_in_trees_of_any_size(brokers: int, domains: int) -> None:
    verdict = talk(
        brokers, brokers=brokers, domains=domains, clients=brokers // 2, crashes=20.0, jitter=5 * MILLISECOND
    )
    assert verdict.ok, verdict.failure_line()
