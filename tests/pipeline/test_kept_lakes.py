"""Jobs on lakes that are compacted and retired: every row counts once, what is missing is seen, nothing is invented."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from causeway.errors import LakeError
from causeway.lake.days import DAY
from causeway.lake.keeping import compact, retain
from causeway.lake.segments import WriterName
from causeway.lake.table import listing
from causeway.lake.writer import LakeWriter
from causeway.pipeline.audit import job as audit
from causeway.pipeline.audit.doubts import GAPS, RETIRED, sums_of
from causeway.pipeline.audit.judging import life_sums, lives_in
from causeway.pipeline.frame import read_lake
from causeway.pipeline.reading import read_rows
from causeway.topics.items import item_of
from causeway.trace import Step, TraceRecord
from tests.pipeline.lakes import rounded, run

TODAY = time.time_ns() // DAY
PAST = TODAY - 40
ROLLS = 5


def write(lake: Path, days: tuple[int, ...] = (PAST, TODAY), *, close: bool = True) -> None:
    """A broker that takes, hands out and settles a message in each segment, over these days, in one life."""
    broker = LakeWriter(lake, WriterName("b1", "broker", 7, "north"), copies=1)
    number = 0
    for day in days:
        for roll in range(ROLLS):
            number += 1
            at = day * DAY + roll * 1_000_000_000
            broker.take([record(step, number, at + step) for step in (Step.TAKEN, Step.DELIVERED, Step.SETTLED)])
            broker.roll()
    if close:
        broker.close(days[-1] * DAY + ROLLS * 1_000_000_000)


def record(step: Step, number: int, at: int) -> TraceRecord:
    return TraceRecord(at, "b1", step, "shop", 3, "box", 1, number, number, service=1, mailbox="box", bytes=10)


def age(lake: Path) -> None:
    for path in lake.rglob("*.parquet"):
        os.utime(path, (time.time() - 7200, time.time() - 7200))


def certificate(spark: SparkSession, lake: Path, out: Path) -> dict[str, Any]:
    summary = run(spark, "audit", lake, out).summary
    return {name: value for name, value in rounded(summary).items() if name != "seconds_taken"}


@pytest.fixture(params=["one process", "spark"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How lakes are audited."""
    if request.param == "spark":
        monkeypatch.setattr(audit, "SMALL_ROWS", 0)


def test_compacted_lake_has_the_same_certificate(spark: SparkSession, tmp_path: Path, way: None) -> None:
    lake = tmp_path / "lake"
    write(lake, close=False)
    before = certificate(spark, lake, tmp_path / "before")
    assert compact(str(lake), idle=0).replaced > 0
    assert certificate(spark, lake, tmp_path / "after") == before  # what was replaced is there, and does not count
    age(lake)
    assert compact(str(lake)).removed > 0
    assert certificate(spark, lake, tmp_path / "later") == before


def test_retired_records_are_a_doubt_of_their_own_and_no_finding(
    spark: SparkSession, tmp_path: Path, way: None
) -> None:
    lake = tmp_path / "lake"
    write(lake)
    whole = certificate(spark, lake, tmp_path / "before")
    retain(str(lake), days=30, grace=0)
    found = certificate(spark, lake, tmp_path / "after")
    assert [doubt for doubt in found["doubts"] if doubt not in whole["doubts"]] == [f"{RETIRED}: b1 in its life 7"]
    assert found["found"] == {}
    assert found["verdict"] == "clean as far as records go"
    assert found["scope"]["records"] == whole["scope"]["records"] - 3 * ROLLS


def test_segment_that_is_missing_is_seen_beside_those_that_were_compacted_and_retired(
    spark: SparkSession, tmp_path: Path, way: None
) -> None:
    lake = tmp_path / "lake"
    write(lake, (PAST, TODAY - 1, TODAY), close=False)
    next(lake.rglob(f"kind=events/*-{ROLLS + 3:06}.parquet")).unlink()
    compact(str(lake), idle=0, grace=0)
    retain(str(lake), days=30, grace=0)
    assert f"{GAPS}: b1 in its life 7" in certificate(spark, lake, tmp_path / "out")["doubts"]


def test_what_was_missing_when_the_rest_was_retired_stays_missing(
    spark: SparkSession, tmp_path: Path, way: None
) -> None:
    lake = tmp_path / "lake"
    write(lake, close=False)
    next(lake.rglob("kind=events/*-000002.parquet")).unlink()
    retain(str(lake), days=30, grace=0)
    assert f"{GAPS}: b1 in its life 7" in certificate(spark, lake, tmp_path / "out")["doubts"]


def test_spark_adds_up_a_retired_life_as_one_process_does(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path)
    retain(str(tmp_path), days=30, grace=0)
    assert lives_in(life_sums(read_lake(spark, str(tmp_path), "events"))) == sums_of(read_rows(str(tmp_path), "events"))


def streamed(spark: SparkSession, lake: Path, out: Path, job: str = "rates") -> dict[str, Any]:
    return rounded(run(spark, job, lake, out, checkpoint=out / "kept").summary)


def topics(lake: Path, first: int, last: int, writer: LakeWriter | None = None) -> LakeWriter:
    """A broker whose items take a message of a topic in each segment."""
    broker = writer or LakeWriter(lake, WriterName("b2", "broker", 7, "north"))
    for number in range(first, last + 1):
        at = TODAY * DAY + number * 1_000_000_000
        item, ids = item_of("a/b"), (number, number)
        where = {"service": 1, "topic": "a/b", "mailbox": item}
        broker.take([TraceRecord(at, "b2", Step.STORED, "shop", 3, item, 1, *ids, **where)])
        broker.roll()
    return broker


def test_stream_reads_each_row_once_whatever_takes_whose_place(spark: SparkSession, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    broker = topics(lake, 1, 4)
    compact(str(lake), idle=0, grace=0)  # before the stream begins
    topics(lake, 5, 7, broker)
    assert streamed(spark, lake, out)["messages"] == 7
    compact(str(lake), idle=0)  # what it has read
    assert streamed(spark, lake, out)["messages"] == 7
    topics(lake, 8, 30, broker)  # the writer merges these meanwhile
    assert any(one.name and one.name.is_replacement for one in listing(str(lake), "telemetry").live)
    found = streamed(spark, lake, out)
    assert found["messages"] == 30 == run(spark, "rates", lake, tmp_path / "batch").summary["messages"]


def test_stream_that_has_not_read_what_was_compacted_and_removed_says_so(spark: SparkSession, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    broker = topics(lake, 1, 2)
    streamed(spark, lake, out)
    topics(lake, 3, 5, broker)
    compact(str(lake), idle=0, grace=0)
    with pytest.raises(LakeError, match="segments that this stream had not read"):
        streamed(spark, lake, out)
