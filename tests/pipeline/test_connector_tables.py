"""Tables, lists, names of Kafka, order and lag: what users of Spark expect of a source, on a real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PythonException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.datasource import ReadAllAvailable

from causeway.pipeline.connector import create_tables, register
from causeway.pipeline.connector.options import read_options
from causeway.pipeline.connector.progress import mailbox_progress
from causeway.pipeline.connector.reading import CausewayStreamReader
from causeway.pipeline.connector.schema import SCHEMA
from causeway.testing import LocalCluster
from tests.pipeline.bus_cluster import kept, publish, run_through, running_bus, source, stream, wait_kept


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


@pytest.fixture
def database(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    spark.sql(f"CREATE DATABASE shop LOCATION '{tmp_path / 'shop'}'")
    yield "shop"
    spark.sql("DROP DATABASE shop CASCADE")


def numbered(count: int) -> list[bytes]:
    return [f"{number:06d}".encode() for number in range(count)]


def test_tables_are_read_and_written_with_the_options_that_made_them(
    spark: SparkSession, cluster: LocalCluster, bus: Any, database: str
) -> None:
    bus.keep_history("rails/#", seconds=600)
    publish(bus, "rails/a", numbered(3))
    publish(bus, "rails/b", numbered(2))
    wait_kept(bus, "history/rails/#", 5)
    spark.sql(f"CREATE TABLE shop.rails USING causeway OPTIONS (url '{cluster.url}', topics 'rails/#')")
    assert spark.sql("SELECT * FROM shop.rails WHERE topic = 'rails/a'").count() == 3
    spark.sql(f"CREATE TABLE shop.till USING causeway OPTIONS (url '{cluster.url}', queue 'till')")
    spark.sql("INSERT INTO shop.till (body, key) VALUES ('1', 'k')")
    assert kept(bus, "till") == [b"1"]
    with pytest.raises(AnalysisException, match="name topics"):
        spark.sql(f"CREATE TABLE shop.bad USING causeway OPTIONS (url '{cluster.url}')")
    spark.sql(f"CREATE TABLE shop.listed (body binary) USING causeway OPTIONS (url '{cluster.url}', topics 'rails/#')")
    with pytest.raises(AnalysisException, match="Spark forgets that of a table with listed columns"):
        spark.sql("SELECT * FROM shop.listed").count()


def test_what_there_is_to_read_is_listed(spark: SparkSession, cluster: LocalCluster, bus: Any) -> None:
    bus.keep_history("planes/#", seconds=600)
    publish(bus, "planes/a", numbered(4))
    wait_kept(bus, "history/planes/#", 4)
    bus.send("gate 7", b"x")
    listing = spark.read.format("causeway").option("url", cluster.url).option("listing", "true").load()
    rows = {row.name: row for row in listing.collect()}
    assert (rows["history/planes/#"].topics, rows["history/planes/#"].messages) == ("planes/#", 4)
    assert (rows["gate 7"].kind, rows["gate 7"].messages) == ("queue", 1)
    assert not any(name.startswith("causeway/") for name in rows)
    try:
        assert {"planes", "gate_7"} <= set(create_tables(spark, cluster.url, "listed"))
        assert {"planes", "gate_7"} <= {row.tableName for row in spark.sql("SHOW TABLES IN listed").collect()}
        assert spark.table("listed.planes").count() == 4
        assert spark.table("listed.gate_7").count() == 1
    finally:
        spark.sql("DROP DATABASE listed CASCADE")


def test_kafkas_names_are_understood(spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path) -> None:
    bus.keep_history("ships/#", seconds=600)
    for topic in ("ships/a", "ships/b", "ships/c"):
        publish(bus, topic, numbered(10))
    wait_kept(bus, "history/ships/#", 30)
    kafka = {"kafka.bootstrap.servers": cluster.url.removeprefix("causeway://"), "columns": "kafka"}
    frame = spark.read.format("causeway").options(**kafka, subscribe="ships/a, ships/b").load()
    assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert frame.count() == 20
    assert frame.where("timestamp > '2020-01-01'").count() == 20
    assert spark.read.format("causeway").options(**kafka, subscribePattern="ships/*").load().count() == 30
    reader = spark.readStream.format("causeway").options(**kafka, subscribePattern="ships/*")
    limited = reader.option("maxOffsetsPerTrigger", 10).option("startingOffsets", "earliest").load()
    copy = limited.select(F.lit("copied").alias("queue"), "key", "value")
    query = run_through(copy, cluster, tmp_path / "checkpoint")
    assert [one["numInputRows"] for one in query.recentProgress if one["numInputRows"]] == [10, 10, 10]
    assert len(kept(bus, "copied")) == 30


def test_columns_that_are_not_asked_for_are_not_read(spark: SparkSession, cluster: LocalCluster, bus: Any) -> None:
    bus.send("narrow", b"x")
    frame = source(spark, cluster, queues="narrow", columns="offset, body")
    assert frame.columns == ["offset", "body"]
    assert frame.count() == 1


def test_the_order_of_each_topic_goes_from_source_to_sink(
    spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path
) -> None:
    """With several partitions, and bodies that content would sort apart."""
    for pattern in ("first/#", "second/#"):
        bus.keep_history(pattern, seconds=600)
    bodies = [f"{(number * 7919) % 1000:03d}".encode() for number in range(300)]
    for start in range(0, 300, 10):
        for topic in ("first/a", "first/b", "first/c", "first/d"):
            publish(bus, topic, bodies[start : start + 10])
    wait_kept(bus, "history/first/#", 1200)
    frame = stream(spark, cluster, topics="first/#", minPartitions=3, maxMessagesPerTrigger=500)
    copy = frame.select(F.regexp_replace("topic", "first", "second").alias("topic"), "body")
    run_through(copy, cluster, tmp_path / "checkpoint")
    wait_kept(bus, "history/second/#", 1200)
    found: dict[str, list[bytes]] = {}
    for stretch in bus.read("history/second/#"):
        found.setdefault(str(stretch.topic), []).extend(body for _, body in stretch.messages())
    assert found == {f"second/{letter}": bodies for letter in "abcd"}


def test_what_was_shuffled_is_sent_in_an_order_of_its_own(
    spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path
) -> None:
    """Another attempt gets its rows in another order: only their content can say which was which."""
    for body in (b"3", b"1", b"2"):
        bus.send("mixed", body)
    shuffled = stream(spark, cluster, queues="mixed").select("body").repartition(1)
    run_through(shuffled, cluster, tmp_path / "checkpoint", queue="sorted")
    assert kept(bus, "sorted") == [b"1", b"2", b"3"]


def test_progress_says_how_far_behind_a_stream_is(
    spark: SparkSession, cluster: LocalCluster, bus: Any, tmp_path: Path
) -> None:
    bus.keep_history("lag/#", seconds=600)
    publish(bus, "lag/a", numbered(100))
    wait_kept(bus, "history/lag/#", 100)
    frame = stream(spark, cluster, topics="lag/#", maxMessagesPerTrigger=40).selectExpr("'lagged' AS queue", "body")
    query = run_through(frame, cluster, tmp_path / "checkpoint")
    found = [one for progress in query.recentProgress for one in mailbox_progress(progress) if one.messages]
    assert [one.mailbox for one in found] == ["history/lag/#"] * 3
    assert [(one.messages, one.lag_messages) for one in found] == [(40, 60), (40, 20), (20, 0)]
    assert found[0].lag_seconds > 0
    assert found[2].lag_seconds == 0
    assert all(one.messages_per_second > 0 for one in found)


def test_a_stream_may_begin_before_its_queue(cluster: LocalCluster, bus: Any) -> None:
    options = read_options({"url": cluster.url, "queues": "unborn"}, stream=True)
    reader = CausewayStreamReader(options, SCHEMA)
    begun = reader.initialOffset()
    assert reader.latestOffset(begun, ReadAllAvailable()) == begun
    bus.send("unborn", b"x")
    end = reader.latestOffset(begun, ReadAllAvailable())
    rows = [row for part in reader.partitions(begun, end) for batch in reader.read(part) for row in batch.to_pylist()]
    assert [row["body"] for row in rows] == [b"x"]
    reader.stop()


def test_errors_come_as_the_guide_says(spark: SparkSession, cluster: LocalCluster, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="historySeconds begins one of") as planned:
        source(spark, cluster, topics="nowhere/#").count()
    with pytest.raises(PythonException, match="filter such rows out") as written:
        empty = spark.sql("SELECT cast(null AS string) AS body")
        empty.write.format("causeway").option("url", cluster.url).option("queue", "x").mode("append").save()
    with pytest.raises(StreamingQueryException, match="historySeconds begins one of") as streamed:
        run_through(stream(spark, cluster, topics="nowhere/#").select("topic", "body"), cluster, tmp_path / "c")
    raised = [(one.value.getCondition(), one.value.getSqlState()) for one in (planned, written, streamed)]
    assert raised == [
        ("PYTHON_DATA_SOURCE_ERROR", "38000"),
        ("PYTHON_EXCEPTION", "38000"),
        ("STREAM_FAILED", "XXKST"),
    ]
