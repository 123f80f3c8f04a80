"""Critical topics against real brokers: one on each way is killed in turn, and nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path

import causeway
from causeway.names import twin_name
from causeway.testing import LocalCluster
from causeway.topics.critical import critical_item
from causeway.types import half_of, key_of

TOPIC = "critical/fire/north"
PER_VICTIM = 60


async def owner(cluster: LocalCluster, mailbox: str) -> int:
    """Which broker serves a mailbox or an item now."""
    names = [broker.name for broker in cluster.brokers]
    reports = await asyncio.to_thread(lambda: [cluster.status(index) for index in range(len(names))])
    for report in reports:
        for group in report["groups"]:
            if group["name"] == mailbox and group["serving"]:
                return names.index(group["owner"])
    raise AssertionError(f"nobody serves {mailbox!r}")


class Reader:
    """Reads a subscription to its end, and notes what came when."""

    def __init__(self, subscription: causeway.Subscription) -> None:
        self.subscription = subscription
        self.texts: list[str] = []
        self.times: list[float] = []

    async def read(self, count: int) -> None:
        while len(self.texts) < count:
            for message in await self.subscription.get_batch(timeout=30):
                self.texts.append(message.text)
                self.times.append(time.perf_counter())
                message.ack()

    def gap(self, since: float) -> float:
        times = [since, *(at for at in self.times if at > since)]
        return max(after - before for before, after in itertools.pairwise(times))


async def test_whoever_is_killed_every_message_comes_once_and_in_order(tmp_path: Path) -> None:
    async with (
        LocalCluster(brokers=5, durability="disk", data=tmp_path) as cluster,
        causeway.connect(cluster.url, name="radar", timeout=60) as radar,
        causeway.connect(cluster.url, name="board", timeout=60) as board,
    ):
        subscription = board.subscription(TOPIC, name="all", durable=True)
        await subscription.ready(30)
        mailbox = subscription.mailbox
        assert await owner(cluster, mailbox) != await owner(cluster, twin_name(mailbox))
        victims = (mailbox, critical_item(TOPIC, 1 - half_of(key_of(mailbox))))
        reader = Reader(subscription)
        total = PER_VICTIM * len(victims)
        reading = asyncio.create_task(reader.read(total))
        sent, killed = 0, None
        for served in victims:
            if killed is not None:
                await asyncio.to_thread(cluster.restart, killed)
                await asyncio.to_thread(cluster.wait_settled, 60)
            killed, died = await owner(cluster, served), 0.0
            for number in range(PER_VICTIM):
                if number == PER_VICTIM // 3:
                    died = time.perf_counter()
                    cluster.kill(killed)
                await radar.publish(TOPIC, str(sent), service="transactional")
                sent += 1
            print(f"who served {served} was killed: longest gap {1000 * reader.gap(died):.0f} ms")
        await asyncio.wait_for(reading, 60)
        assert reader.texts == [str(number) for number in range(total)]
        await subscription.unsubscribe(30)
