"""Filters of a query reach the broker: what is read over the wire is what is asked for, and nothing is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, LessThan

from causeway.client.inquiries import BrowseInquiry
from causeway.errors import DataLost
from causeway.pipeline.connector import register
from causeway.pipeline.connector.options import read_options
from causeway.pipeline.connector.reading import CausewayReader
from causeway.pipeline.connector.schema import SCHEMA
from causeway.pipeline.connector.source import PUSHDOWN
from causeway.testing import LocalCluster
from tests.pipeline.bus_cluster import publish, running_bus, source, wait_kept

TOPICS, EACH = 1_000, 20


@pytest.fixture(scope="module")
def place(spark: SparkSession) -> Iterator[tuple[LocalCluster, Any]]:
    register(spark)
    with running_bus() as (cluster, bus):
        bus.keep_history("many/#", seconds=600)
        for topic in range(TOPICS):
            bus.ready(60)
            for number in range(EACH):
                bus.publish_nowait(f"many/{topic}", f"{topic}.{number}")
        bus.flush(100)
        wait_kept(bus, "history/many/#", TOPICS * EACH)
        yield cluster, bus


@pytest.fixture
def cluster(place: tuple[LocalCluster, Any]) -> LocalCluster:
    return place[0]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages each answer of a broker to this process brought, whoever asked."""
    counts: list[int] = []
    take = BrowseInquiry.on_answer

    def counting(self: Any, turn: Any, head: Any, body: bytes) -> bool:
        counts.append(sum(one.count for one in head.batches))
        return take(self, turn, head, body)

    monkeypatch.setattr(BrowseInquiry, "on_answer", counting)
    return counts


def rows(cluster: LocalCluster, *filters: Any, **options: str) -> list[dict[str, Any]]:
    """What a reader makes of filters, in this process, so that messages on their way can be counted."""
    given = {"url": cluster.url, "topics": "many/#", **options}
    reader = CausewayReader(read_options(given, stream=False), SCHEMA)
    reader.pushFilters(list(filters))
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def test_one_topic_of_a_thousand_comes_alone_over_the_wire(cluster: LocalCluster, shown: list[int]) -> None:
    found = rows(cluster, EqualTo(("topic",), "many/7"))
    assert len(found) == EACH
    assert {row["topic"] for row in found} == {"many/7"}
    assert sum(shown) <= 0.02 * TOPICS * EACH, "more came over the wire than was asked for"


def test_spark_hands_the_filter_over_and_does_not_check_it_again(
    spark: SparkSession, cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = source(spark, cluster, topics="many/#").where("topic = 'many/7'")
    assert frame.count() == EACH
    frame.explain("formatted")
    plan = capsys.readouterr().out
    assert re.search(r"PushedFilters: \[.*EqualTo\(topic,many/7\)", plan)
    assert "Filter (" not in plan


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("topic IN ('many/1', 'many/2', 'rails/1')", 2 * EACH),
        ("topic = 'many/1' AND topic IN ('many/2')", 0),
        ("topic LIKE 'many/99%'", 11 * EACH),
        ("topic = 'many/*'", 0),
        ("topic = 'rails/1'", 0),
        ("topic IS NOT NULL", TOPICS * EACH),
        ("queue = 'orders'", 0),
        ("topic = 'many/1' OR source = 'nobody'", EACH),
        ("offset >= 100 AND offset < 150", 50),
        ("offset = 5", 1),
        ("offset < 0", 0),
        ("topic = 'many/3' AND offset < 1000", 20),
    ],
)
def test_what_is_found_is_what_spark_would_find(
    spark: SparkSession, cluster: LocalCluster, where: str, count: int
) -> None:
    frame = source(spark, cluster, topics="many/#")
    assert frame.where(where).count() == count
    unpushed = frame.withColumn("again", F.rand()).where("again >= 0").where(where)
    if count < 1000:
        assert unpushed.where(where).count() == count


def test_times_are_filtered_by_the_broker(spark: SparkSession, cluster: LocalCluster, shown: list[int]) -> None:
    frame = source(spark, cluster, topics="many/#")
    times = [row.time for row in frame.select("time").distinct().orderBy("time").collect()]
    middle = times[len(times) // 2]
    by_spark = frame.groupBy("time").count().where(F.col("count") > 0).collect()
    late = sum(row["count"] for row in by_spark if row.time >= middle)
    assert frame.where(F.col("time") >= F.lit(middle)).count() == late
    assert frame.where(F.col("time") < F.lit(middle)).count() == TOPICS * EACH - late
    found = rows(cluster, GreaterThanOrEqual(("time",), middle.astimezone(UTC)))
    assert len(found) == sum(shown) - 1 == late  # one message says where the history begins


def test_a_session_that_pushes_no_filters_finds_the_same(spark: SparkSession, cluster: LocalCluster) -> None:
    spark.conf.set(PUSHDOWN, "false")
    try:
        reader = spark.read.format("causeway").option("url", cluster.url).option("topics", "many/#")
        assert reader.load().where("topic = 'many/7'").count() == EACH
    finally:
        spark.conf.set(PUSHDOWN, "true")


def test_offsets_read_only_their_part_of_a_history(cluster: LocalCluster, shown: list[int]) -> None:
    found = rows(cluster, GreaterThanOrEqual(("offset",), 100), LessThan(("offset",), 150))
    assert sorted(row["offset"] for row in found) == list(range(100, 150))
    assert sum(shown) < 150


def test_filters_lose_nothing_that_a_history_has_lost_silently(cluster: LocalCluster, place: Any) -> None:
    """What has ended is told also when it is not among what is asked for: nobody knows its topic any more."""
    bus = place[1]
    bus.keep_history("brief/#", seconds=600, bytes_max=20_000)
    publish(bus, "brief/a", [b"x" * 60] * 100)
    wait_kept(bus, "history/brief/#", 100)
    reader = CausewayReader(read_options({"url": cluster.url, "topics": "brief/#"}, stream=False), SCHEMA)
    reader.pushFilters([EqualTo(("topic",), "brief/b")])
    parts = reader.partitions()
    for _ in range(10):
        publish(bus, "brief/a", [b"x" * 60] * 500)
    wait_kept(bus, "history/brief/#", 5100)
    with pytest.raises(DataLost, match=r"has lost [0-9]+ messages"):
        for part in parts:
            list(reader.read(part))
