"""Rows that a broker keeps for itself go bad while it is down: it does without them, or learns them from others."""

from __future__ import annotations

import pytest

from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.store.base import LOCAL
from causeway.types import SECOND


def spoil_while_down(prefixes: bytes) -> tuple[SimRun, int]:
    """Run a while, spoil all rows of the founder that begin so, let it return, and wait for rest."""
    run = SimRun(options_calm(1, brokers=4, workloads=["recoverable"], patience=60 * SECOND))
    run._setup()
    run._pass(3 * SECOND)
    founder = run.cluster.brokers[0]
    run.cluster.crash(founder, noticed=True)
    assert founder.store is not None
    rows = founder.store.image.scan(LOCAL, b"", b"", 1 << 40).rows
    spoiled = [row.key for row in rows if row.key[0] in prefixes]
    for key in spoiled:
        founder.store.rotten[(LOCAL, key)] = None
    run._pass(SECOND)
    run.cluster.start(founder)
    run._pass(3 * SECOND)
    run._wind_down()
    reason = run._converge()
    assert reason is None, reason
    run.panel.finish()
    return run, len(spoiled)


@pytest.mark.parametrize("prefixes", [b"g", b"p", b"gpxv"])
def test_broker_with_a_rotten_membership_comes_back_without_loss(prefixes: bytes) -> None:
    _, spoiled = spoil_while_down(prefixes)
    assert spoiled > 3


def test_founder_with_a_rotten_memory_finds_its_cluster_again() -> None:
    run, spoiled = spoil_while_down(b"n")
    assert spoiled == 1
    clusters = {
        broker.machine.statistics()["cluster"] for broker in run.cluster.members() if broker.machine is not None
    }
    assert len(clusters) == 1
