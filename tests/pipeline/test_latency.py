"""Percentiles from merged sketches are those of the sketches' own definition."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from causeway.errors import LakeError
from causeway.lake.sketch import number_of
from causeway.pipeline.latency import PARTS
from tests.pipeline.lakes import NOON, latency, run, telemetry, write_lake
from tests.sketches import merged, quantile

HOPS = ("stored", "delivered", "held", "acknowledged")


def sketches(seed: int) -> list[dict[str, Any]]:
    """Random sketches, a few with durations that a jumped clock made negative."""
    rng = random.Random(seed)
    rows = []
    for _ in range(60):
        counts: dict[int, int] = {}
        for _ in range(rng.randint(1, 30)):
            number = number_of(int(rng.lognormvariate(14, 1.5))) if rng.random() > 0.02 else number_of(-5)
            counts[number] = counts.get(number, 0) + rng.randint(1, 50)
        where = {"service": rng.randint(0, 2), "writer": rng.choice(["b1", "b2"])}
        rows.append(latency(rng.choice("xyz"), NOON + rng.randint(0, 99), rng.choice(HOPS), counts, **where))
    return rows


def table(spark: SparkSession, out: Path) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    rows = spark.read.parquet(str(out / "latency")).collect()
    columns = ("messages", "not_positive", *(f"{name}_ms" for name in PARTS))
    return {(row.cut, row.hop, row.service, row.name, row.domain): tuple(row[one] for one in columns) for row in rows}


def expected(rows: list[dict[str, Any]]) -> tuple[Any, ...]:
    counts = merged(dict(zip(row["buckets"], row["counts"], strict=True)) for row in rows)
    total = sum(counts.values())
    return total, counts.get(0, 0), *(pytest.approx(quantile(counts, part) / 1e6) for part in PARTS.values())


def test_percentiles_of_every_cut_are_those_of_the_sketches(spark: SparkSession, tmp_path: Path) -> None:
    rows = sketches(3)
    lake = tmp_path / "lake"
    write_lake(lake, "latency", rows[:40], domain="north")
    write_lake(lake, "latency", rows[40:], domain="south")
    write_lake(lake, "telemetry", [telemetry("x", NOON, 30, bytes_in=400, bytes_out=600)])
    summary = run(spark, "latency", lake, tmp_path).summary

    wanted: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        hop, service, name, domain = row["hop"], row["service"], row["name"], "north" if number < 40 else "south"
        for key in (
            ("all", hop, None, None, None),
            ("class", hop, service, None, None),
            ("topic", hop, None, name, None),
            ("site", hop, None, None, domain),
            ("each", hop, service, name, domain),
        ):
            wanted.setdefault(key, []).append(row)
    found = table(spark, tmp_path)
    assert set(found) == set(wanted)
    for key, mine in wanted.items():
        assert found[key] == expected(mine), key

    held = [row for row in rows if row["hop"] == "held"]
    assert summary["held"]["messages"] == sum(sum(row["counts"]) for row in held)
    assert summary["not_positive"] == expected(rows)[1] > 0
    stored = sum(path.stat().st_size for path in lake.rglob("*.parquet"))
    assert summary["monitoring"]["bytes_per_message"] == stored / 30
    assert summary["monitoring"]["part_of_bytes_carried"] == stored / 1000


def test_stream_says_what_batch_says(spark: SparkSession, tmp_path: Path) -> None:
    rows = sketches(4)
    lake = tmp_path / "lake"
    for part in (rows[:30], rows[30:], []):
        write_lake(lake, "latency", part)
        streamed = run(spark, "latency", lake, tmp_path / "stream", checkpoint=tmp_path / "kept")
    batch = run(spark, "latency", lake, tmp_path / "batch")
    assert streamed.summary["runs"] == 2  # the third time there was nothing new
    assert table(spark, tmp_path / "stream") == table(spark, tmp_path / "batch")
    assert streamed.figures == batch.figures
    assert {**streamed.summary, "runs": 0, "seconds_taken": 0} == {**batch.summary, "runs": 0, "seconds_taken": 0}


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"counts": [1]}, "differ in length"),
        ({"counts": [1, -1]}, "a count is negative"),
        ({"buckets": [1, 9_999]}, "a bucket is not in"),
    ],
)
def test_sketch_that_is_none_stops_the_job(
    spark: SparkSession, tmp_path: Path, broken: dict[str, Any], rule: str
) -> None:
    write_lake(tmp_path / "lake", "latency", [latency("a", NOON, "stored", {1: 1, 2: 1}) | broken])
    with pytest.raises(LakeError, match=rule):
        run(spark, "latency", tmp_path / "lake", tmp_path)


def test_lake_with_empty_sketches_alone_is_named(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", "latency", [latency("a", NOON, "stored", {})])
    with pytest.raises(LakeError, match="without one duration"):
        run(spark, "latency", tmp_path / "lake", tmp_path)
