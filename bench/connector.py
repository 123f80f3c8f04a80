"""Spark reads a topic from the bus, beside the same rows from Parquet and Spark's rate source: one session, in turn.

    python -m bench.connector [MESSAGES]

Every reading goes to the `noop` sink on local[2]: as a batch, and as a stream of one micro-batch. The rate source has
no batches and no bodies: it makes as many rows of a time and a number. The first round warms up and does not count.
Owns: the measurement. Must not know: other cases.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import causeway.sync
from causeway.testing import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MESSAGES = 1_000_000
BODY_BYTES = 128
ROUNDS = 3
TOPIC = "bench/a"
PATTERN = "bench/#"
WAIT_SECONDS_MAX = 120.0


def missing() -> str:
    """What is not installed here; empty when nothing is."""
    return "" if importlib.util.find_spec("pyspark") else "pyspark"


@contextlib.contextmanager
def filled_bus(count: int) -> Iterator[str]:
    """A cluster whose history holds so many messages; its URL."""
    with LocalCluster(brokers=3) as cluster, causeway.sync.connect(cluster.url, name="bench") as bus:
        bus.keep_history(PATTERN, seconds=24 * 3600)
        body = bytes(BODY_BYTES)
        for number in range(count):
            if number % 1000 == 0:
                bus.ready(WAIT_SECONDS_MAX)
            bus.publish_nowait(TOPIC, body)
        bus.flush(WAIT_SECONDS_MAX)
        until = time.monotonic() + WAIT_SECONDS_MAX
        while bus.extent(bus.history_of(PATTERN)).ever < count:
            if time.monotonic() > until:
                raise TimeoutError("the history does not get what was published")
            time.sleep(0.05)
        yield cluster.url


def as_batch(frame: DataFrame) -> None:
    """Read all of it."""
    frame.write.format("noop").mode("overwrite").save()


def as_stream(frame: DataFrame, checkpoint: Path) -> None:
    """Read all there is now, and end."""
    query = frame.writeStream.format("noop").trigger(availableNow=True)
    query.option("checkpointLocation", str(checkpoint)).start().awaitTermination()


def cases(spark: SparkSession, url: str, count: int, folder: Path) -> dict[str, Callable[[], None]]:
    """What is measured, by name."""
    parquet = str(folder / "parquet")
    bus = {"url": url, "topics": PATTERN}
    source = spark.read.format("causeway").options(**bus).load()
    source.write.parquet(parquet)
    schema = source.schema
    rows = spark.read.schema(schema).parquet(parquet).count()
    if rows != count:
        raise AssertionError(f"{rows} rows were read, {count} published")
    streamed = spark.readStream.format("causeway").options(**bus, startingOffsets="earliest").load()
    files = spark.readStream.schema(schema).parquet(parquet)

    def fresh() -> Path:
        return Path(tempfile.mkdtemp(dir=folder))

    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", count).load()

    def one_rate_batch() -> None:
        query = rate.writeStream.format("noop").option("checkpointLocation", str(fresh()))
        query.trigger(once=True).start().awaitTermination()

    return {
        "causeway, batch": lambda: as_batch(spark.read.format("causeway").options(**bus).load()),
        "causeway, body only, batch": lambda: as_batch(
            spark.read.format("causeway").options(**bus).schema("body binary").load()
        ),
        "parquet, batch": lambda: as_batch(spark.read.schema(schema).parquet(parquet)),
        "causeway, stream": lambda: as_stream(streamed, fresh()),
        "parquet, stream": lambda: as_stream(files, fresh()),
        "rate, stream": one_rate_batch,
    }


def measure(count: int = MESSAGES) -> dict[str, Any]:
    """Medians in seconds, by name."""
    from causeway.pipeline.connector import register
    from causeway.pipeline.session import open_session

    spark = open_session("bench", master="local[2]", driver_memory="2g")
    register(spark)
    try:
        with filled_bus(count) as url, tempfile.TemporaryDirectory(prefix="causeway-bench-") as folder:
            todo = cases(spark, url, count, Path(folder))
            taken: dict[str, list[float]] = {name: [] for name in todo}
            for turn in range(1 + ROUNDS):
                for name, work in todo.items():
                    began = time.perf_counter()
                    work()
                    if turn:
                        taken[name].append(time.perf_counter() - began)
    finally:
        spark.stop()
    return {"messages": count, "seconds": {name: round(statistics.median(one), 2) for name, one in taken.items()}}


def sentences(found: dict[str, Any]) -> list[str]:
    """The result for people."""
    count = found["messages"]
    return [f"connector, {count:,} x {BODY_BYTES} B, {name}: {one:.2f} s" for name, one in found["seconds"].items()]


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES), indent=2))
