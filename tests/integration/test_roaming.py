"""Clients that move from broker to broker all the time, while brokers are killed: durable subscriptions miss nothing.

Also a reader that is away for longer than the broker that kept its subscription lives.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from pathlib import Path

import pytest

import causeway
from causeway.client.url import format_url
from causeway.local.cluster import ProcessCluster
from tests.integration.processes import running_cluster

PUBLISHERS, SUBSCRIBERS, MESSAGES = 10, 40, 10_000
STAY_SECONDS = (0.5, 2.0)
"""How long a client stays with a broker."""
KILL_EVERY_SECONDS = 3.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def url_from(cluster: ProcessCluster, rng: random.Random) -> str:
    """Two of the brokers: the client goes to one of them, whichever lives."""
    entries = [cluster.entry(name) for name in rng.sample(cluster.names, 2)]
    return format_url(tuple((entry.host, entry.port) for entry in entries))


class Publisher:
    """Publishes its share in order, from ever other brokers."""

    def __init__(self, number: int, cluster: ProcessCluster, folder: Path) -> None:
        self.number = number
        self._cluster = cluster
        self._state = folder / f"publisher-{number}"
        self._rng = random.Random(number)
        self._left = list(range(MESSAGES // PUBLISHERS))

    async def run(self) -> None:
        """Until all is published and acknowledged."""
        while self._left:
            url = url_from(self._cluster, self._rng)
            name, stay = f"publisher-{self.number}", self._rng.uniform(*STAY_SECONDS)
            async with causeway.connect(url, name=name, state=self._state, timeout=60, connect_timeout=30) as bus:
                until = time.monotonic() + stay
                while self._left and time.monotonic() < until:
                    burst, self._left = self._left[:10], self._left[10:]
                    for message in burst:
                        bus.publish_nowait(f"feed/{self.number}", f"{self.number} {message}", service="transactional")
                    await asyncio.sleep(0.2)
                await bus.flush(60)


class Subscriber:
    """Reads one feed with a durable subscription, over ever other brokers."""

    def __init__(self, number: int, cluster: ProcessCluster, folder: Path) -> None:
        self.name = f"subscriber-{number}"
        self.feed = number % PUBLISHERS
        self.seen: list[str] = []
        self.stays = 0
        self._cluster = cluster
        self._state = folder / self.name
        self._rng = random.Random(1000 + number)

    async def run(self, begun: asyncio.Event, stop: asyncio.Event) -> None:
        """Until told to stop and everything is here."""
        while not (stop.is_set() and len(self.seen) >= MESSAGES // PUBLISHERS):
            url = url_from(self._cluster, self._rng)
            async with causeway.connect(url, name=self.name, state=self._state, connect_timeout=30) as bus:
                self.stays += 1
                pattern = f"feed/{self.feed}"
                async with bus.subscription(pattern, name="all", durable=True) as subscription:
                    await subscription.ready(60)
                    begun.set()
                    until = time.monotonic() + self._rng.uniform(*STAY_SECONDS)
                    while (left := until - time.monotonic()) > 0:
                        with contextlib.suppress(causeway.DeadlineExceeded):
                            for message in await subscription.get_batch(100, left):
                                self.seen.append(message.text)
                                message.ack()


async def kill_and_restart(cluster: ProcessCluster, stop: asyncio.Event) -> int:
    """One broker after the other, until told to stop; how many."""
    rng, kills = random.Random(7), 0
    while not stop.is_set():
        name = rng.choice(cluster.names)
        await cluster.kill(name)
        await cluster.restart(name)
        kills += 1
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), KILL_EVERY_SECONDS)
    return kills


async def test_fifty_roaming_clients_over_five_brokers_with_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    async with running_cluster(tmp_path / "cluster", 5) as cluster:
        publishers = [Publisher(number, cluster, tmp_path) for number in range(PUBLISHERS)]
        subscribers = [Subscriber(number, cluster, tmp_path) for number in range(SUBSCRIBERS)]
        stop, begun = asyncio.Event(), [asyncio.Event() for _ in subscribers]
        reading = [asyncio.create_task(one.run(event, stop)) for one, event in zip(subscribers, begun, strict=True)]
        await asyncio.wait_for(asyncio.gather(*(event.wait() for event in begun)), 60)
        killing = asyncio.create_task(kill_and_restart(cluster, stop))
        await asyncio.gather(*(publisher.run() for publisher in publishers))
        stop.set()
        kills = await killing
        await asyncio.wait_for(asyncio.gather(*reading), 120)
        crashed = cluster.crashed()
    stays = sum(one.stays for one in subscribers)
    print(f"\n{MESSAGES:,} published; {kills} kills; {SUBSCRIBERS} subscribers moved {stays} times")
    assert not crashed, crashed
    assert kills >= 3, "the run was too short to prove anything"
    assert stays >= 3 * SUBSCRIBERS
    for one in subscribers:
        wanted = [f"{one.feed} {number}" for number in range(MESSAGES // PUBLISHERS)]
        assert [text for text, count in Counter(one.seen).items() if count > 1] == [], f"{one.name}: doubled"
        assert set(wanted) == set(one.seen), f"{one.name}: lost"
        assert one.seen == wanted, f"{one.name}: out of order"


async def test_durable_subscriber_away_for_longer_than_its_broker_lives_misses_nothing(tmp_path: Path) -> None:
    async with running_cluster(tmp_path / "cluster", 4) as cluster:
        async with causeway.connect(cluster.url, name="reader", state=tmp_path / "reader") as reader:
            async with reader.subscription("news/#", name="all", durable=True) as subscription:
                await subscription.ready(30)
            owner = await reader.find("sub/reader/all")
        async with causeway.connect(cluster.url, name="editor", timeout=60) as editor:
            for number in range(100):
                await editor.publish(f"news/{number % 3}", str(number), service="transactional")
            await cluster.kill(owner)  # and it never comes back
            for number in range(100, 200):
                await editor.publish(f"news/{number % 3}", str(number), service="transactional")
        async with (
            causeway.connect(cluster.url, name="reader", state=tmp_path / "reader") as reader,
            reader.subscription("news/#", name="all", durable=True) as subscription,
        ):
            seen = [int((await subscription.get(30)).text) for _ in range(200)]
            with pytest.raises(causeway.DeadlineExceeded):
                await subscription.get(0.5)
    assert seen == list(range(200))
