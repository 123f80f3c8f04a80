"""Topics against real brokers: every kind of subscription, and what becomes of it when brokers fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import causeway
from causeway.errors import DeadlineExceeded
from causeway.testing import LocalCluster

SERVICES = ("express", "recoverable", "transactional")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Three brokers in memory, shared by the tests that harm nobody."""
    with LocalCluster(brokers=3) as running:
        yield running


@pytest.mark.parametrize("service", SERVICES)
async def test_published_messages_reach_everybody_who_wants_them_and_nobody_else(
    cluster: LocalCluster, service: str
) -> None:
    async with (
        causeway.connect(cluster.url, name=f"radar-{service}") as radar,
        causeway.connect(cluster.url, name=f"board-{service}") as board,
    ):
        wide = board.subscription(f"{service}/*/speed")
        exact = board.subscription(f"{service}/a1/speed")
        other = board.subscription(f"{service}/a1/noise")
        for one in (wide, exact, other):
            await one.ready(10)
        for number in range(100):
            radar.publish_nowait(f"{service}/a{number % 2}/speed", f"{number}", service=service)
        await radar.flush(10)
        all_of_it = [int((await wide.get(10)).text) for _ in range(100)]
        half_of_it = [int((await exact.get(10)).text) for _ in range(50)]
        assert sorted(all_of_it) == list(range(100))
        assert sorted(half_of_it) == list(range(1, 100, 2))
        if service != "express":
            assert all_of_it == list(range(100))
        with pytest.raises(DeadlineExceeded):
            await other.get(0.2)
