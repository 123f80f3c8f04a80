"""What the tests of the connector share: a cluster, a history that holds what was published, and queries that end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import causeway.sync
from causeway.testing import LocalCluster

SECONDS_MAX = 100.0


@contextlib.contextmanager
def running_bus(durability: str = "memory") -> Iterator[tuple[LocalCluster, Any]]:
    """Three brokers, and an application."""
    with (
        LocalCluster(brokers=3, durability=durability) as cluster,
        causeway.sync.connect(cluster.url, name="test", window_messages=8192) as bus,
    ):
        yield cluster, bus


def publish(bus: Any, topic: str, bodies: list[bytes]) -> None:
    """Publish, acknowledged."""
    for index, body in enumerate(bodies):
        if index % 1000 == 0:
            bus.ready(SECONDS_MAX)
        bus.publish_nowait(topic, body, service="transactional")
    bus.flush(SECONDS_MAX)


def wait_kept(bus: Any, history: str, count: int) -> None:
    """Until a history holds so many messages, or had."""
    until = time.monotonic() + SECONDS_MAX
    while bus.extent(history).ever < count:
        assert time.monotonic() < until, f"{history}: {bus.extent(history)}"
        time.sleep(0.01)


def kept(bus: Any, mailbox: str) -> list[bytes]:
    """The payloads of all that a history or a queue holds, in order."""
    return [body for stretch in bus.read(mailbox) for _, body in stretch.messages()]


def source(spark: SparkSession, cluster: LocalCluster, **options: object) -> DataFrame:
    """`spark.read` of the cluster."""
    reader = spark.read.format("causeway").option("url", cluster.url)
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load()


def stream(spark: SparkSession, cluster: LocalCluster, **options: object) -> DataFrame:
    """`spark.readStream` of the cluster, from the beginning unless told otherwise."""
    reader = spark.readStream.format("causeway").option("url", cluster.url).option("startingOffsets", "earliest")
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load()


def run_through(frame: DataFrame, cluster: LocalCluster, checkpoint: Path, **options: object) -> StreamingQuery:
    """Write what there is now to the bus, and end. Raises what the query failed with."""
    writer = frame.writeStream.format("causeway").option("url", cluster.url)
    for name, value in options.items():
        writer = writer.option(name, str(value))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(int(SECONDS_MAX)), "the query goes on and on"
    return query


def collected(frame: DataFrame, checkpoint: Path, out: Path) -> StreamingQuery:
    """Write what there is now to files, and end."""
    writer = frame.writeStream.format("parquet").option("path", str(out))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(int(SECONDS_MAX)), "the query goes on and on"
    return query
