"""The loop closes: a real cluster under bursts that rise together writes a lake, Spark computes rates and risk from it,
the landmark adopts the policy, and the same bursts overload fewer brokers. The counts are printed."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

import causeway
from causeway.core.placing import PlannedItems
from causeway.lake.segments import read_table
from causeway.lake.table import listing
from causeway.local.cluster import ProcessCluster
from causeway.pipeline.frame import JobRequest, run_job
from causeway.topics import item_of
from tests.integration.processes import running_cluster

CAPACITY = 40
"""Messages a second that a broker is said to sustain: little, so that little traffic shows who is overloaded."""
SEATS = {f"b{number}": ("town",) for number in range(1, 5)}
SETTINGS = {
    "capacity": str(CAPACITY),
    "rates_every": "3600s",  # the landmark does not plan by itself meanwhile
    "lake_every": "1s",
}
BURST, CALM = 25, 2
"""Messages a second of each topic that rises with others, in a burst and otherwise."""
SECONDS = 8
BURSTS = frozenset(range(1, SECONDS, 2))
PATIENCE = 40.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


async def owners(cluster: ProcessCluster) -> dict[str, str]:
    """Who owns which item."""
    return {
        group["name"]: name
        for name, report in (await cluster.reports()).items()
        for group in report["groups"]
        if group["owner"] == name and group["serving"]
    }


def topics_of_different_items(count: int) -> list[str]:
    found: dict[str, str] = {}
    number = 0
    while len(found) < count:
        found.setdefault(item_of(f"t{number}/x"), f"t{number}/x")
        number += 1
    return list(found.values())


async def replay(bus: causeway.Bus, lake: Path, topics: list[str], rising: list[str]) -> dict[tuple[str, int], int]:
    """Publish the same bursts again; what owners of items then have in the lake, by broker and second."""
    first, total = int(time.time()) + 1, 0  # counts are by seconds of the clock
    for second in range(SECONDS):
        await asyncio.sleep(max(0.0, first + second - time.time()))
        for topic in topics:
            count = BURST if topic in rising and second in BURSTS else CALM
            total += count
            for _ in range(count):
                bus.publish_nowait(topic, b"x")
    await bus.flush(PATIENCE)
    last, deadline = int(time.time()), time.monotonic() + PATIENCE
    while sum((found := taken(lake, first, last)).values()) < total:
        assert time.monotonic() < deadline, f"the lake has {sum(found.values())} of {total} messages"
        await asyncio.sleep(0.5)
    return found


def taken(lake: Path, first: int, last: int) -> dict[tuple[str, int], int]:
    """Messages that owners of items took, by broker and second."""
    found: dict[tuple[str, int], int] = {}
    for segment in listing(str(lake), "telemetry").live:
        for row in read_table(segment.location, ["writer", "second", "item", "messages_in"]).to_pylist():
            if row["item"] and first <= row["second"] <= last:
                key = (row["writer"], row["second"])
                found[key] = found.get(key, 0) + row["messages_in"]
    return found


def most(found: dict[tuple[str, int], int]) -> dict[str, int]:
    """The largest count of each broker."""
    return {writer: max(count for (name, _), count in found.items() if name == writer) for writer, _ in sorted(found)}


async def settle(cluster: ProcessCluster, wanted: dict[str, str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while (found := {item: (await owners(cluster)).get(item) for item in wanted}) != wanted:
        assert time.monotonic() < deadline, f"items are not where the policy wants them: {found}, not {wanted}"
        await asyncio.sleep(0.2)


async def test_policy_from_the_lake_is_adopted_and_fewer_brokers_are_overloaded(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    settings = {**SETTINGS, "lake": str(lake)}
    topics = topics_of_different_items(12)
    async with (
        running_cluster(tmp_path / "brokers", seats=SEATS, durability="memory", settings=settings) as cluster,
        causeway.connect(cluster.url, name="source") as bus,
        bus.subscription("#") as everything,
    ):
        await everything.ready(PATIENCE)
        reading = asyncio.create_task(read(everything))
        for topic in topics:
            await bus.publish(topic, b"begin", timeout=PATIENCE)
        held = await owners(cluster)
        rising = largest_share(topics, held)
        assert len(rising) > 1, held

        before = await replay(bus, lake, topics, rising)
        computed = await asyncio.to_thread(compute, spark, lake, tmp_path, cluster.url)
        assert computed["adopted"]["town"] > 0
        await settle(cluster, planned_owners(tmp_path / "risk"))
        after = await replay(bus, lake, topics, rising)
        reading.cancel()
    count_before, count_after = (sum(count > CAPACITY for count in found.values()) for found in (before, after))
    print(
        f"\nbroker-seconds above {CAPACITY}/s: {count_before} before (most {most(before)}), "
        f"{count_after} with the policy from the lake (most {most(after)})"
    )
    assert count_before >= len(BURSTS) - 1
    assert count_after < count_before / 2


async def read(subscription: causeway.Subscription) -> None:
    while True:
        for message in await subscription.get_batch():
            message.ack()


def largest_share(topics: list[str], held: dict[str, str]) -> list[str]:
    """Three topics whose items have one owner."""
    by_owner: dict[str, list[str]] = {}
    for topic in topics:
        by_owner.setdefault(held[item_of(topic)], []).append(topic)
    return max(by_owner.values(), key=len)[:3]


def no_tick(stage: str, done: int, total: int) -> None:
    """Nobody watches."""


def compute(spark: SparkSession, lake: Path, root: Path, url: str) -> dict[str, Any]:
    """`rates`, then `risk`."""
    options = {"interval": "1", "period": "2", "peak": "0"}
    run_job(spark, "rates", JobRequest(str(lake), str(root / "rates"), options=options), no_tick)
    asked = {"rates": str(root / "rates"), "url": url, "adopt": "yes"}
    return run_job(spark, "risk", JobRequest("", str(root / "risk"), options=asked), no_tick).summary


def planned_owners(folder: Path) -> dict[str, str]:
    plan = msgspec.json.decode((folder / "policy-town.json").read_bytes(), type=PlannedItems)
    return {item: plan.brokers[owner] for item, owner in zip(plan.items, plan.owners, strict=True)}
