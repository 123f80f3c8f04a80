"""What readers and senders see of cuts: of their own way to a broker that has not noticed, and between brokers."""

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


async def test_send_that_may_arrive_after_its_time_is_not_called_refused() -> None:
    with LocalCluster(brokers=3) as trio:
        async with causeway.connect(trio.url, name="scout") as scout:
            await scout.send("box", b"first", service="transactional")
            owner = await scout.find("box")
        trio.wait_settled()
        others = [index for index, broker in enumerate(trio.brokers) if broker.name != owner]
        alone = next(broker for broker in trio.brokers if broker.name == owner)
        async with causeway.connect(f"causeway://127.0.0.1:{alone.port}", name="sender") as sender:
            for index in others:
                trio.pause(index)
            with pytest.raises(causeway.OutcomeUnknown) as caught:
                await sender.send("box", b"second", service="transactional", timeout=5)
            assert caught.value.code in (causeway.Code.NO_QUORUM, causeway.Code.NO_DIRECTORY)
            for index in others:
                trio.resume(index)
            async with sender.consumer("box") as box:
                assert [(await box.get(timeout=20)).body for _ in range(2)] == [b"first", b"second"]
