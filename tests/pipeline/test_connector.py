"""The connector with a real cluster and real Spark: what is read, from where, how much, and what is written once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.datasource import ReadAllAvailable

import causeway.sync
from causeway.pipeline.connector import register
from causeway.pipeline.connector.options import read_options, write_options
from causeway.pipeline.connector.reading import CausewayStreamReader
from causeway.pipeline.connector.schema import SCHEMA
from causeway.pipeline.connector.writing import send_rows
from causeway.testing import LocalCluster
from tests.pipeline.bus_cluster import collected, kept, publish, run_through, running_bus, source, stream, wait_kept


@pytest.fixture(scope="module")
def place(spark: SparkSession) -> Iterator[tuple[LocalCluster, Any]]:
    register(spark)
    with running_bus() as found:
        yield found


@pytest.fixture
def cluster(place: tuple[LocalCluster, Any]) -> LocalCluster:
    return place[0]


@pytest.fixture
def bus(place: tuple[LocalCluster, Any]) -> Any:
    return place[1]


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [f"{number:06d}".encode() for number in range(start, start + count)]


def bodies(frame: DataFrame) -> list[bytes]:
    return sorted(bytes(row.body) for row in frame.select("body").collect())


# Reading -------------------------------------------------------------------------------------------------------
def test_a_batch_read_shows_what_was_published(spark: SparkSession, cluster: LocalCluster, bus: Any) -> None:
    bus.keep_history("roads/#", seconds=600)
    receipts = [
        bus.publish("roads/a1/speed", "120", headers={"key": "a1", "lane": 2}),
        bus.publish("roads/a2/speed", b"\xff"),
        bus.publish("roads/a1/jam", "yes"),
    ]
    wait_kept(bus, "history/roads/#", 3)
    rows = source(spark, cluster, topics="roads/*/speed").orderBy("offset").collect()
    assert [row.topic for row in rows] == ["roads/a1/speed", "roads/a2/speed"]
    assert [bytes(row.body) for row in rows] == [b"120", b"\xff"]
    assert [row.id for row in rows] == [receipt.id for receipt in receipts[:2]]
    assert (bytes(rows[0].key), rows[0].properties, rows[1].properties) == (b"a1", {"lane": "2"}, {})
    assert rows[0].source == "test"
    assert abs(rows[0].time.timestamp() - rows[1].time.timestamp()) < 60


def test_reading_begins_and_ends_where_it_is_told(spark: SparkSession, cluster: LocalCluster, bus: Any) -> None:
    bus.keep_history("starts/#", seconds=600)
    publish(bus, "starts/a", numbered(1500))
    noon = int(time.time() * 1000) + 2
    while time.time() * 1000 <= noon:
        time.sleep(0.001)
    publish(bus, "starts/a", numbered(1500, 1500))
    wait_kept(bus, "history/starts/#", 3000)
    rows = source(spark, cluster, topics="starts/#", minPartitions=3).orderBy("offset").collect()
    assert [bytes(row.body) for row in rows] == numbered(3000)
    offset = rows[1234].offset
    edges = {"startingOffsets": f'{{"starts/#": {offset}}}', "endingOffsets": f'{{"starts/#": {offset + 10}}}'}
    assert bodies(source(spark, cluster, topics="starts/#", **edges)) == numbered(10, 1234)
    assert bodies(source(spark, cluster, topics="starts/#", startingTimestamp=noon)) == numbered(1500, 1500)
    assert bodies(source(spark, cluster, topics="starts/#", endingTimestamp=noon)) == numbered(1500)
    assert bodies(source(spark, cluster, topics="starts/#", startingOffsets="latest")) == []


def test_a_batch_read_of_a_queue_takes_nothing(spark: SparkSession, cluster: LocalCluster, bus: Any) -> None:
    for text in (b"one", b"two"):
        bus.send("shelf", text)
    bus.send("shelf", b"gone at once", service="express")
    for _ in range(2):
        rows = source(spark, cluster, queues="shelf").orderBy("offset").collect()
        assert [(bytes(row.body), row.queue, row.topic) for row in rows] == [
            (b"one", "shelf", None),
            (b"two", "shelf", None),
        ]


def test_a_stream_is_cut_into_micro_batches_and_ends_with_what_there_was(
    spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path
) -> None:
    bus.keep_history("limits/#", seconds=600)
    publish(bus, "limits/a", numbered(1000))
    wait_kept(bus, "history/limits/#", 1000)
    frame = stream(spark, cluster, topics="limits/#", maxMessagesPerTrigger=400).select("body", "offset")
    query = collected(frame, tmp_path / "checkpoint", tmp_path / "out")
    assert [one["numInputRows"] for one in query.recentProgress if one["numInputRows"]] == [400, 400, 200]
    publish(bus, "limits/a", numbered(50, 1000))
    wait_kept(bus, "history/limits/#", 1050)
    collected(frame, tmp_path / "checkpoint", tmp_path / "out")
    rows = spark.read.parquet(str(tmp_path / "out")).orderBy("offset").collect()
    assert [bytes(row.body) for row in rows] == numbered(1050)


def test_topics_added_to_a_query_begin_where_its_next_micro_batch_says(cluster: LocalCluster, bus: Any) -> None:
    for pattern in ("known/#", "added/#"):
        bus.keep_history(pattern, seconds=600)
        publish(bus, pattern.replace("#", "a"), numbered(10))
        wait_kept(bus, f"history/{pattern}", 10)
    before = CausewayStreamReader(read_options({"url": cluster.url, "topics": "known/#"}, stream=True), SCHEMA)
    begun = before.initialOffset()
    before.stop()
    reader = CausewayStreamReader(read_options({"url": cluster.url, "topics": "known/#;added/#"}, stream=True), SCHEMA)
    first = reader.latestOffset(begun, ReadAllAvailable())
    publish(bus, "added/a", numbered(5, 10))
    wait_kept(bus, "history/added/#", 15)
    assert reader.partitions(begun, first) == []  # read again, as it was
    second = reader.latestOffset(first, ReadAllAvailable())
    batches = [batch for part in reader.partitions(first, second) for batch in reader.read(part)]
    assert [row["body"] for batch in batches for row in batch.to_pylist()] == numbered(5, 10)
    reader.stop()


def test_queries_of_one_name_write_under_names_of_their_own(
    spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path
) -> None:
    sent = spark.range(3).selectExpr("cast(id AS string) AS body")
    sent.write.parquet(str(tmp_path / "in"))
    for number in range(2):
        query = (
            spark.readStream.schema(sent.schema)
            .parquet(str(tmp_path / "in"))
            .writeStream.format("causeway")
            .options(url=cluster.url, queue="both", checkpointLocation=str(tmp_path / f"checkpoint-{number}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(100)
    sources = {row.source for row in source(spark, cluster, queues="both").collect()}
    assert len({name.split(".")[1] for name in sources}) == 2


def fail_once(flag: Path) -> Any:
    """A step that fails in the middle of its first run."""

    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not flag.exists():
                yield batch.slice(0, batch.num_rows // 2)
                flag.touch()
                raise RuntimeError("planted")
            yield batch

    return step


def test_a_queue_is_settled_after_its_micro_batch_and_comes_again_before(
    spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path
) -> None:
    sent = numbered(40)
    for body in sent:
        bus.send("orders", body)
    frame = stream(spark, cluster, queues="orders").select("body")
    fragile = frame.mapInArrow(fail_once(tmp_path / "flag"), frame.schema)
    options = {"queue": "booked", "order": "plan"}
    with pytest.raises(PySparkException, match="planted"):
        run_through(fragile, cluster, tmp_path / "checkpoint", **options)
    assert kept(bus, "orders") == sent  # nothing was done with
    run_through(fragile, cluster, tmp_path / "checkpoint", **options)
    assert kept(bus, "booked") == sent  # half of it was sent by the first attempt
    bus.send("orders", b"more")
    run_through(fragile, cluster, tmp_path / "checkpoint", **options)
    assert kept(bus, "booked") == [*sent, b"more"]
    assert sent[0] not in kept(bus, "orders")


def test_lost_messages_are_told_or_passed_over(
    spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path
) -> None:
    bus.keep_history("short/#", seconds=600, bytes_max=20_000)
    publish(bus, "short/a", numbered(100))
    wait_kept(bus, "history/short/#", 100)
    frame = stream(spark, cluster, topics="short/#", maxMessagesPerTrigger=50).select("body")
    assert collected(frame, tmp_path / "checkpoint", tmp_path / "out").exception() is None
    for start in range(0, 5000, 500):
        publish(bus, "short/a", [body * 10 for body in numbered(500, start)])
    wait_kept(bus, "history/short/#", 5100)
    with pytest.raises(PySparkException, match=r"has lost [0-9]+ messages that were to be read.*failOnDataLoss=false"):
        collected(frame, tmp_path / "checkpoint", tmp_path / "out")
    relaxed = stream(spark, cluster, topics="short/#", failOnDataLoss=False).select("body")
    collected(relaxed, tmp_path / "checkpoint", tmp_path / "out")
    last = spark.read.parquet(str(tmp_path / "out")).agg(F.max("body")).collect()[0][0]
    assert bytes(last) == b"004999" * 10


# Writing -------------------------------------------------------------------------------------------------------
def test_a_batch_write_reaches_topics_and_queues_once(spark: SparkSession, cluster: LocalCluster, bus: Any) -> None:
    bus.keep_history("out/#", seconds=600)
    frame = spark.range(100).select(
        F.when(F.col("id") % 2 == 0, F.concat(F.lit("out/"), F.col("id") % 4)).alias("topic"),
        F.when(F.col("id") % 2 == 1, F.lit("odd")).alias("queue"),
        F.format_string("%03d", "id").alias("body"),
        F.col("id").cast("string").alias("key"),
    )
    for _ in range(2):  # the second time with the same id: nothing is new
        writer = frame.repartition(3, "body").write.format("causeway").option("url", cluster.url)
        writer.option("writeId", "import 7").option("name", "importer").mode("append").save()
    wait_kept(bus, "history/out/#", 50)
    assert sorted(kept(bus, "history/out/#")) == [f"{number:03d}".encode() for number in range(0, 100, 2)]
    odd = [(headers["key"], body) for stretch in bus.read("odd") for headers, body in stretch.messages()]
    assert sorted(odd, key=lambda one: one[1]) == [(str(n), f"{n:03d}".encode()) for n in range(1, 100, 2)]


def test_rows_of_another_order_are_the_same_micro_batch(
    spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path
) -> None:
    """After a shuffle an attempt may see its rows in another order: what it sends is the same."""
    options = write_options({"url": cluster.url, "queue": "shuffled", "name": "shuffler"})
    rows = [{"body": f"{number:03d}"} for number in range(100)]
    assert send_rows(options, [pa.RecordBatch.from_pylist(rows)], "copy.0", 77) == 100
    assert send_rows(options, [pa.RecordBatch.from_pylist(rows[::-1])], "copy.0", 77) == 100
    assert sorted(kept(bus, "shuffled")) == [f"{number:03d}".encode() for number in range(100)]


@pytest.mark.parametrize(("count", "size"), [(150_000, 16), (400, 100_000)])
def test_more_than_the_window_holds_is_written_whole(cluster: LocalCluster, bus: Any, count: int, size: int) -> None:
    """65,536 messages or 16 MiB may be unacknowledged: a task waits for room, and does not fail."""
    queue = f"large-{size}"
    options = write_options({"url": cluster.url, "queue": queue, "name": "loader", "order": "plan"})
    sent = [f"{number:06d}".encode().ljust(size, b".") for number in range(count)]
    batches = [pa.record_batch([pa.array(sent[at : at + 10_000])], ["body"]) for at in range(0, count, 10_000)]
    assert send_rows(options, batches, "copy.0", 5) == count
    assert kept(bus, queue) == sent


# Errors --------------------------------------------------------------------------------------------------------
def test_errors_say_what_is_wrong_and_what_to_do(spark: SparkSession, cluster: LocalCluster) -> None:
    with pytest.raises(PySparkException, match="name a broker, such as causeway://"):
        spark.read.format("causeway").option("topics", "roads/#").load().count()
    with pytest.raises(PySparkException, match="historySeconds begins one of 'nowhere/#'"):
        source(spark, cluster, topics="nowhere/#").count()
    with pytest.raises(PySparkException, match="messages that were sent are sent; use mode"):
        spark.range(1).selectExpr("'x' as body").write.format("causeway").option("url", cluster.url).option(
            "queue", "a"
        ).mode("overwrite").save()
    with pytest.raises(PySparkException, match=r"(?s)TransportError.*127\.0\.0\.1:9"):
        spark.read.format("causeway").option("url", "causeway://127.0.0.1:9").option("topics", "a").option(
            "timeout", "1"
        ).load().count()


def test_a_source_can_begin_the_history_that_it_needs(spark: SparkSession, cluster: LocalCluster) -> None:
    assert source(spark, cluster, topics="fresh/#", historySeconds=60).count() == 0
    with causeway.sync.connect(cluster.url, name="late") as late:
        late.publish("fresh/a", "x")
        wait_kept(late, "history/fresh/#", 1)
    assert source(spark, cluster, topics="fresh/#").count() == 1
