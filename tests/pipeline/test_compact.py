"""A lake in few files is the same lake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from causeway.errors import ConfigError, LakeError
from causeway.pipeline import compact, quality
from causeway.pipeline.quality import segments
from causeway.trace import Step
from tests.pipeline.lakes import DAY, NOON, event, run, telemetry, write_lake
from tests.unit.lake.lakes import rows_of


def test_copy_has_the_same_rows_in_a_file_per_day_domain_and_writer(spark: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for number in range(1, 7):
        at = (NOON + number % 2 * DAY) * 1_000_000_000
        write_lake(lake, "events", [event(Step.SENT, "a", "b", number, sequence=number, at=at)], domain="north")
        write_lake(lake, "telemetry", [telemetry("x", NOON + number, number)])
    found = run(spark, "compact", lake, tmp_path / "out").summary
    copy = tmp_path / "out" / "lake"
    for kind in ("events", "telemetry"):
        assert rows_of(copy, kind) == rows_of(lake, kind)
        assert found[kind]["before"]["segments"] == 6
    assert {path.parent.parent.parent.name for path in segments(str(copy), "events")} == {
        path.parent.parent.parent.name for path in segments(str(lake), "events")
    }
    assert (found["events"]["after"]["segments"], found["telemetry"]["after"]["segments"]) == (2, 1)
    again = run(spark, "compact", lake, tmp_path / "out").summary
    assert again["events"]["after"]["segments"] == 2, "the copy takes the place of the one before"


def test_segment_that_its_writer_deletes_meanwhile_stops_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (segment,) = write_lake(tmp_path / "lake", "telemetry", [telemetry("x", NOON, 3)])
    gone = segment.with_name("broker-b9-1-000001.parquet")

    def seen(lake: str, kind: str) -> Iterator[Path]:
        yield from segments(lake, kind)
        if (lake, kind) == (str(tmp_path / "lake"), "telemetry"):
            yield gone

    monkeypatch.setattr(quality, "segments", seen)
    monkeypatch.setattr(compact, "segments", seen)
    found = run(spark, "compact", tmp_path / "lake", tmp_path / "out").summary
    assert found["telemetry"]["before"] == {"segments": 1, "bytes": segment.stat().st_size}


def test_lake_is_not_copied_into_itself_and_an_empty_one_not_at_all(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="an --out outside of it"):
        run(spark, "compact", tmp_path, tmp_path / "out")
    (tmp_path / "lake").mkdir()
    with pytest.raises(LakeError, match="no segments of kind=events"):
        run(spark, "compact", tmp_path / "lake", tmp_path / "out")
