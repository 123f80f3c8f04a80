"""Made-up lakes: one command makes all kinds of rows, the same for a seed, and every job can read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from causeway.errors import ConfigError
from causeway.lake.schema import KINDS
from causeway.lake.sketch import value_of
from causeway.pipeline.frame import read_lake
from causeway.pipeline.generate.telemetry import HOPS
from causeway.trace import Step
from tests.pipeline.lakes import event, run, write_segment

SMALL = {
    "events": "3000",
    "applications": "10",
    "faults": "1",
    "topics": "30",
    "items": "6",
    "seconds": "900",
    "rate": "1",
    "crowds": "2",
}


def content(spark: SparkSession, lake: Path, kind: str) -> list[str]:
    rows = read_lake(spark, str(lake), kind)
    return sorted(row["all"] for row in rows.select(F.to_json(F.struct(*rows.columns)).alias("all")).collect())


def test_one_command_makes_every_kind_of_rows_the_same_for_a_seed(spark: SparkSession, tmp_path: Path) -> None:
    made = [run(spark, "generate", tmp_path / name, tmp_path / "out", **SMALL).summary for name in ("one", "two")]
    for kind in KINDS:
        rows = content(spark, tmp_path / "one", kind)
        assert rows == content(spark, tmp_path / "two", kind)
        assert made[0][f"{kind}_rows"] == len(rows) > 1000
    assert sum(made[0]["faults"].values()) == 9  # one circle, so none of the kind that needs a rough one

    rates = run(spark, "rates", tmp_path / "one", tmp_path / "rates", period="60").summary
    messages = read_lake(spark, str(tmp_path / "one"), "telemetry").agg(F.sum("messages_in")).first()
    assert messages is not None
    assert (rates["topics"], rates["items"], rates["messages"]) == (30, 6, messages[0])
    hops: dict[str, Any] = run(spark, "latency", tmp_path / "one", tmp_path / "latency").summary["hops"]
    assert {hop: found["messages"] for hop, found in hops.items()} == dict.fromkeys(HOPS, messages[0])
    assert hops["stored"]["p50_ms"] / hops["delivered"]["p50_ms"] == pytest.approx(4, rel=0.1)
    assert hops["stored"]["p50_ms"] < hops["stored"]["p99_ms"] < value_of(2100) / 1e6


def test_what_cannot_be_made_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(tmp_path / "lake", "events", [event(Step.SENT, "a", "b", 1)], day="2026-11-17")
    with pytest.raises(ConfigError, match="holds a lake already"):
        run(spark, "generate", tmp_path / "lake", tmp_path / "out")
    for options, complaint in (
        ({"events": "many"}, "set events='many'"),
        ({"events": "7"}, "must be 0, or at least 1000"),
        ({"events": "0", "topics": "0"}, "nothing is to be made"),
        ({"topics": "3", "items": "4"}, "at most as many as topics"),
        ({"latency": "maybe"}, "must be yes or no"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            run(spark, "generate", tmp_path / "new", tmp_path / "out", **options)
