"""A lake that real brokers and applications write goes through every job: while they run, and when they have ended."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

import causeway
from causeway.drawing import draw
from causeway.lake.schema import KINDS
from causeway.pipeline.frame import JobResult
from causeway.pipeline.quality import segments
from causeway.testing import LocalCluster
from tests.pipeline.job_driver import STREAMS
from tests.pipeline.lakes import run

PATIENCE = 30.0
COUNT = 40
"""Messages of each kind that are sent."""
pytestmark = pytest.mark.slow


async def exchange(url: str, lake: Path) -> None:
    """Every class, a topic, causal order and transactions, from one application to another."""
    async with (
        causeway.connect(url, name="alice", lake=lake) as alice,
        causeway.connect(url, name="bob", lake=lake) as bob,
        bob.subscription("roads/#", name="roads", durable=True) as roads,
        bob.subscription("news/#", name="news", durable=True, order="causal") as news,
        bob.consumer() as inbox,
    ):
        await roads.ready(PATIENCE)
        await news.ready(PATIENCE)
        reading = [asyncio.create_task(take(one, count)) for one, count in ((roads, 1), (news, 1), (inbox, 4))]
        for number in range(COUNT):
            alice.publish_nowait(f"roads/{number % 3}", b"speed")
            alice.publish_nowait("news/x", b"news", order="causal")
            for service in ("express", "recoverable", "transactional"):
                alice.send_nowait("bob", b"mail", service=service)
            async with alice.transaction() as transaction:
                transaction.send("bob", b"together")
        await alice.flush(PATIENCE)
        await asyncio.gather(*reading)


async def take(reader: Any, times: int) -> None:
    left = times * COUNT
    while left:
        for message in await reader.get_batch(left, PATIENCE):
            message.ack()
            left -= 1


class Recorded(NamedTuple):
    """What every job said of a lake."""

    running: dict[str, JobResult]
    """While the brokers ran."""
    ended: dict[str, JobResult]
    """When they had ended, as streams that went on."""
    audited: JobResult
    """The same in batch, once."""


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    root = tmp_path_factory.mktemp("real")
    lake, out = root / "lake", root / "out"

    def follow(job: str) -> JobResult:
        return run(spark, job, lake, out / job, checkpoint=out / job / "checkpoint")

    with LocalCluster(brokers=3, durability="disk", lake=lake, domains="town") as cluster:
        asyncio.run(exchange(cluster.url, lake))
        wait_for(lake)
        running = {job: follow(job) for job in ("rates", "audit")}
        running["domains"] = run(spark, "domains", lake, out / "domains")
        running["risk"] = run(spark, "risk", "", out / "risk", rates=out / "rates", url=cluster.url)
    return Recorded(running, {job: follow(job) for job in STREAMS}, run(spark, "audit", lake, out / "audit-batch"))


def wait_for(lake: Path) -> None:
    """Until all brokers have written something, and they something of every kind: they do so every few seconds."""
    until = time.monotonic() + PATIENCE
    while not all(written_by_brokers(lake, kind) for kind in KINDS) or len(written_by_brokers(lake, "events")) < 3:
        assert time.monotonic() < until, "the brokers write nothing"
        time.sleep(0.2)


def written_by_brokers(lake: Path, kind: str) -> set[str]:
    """Which of them have written segments of a kind; applications belong to no domain."""
    return {one.name.writer for one in segments(str(lake), kind) if one.name and one.domain == "town"}


def test_every_job_says_something_true(recorded: Recorded) -> None:
    streamed = {job: found.summary for job, found in recorded.ended.items()}
    assert (streamed["rates"]["topics"], streamed["rates"]["messages"]) == (3, COUNT)
    hops = streamed["latency"]["hops"]
    # By applications; the rest by brokers. What is published in causal order goes to plain subscriptions as well.
    assert hops["acknowledged"]["messages"] == 7 * COUNT
    assert hops["stored"]["messages"] == 7 * COUNT
    assert 0 < hops["acknowledged"]["p50_ms"] < hops["acknowledged"]["most_ms"] < PATIENCE * 1000
    assert set(streamed["latency"]["classes"]) == {"express", "recoverable", "transactional", "committed"}
    assert recorded.running["domains"].summary["applications"] == 2
    assert recorded.running["domains"].summary["pairs"] == 1
    assert recorded.running["risk"].summary["adopted"] == {}


def test_running_cluster_is_clean_as_far_as_it_has_written_and_an_ended_one_is_clean(recorded: Recorded) -> None:
    before, after = recorded.running["audit"].summary, recorded.ended["audit"].summary
    assert before["found"] == after["found"] == {}
    assert before["lives_in_doubt"] == 3  # brokers that have not ended
    assert (after["verdict"], after["lives_in_doubt"], after["unknown"]) == ("clean", 0, 0)
    guarantees = after["guarantees"]
    assert guarantees["stored before acknowledged"] == {"held": 7 * COUNT}
    assert guarantees["in order"] == {"held": COUNT}
    assert guarantees["causal order"] == {"held": COUNT}
    assert set(guarantees["kept"]) == set(guarantees["once"]) == {"held"}


def test_audit_that_followed_the_growing_lake_says_what_batch_says(recorded: Recorded) -> None:
    streamed, batch = recorded.ended["audit"], recorded.audited
    left, right = ({**one.summary, "runs": 0, "seconds_taken": 0} for one in (streamed, batch))
    assert left == right
    assert streamed.figures == batch.figures


def test_every_figure_can_be_drawn(recorded: Recorded, tmp_path: Path) -> None:
    jobs = (*recorded.running.values(), recorded.ended["latency"])
    figures = [figure for found in jobs for figure in found.figures]
    assert {figure.name for figure in figures} >= {"rates", "latency", "audit", "domains", "risk_town"}
    for figure in figures:
        assert all(path.stat().st_size > 1000 for path in draw(figure, tmp_path))
