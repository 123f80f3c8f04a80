"""Parts of many runs of a stream are folded into one; killed wherever it is, nothing is lost or counted twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from causeway.pipeline import increments
from causeway.pipeline.increments import fold
from tests.pipeline.lakes import NOON, latency, rounded, run, table, telemetry, write_lake

RUNS = 4


class Killed(Exception):
    """In the place of SIGKILL."""


def added(parts: DataFrame) -> DataFrame:
    return parts.groupBy("name").agg(F.sum("messages").alias("messages"))


def write_run(spark: SparkSession, parts: Path, number: int) -> None:
    rows = spark.createDataFrame([("a", 10**number), ("b", 1)], "name string, messages long")
    rows.write.parquet(str(parts / f"run={number}"))


def sums(spark: SparkSession, folders: list[Path]) -> dict[str, int]:
    return {row["name"]: row["messages"] for row in added(spark.read.parquet(*map(str, folders))).collect()}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(increments, "PARTS_MAX", 2)


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Whoever folds is killed at this step: 0 before what it wrote has its name, then within each removal."""
    numbers = iter(range(100))
    rename, rmtree = Path.rename, shutil.rmtree

    def renamed(self: Path, target: Path) -> Path:
        if self.name.startswith(".upto=") and next(numbers) == step:
            raise Killed
        return rename(self, target)

    def removed(path: Path) -> None:
        if next(numbers) == step:
            next(Path(path).glob("*.parquet")).unlink()
            raise Killed
        rmtree(path)

    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(increments.shutil, "rmtree", removed)


@pytest.mark.parametrize("step", range(RUNS + 1))
def test_fold_that_was_killed_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    for number in range(RUNS):
        write_run(spark, tmp_path, number)
    with monkeypatch.context() as patched:
        kill_at(patched, step)
        with pytest.raises(Killed):
            fold(spark, tmp_path, added)
    write_run(spark, tmp_path, RUNS)
    assert sums(spark, fold(spark, tmp_path, added)) == {"a": 11_111, "b": 5}
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == (["upto=4"] if step == 0 else ["run=4", "upto=3"])


def test_second_fold_takes_the_place_of_the_first_though_it_was_killed(
    spark: SparkSession, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        write_run(spark, tmp_path, number)
    fold(spark, tmp_path, added)
    for number in range(3, 6):
        write_run(spark, tmp_path, number)
    with monkeypatch.context() as patched:
        kill_at(patched, 1)
        with pytest.raises(Killed):
            fold(spark, tmp_path, added)
    assert {"upto=2", "upto=5"} <= {path.name for path in tmp_path.iterdir()}
    assert sums(spark, fold(spark, tmp_path, added)) == {"a": 111_111, "b": 6}
    assert [path.name for path in tmp_path.iterdir()] == ["upto=5"]


def test_what_was_written_and_never_named_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    write_run(spark, tmp_path, 0)
    (tmp_path / ".upto=0").mkdir()
    assert fold(spark, tmp_path, added) == [tmp_path / "run=0"]
    assert not (tmp_path / ".upto=0").exists()


def parts_of(kind: str) -> Iterator[list[dict[str, Any]]]:
    """Rows of a second that come in three parts, so that they are added up."""
    for number in range(3):
        if kind == "telemetry":
            yield [telemetry("a", NOON + second, number + second, item="i", bytes_in=9) for second in range(20)]
        else:
            yield [latency("a", NOON + second, "stored", {second + 1: number + 1}) for second in range(20)]


@pytest.mark.parametrize("job", ["rates", "latency"])
def test_folded_stream_says_what_batch_says(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    monkeypatch.setattr(increments, "PARTS_MAX", 1)
    lake, options = tmp_path / "lake", {"period": 5} if job == "rates" else {}
    runs: list[int] = []
    for samples, sketches in zip(parts_of("telemetry"), parts_of("latency"), strict=True):
        write_lake(lake, "telemetry", samples)
        write_lake(lake, "latency", sketches)
        streamed = run(spark, job, lake, tmp_path / "stream", checkpoint=tmp_path / "kept", **options)
        runs.append(streamed.summary["runs"])
    assert runs == [1, 2, 3]
    kept = {path.name for path in (tmp_path / "kept" / "telemetry" / "parts").iterdir()}
    assert kept == {"upto=1", "run=2"}
    batch = run(spark, job, lake, tmp_path / "batch", **options)
    assert comparable(streamed.summary) == comparable(batch.summary)
    for name in batch.tables:
        if name != "model.json":
            left, right = (sorted(map(repr, rounded(table(tmp_path / where / name)))) for where in ("stream", "batch"))
            assert left == right, name


def comparable(summary: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = rounded({**summary, "runs": 0, "seconds_taken": 0})
    return found
