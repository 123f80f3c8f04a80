"""Storages that go bad or are lost: brokers do without, or learn from others what they had."""

from __future__ import annotations

from typing import Any, cast

import pytest

from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.store.base import LOCAL
from causeway.types import SECOND, key_of


def spoil_while_down(prefixes: bytes, *, brokers: int = 4) -> tuple[SimRun, int]:
    """Run a while, spoil all rows of the founder that begin so, and let it return."""
    run = SimRun(options_calm(1, brokers=brokers, workloads=["recoverable"], patience=60 * SECOND))
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
    return run, len(spoiled)


def assert_rests_without_loss(run: SimRun) -> None:
    run._wind_down()
    reason = run._converge()
    assert reason is None, reason
    run.panel.finish()


@pytest.mark.parametrize("brokers", [3, 4])
@pytest.mark.parametrize("prefixes", [b"g", b"p", b"gpxv"])
def test_broker_with_a_rotten_membership_comes_back_without_loss(prefixes: bytes, brokers: int) -> None:
    run, spoiled = spoil_while_down(prefixes, brokers=brokers)
    assert_rests_without_loss(run)
    assert spoiled > 3


@pytest.mark.parametrize("prefixes", [b"g", b"p"])
def test_groups_of_two_stop_by_name_and_keep_their_rows_when_one_membership_is_rotten(prefixes: bytes) -> None:
    """Why the swarm spoils no such rows among two: one of two is no majority, and nothing is guessed (ADR 0002)."""
    run, spoiled = spoil_while_down(prefixes, brokers=2)
    survivor = run.cluster.brokers[1]
    assert survivor.machine is not None
    assert survivor.store is not None
    groups = cast("list[dict[str, Any]]", survivor.machine.statistics()["groups"])
    assert len(groups) == spoiled > 3
    kept = set(survivor.store.image.groups())
    assert any(group["seq"] > 1 for group in groups)
    for group in groups:
        assert not group["serving"]
        assert group["blocked"].endswith("1 of 2 copies reachable, 2 needed; unreachable: broker-0")
        assert key_of(group["name"]) in kept or group["seq"] == 1


def test_founder_with_a_rotten_memory_finds_its_cluster_again() -> None:
    run, spoiled = spoil_while_down(b"n")
    assert_rests_without_loss(run)
    assert spoiled == 1
    clusters = {
        broker.machine.statistics()["cluster"] for broker in run.cluster.members() if broker.machine is not None
    }
    assert len(clusters) == 1


@pytest.mark.parametrize(
    ("durability", "brokers", "losses", "seed"),
    [("disk", 5, 5, 1), ("disk", 5, 5, 3), ("memory", 9, 10, 1), ("memory", 9, 10, 2)],
)
def test_storages_replaced_one_after_another_stop_nothing(
    durability: str, brokers: int, losses: int, seed: int
) -> None:
    """Each one as soon as the brokers call themselves healthy, as `causeway status` would."""
    options = options_calm(
        seed,
        brokers=brokers,
        durability=durability,
        witnesses=4,
        replacements=losses,
        safety=3 * SECOND,
        down_max=2 * SECOND,
        rate=4.0,
        workloads=["transactional", "offline"],
    )
    verdict = SimRun(options).run()
    assert verdict.ok, verdict.failure_line()
    assert verdict.faults["lose"] == losses
