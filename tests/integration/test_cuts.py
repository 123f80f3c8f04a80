"""What readers and senders see when only their own way to a broker is cut, and the broker has not noticed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import causeway
from causeway.testing import LocalCluster
from tests.integration.proxy import proxy_to


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """One broker: every mailbox is its own, so a client's way to it is the way to the owner."""
    with LocalCluster(brokers=1) as running:
        yield running


async def test_order_holds_when_a_reader_comes_back_before_its_old_connection_is_known_to_be_dead(
    cluster: LocalCluster,
) -> None:
    async with (
        proxy_to(cluster.brokers[0].port) as proxy,
        causeway.connect(cluster.url, name="counter") as counter,
        causeway.connect(f"causeway://127.0.0.1:{proxy.port}", name="reader") as reader,
    ):
        consumer = reader.consumer("numbers", prefetch=50)
        seen = []
        for number in range(100):
            counter.send_nowait("numbers", f"{number}", service="transactional")
        while len(seen) < 600:
            message = await consumer.get(timeout=10)
            seen.append(int(message.text))
            message.ack()
            if len(seen) == 50:
                proxy.cut()  # the client gives up after 3 s and dials the broker itself, which waits for 6
                for number in range(100, 600):
                    counter.send_nowait("numbers", f"{number}", service="transactional")
        assert seen == list(range(600))
