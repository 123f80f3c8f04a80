"""Parts of many runs of a stream are folded into one; killed wherever it is, nothing is lost or counted twice, and
nothing is taken away from whoever reads."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from causeway.cli.main import main
from causeway.errors import ConfigError, PipelineError
from causeway.lake.locations import Location, locate
from causeway.pipeline import increments, jobs
from causeway.pipeline.frame import JobRequest, write_result
from causeway.pipeline.increments import fold, sole_run
from tests.pipeline.lakes import NOON, latency, rounded, run, table, telemetry, write_lake

RUNS = 4


class Killed(Exception):
    """In the place of SIGKILL."""


def added(parts: DataFrame) -> DataFrame:
    return parts.groupBy("name").agg(F.sum("messages").alias("messages"))


def write_run(spark: SparkSession, parts: Path, number: int) -> None:
    rows = spark.createDataFrame([("a", 10**number), ("b", 1)], "name string, messages long")
    rows.write.parquet(str(parts / f"run={number}"))


def sums(spark: SparkSession, folders: list[Location]) -> dict[str, int]:
    return {row["name"]: row["messages"] for row in added(spark.read.parquet(*map(str, folders))).collect()}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(increments, "PARTS_MAX", 2)


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Whoever folds is killed at this step: 0 before what it wrote counts, then within each later removal."""
    numbers = iter(range(100))
    write, remove = Location.write, Location.remove_folder

    def marked(self: Location, data: bytes) -> None:
        if next(numbers) == step:
            raise Killed
        write(self, data)

    def removed(self: Location) -> None:
        if next(numbers) == step:
            next(Path(self.path).glob("*.parquet")).unlink()
            raise Killed
        remove(self)

    monkeypatch.setattr(Location, "write", marked)
    monkeypatch.setattr(Location, "remove_folder", removed)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("step", range(RUNS + 1))
def test_fold_that_was_killed_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    for number in range(RUNS):
        write_run(spark, tmp_path, number)
    with monkeypatch.context() as patched:
        kill_at(patched, step)
        if step > 0:
            fold(spark, locate(tmp_path), added)  # removes nothing yet
        with pytest.raises(Killed):
            fold(spark, locate(tmp_path), added)
    write_run(spark, tmp_path, RUNS)
    for _ in range(2):
        assert sums(spark, fold(spark, locate(tmp_path), added)) == {"a": 11_111, "b": 5}
    assert names(tmp_path) == (["upto=4"] if step == 0 else ["run=4", "upto=3"])


def test_second_fold_takes_the_place_of_the_first_though_it_was_killed(
    spark: SparkSession, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        write_run(spark, tmp_path, number)
        if number == 2:
            fold(spark, locate(tmp_path), added)
    fold(spark, locate(tmp_path), added)
    assert names(tmp_path) == ["run=3", "run=4", "run=5", "upto=2", "upto=5"]
    with monkeypatch.context() as patched:
        kill_at(patched, 0)
        with pytest.raises(Killed):
            fold(spark, locate(tmp_path), added)
    assert {"upto=2", "upto=5"} <= set(names(tmp_path))
    assert sums(spark, fold(spark, locate(tmp_path), added)) == {"a": 111_111, "b": 6}
    assert names(tmp_path) == ["upto=5"]


def test_whoever_still_reads_finds_what_is_folded_meanwhile(spark: SparkSession, tmp_path: Path, few: None) -> None:
    for number in range(2):
        write_run(spark, tmp_path, number)
    reading = added(spark.read.parquet(*map(str, fold(spark, locate(tmp_path), added))))
    write_run(spark, tmp_path, 2)
    assert [path.name for path in fold(spark, locate(tmp_path), added)] == ["upto=2"]
    assert {row["name"]: row["messages"] for row in reading.collect()} == {"a": 11, "b": 2}


def test_fold_is_on_the_disk_before_it_counts(
    spark: SparkSession, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        write_run(spark, tmp_path, number)
    write, fsync = Location.write, os.fsync
    steps: list[str] = []

    def marked(self: Location, data: bytes) -> None:
        steps.append("marked")
        write(self, data)

    def synced(handle: int) -> None:
        steps.append(str(Path(f"/proc/self/fd/{handle}").readlink().relative_to(tmp_path.resolve())))
        fsync(handle)

    monkeypatch.setattr(Location, "write", marked)
    monkeypatch.setattr(os, "fsync", synced)
    (named,) = fold(spark, locate(tmp_path), added)
    before = steps[: steps.index("marked")]
    written = {f"upto=2/{name}" for name in names(Path(named.path)) if name != "_whole"}
    assert any(name.endswith(".parquet") for name in written)
    assert set(before[:-1]) == written
    assert before[-1] == "upto=2"


def test_what_was_written_and_never_marked_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    write_run(spark, tmp_path, 0)
    (tmp_path / "upto=0").mkdir()
    assert fold(spark, locate(tmp_path), added) == [locate(tmp_path) / "run=0"]
    assert not (tmp_path / "upto=0").exists()


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
    assert kept == {"upto=1", "run=2"}  # what the second run merged, the third has removed
    batch = run(spark, job, lake, tmp_path / "batch", **options)
    assert comparable(streamed.summary) == comparable(batch.summary)
    for name in batch.tables:
        if name != "model.json":
            left, right = (sorted(map(repr, rounded(table(tmp_path / where / name)))) for where in ("stream", "batch"))
            assert left == right, name


def comparable(summary: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = rounded({**summary, "runs": 0, "seconds_taken": 0})
    return found


# What is refused ----------------------------------------------------------------------------------------------------
def second_of_latency(number: int) -> list[dict[str, Any]]:
    return [latency("a", NOON + number, "stored", {1: 1})]


@pytest.mark.parametrize(("parts_max", "kept"), [(1, ["run=0", "run=1", "upto=1"]), (9, ["run=0", "run=1"])])
def test_checkpoint_that_lost_what_spark_wrote_down_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts_max: int, kept: list[str]
) -> None:
    monkeypatch.setattr(increments, "PARTS_MAX", parts_max)
    lake, folder = tmp_path / "lake", tmp_path / "kept"
    for number in range(2):
        write_lake(lake, "latency", second_of_latency(number))
        run(spark, "latency", lake, tmp_path / "out", checkpoint=folder)
    shutil.rmtree(folder / "latency" / "spark")
    with pytest.raises(ConfigError, match=r"kept/latency.*give another --checkpoint and --out"):
        run(spark, "latency", lake, tmp_path / "out", checkpoint=folder)
    assert names(folder / "latency" / "parts") == kept


def write_log(folder: Path, log: str, numbers: range) -> None:
    (folder / "spark" / log).mkdir(parents=True)
    for number in numbers:
        (folder / "spark" / log / str(number)).touch()
        (folder / "spark" / log / f".{number}.crc").touch()


@pytest.mark.parametrize(
    ("begun", "done", "kept", "fits"),
    [
        (0, 0, [], True),
        (1, 0, ["run=0"], True),  # interrupted, and to be repeated
        (3, 3, ["upto=2"], True),
        (4, 3, ["upto=2", "run=3"], True),
        (3, 2, ["upto=2"], False),  # would be repeated, and not counted
        (0, 3, ["upto=2"], False),
        (3, 3, ["run=3"], False),
        (0, 0, ["rows/run=0"], False),  # as the audit keeps them
    ],
)
def test_next_run_has_a_number_of_its_own(tmp_path: Path, begun: int, done: int, kept: list[str], fits: bool) -> None:
    write_log(tmp_path, "offsets", range(begun))
    write_log(tmp_path, "commits", range(done))
    for name in kept:
        (tmp_path / "parts" / name).mkdir(parents=True)
    if fits:
        increments._check_numbers(locate(tmp_path), locate(tmp_path / "parts"))
        return
    with pytest.raises(ConfigError, match="more runs than Spark wrote down"):
        increments._check_numbers(locate(tmp_path), locate(tmp_path / "parts"))


def test_second_command_with_the_checkpoint_is_refused_until_the_first_has_ended(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, folder = tmp_path / "lake", tmp_path / "kept"
    write_lake(lake, "latency", second_of_latency(0))
    line = ["pipeline", "latency", "--stream", "--lake", str(lake), "--checkpoint", str(folder), "--json"]
    second: list[int] = []

    def written(*given: Any) -> dict[str, Any]:
        """The last that a command does."""
        second.append(main([*line, "--out", str(tmp_path / "second")]))
        return write_result(*given)

    monkeypatch.setattr(jobs, "write_result", written)
    assert main([*line, "--out", str(tmp_path / "first")]) == 0
    assert second == [1]
    error = json.loads(capsys.readouterr().out.splitlines()[0])["error"]
    assert error["kind"] == "PipelineError"
    assert f"{folder} is used by another run (pid {os.getpid()})" in error["message"]
    assert error["remedy"] == "wait until that has ended, or give another --checkpoint and --out"
    monkeypatch.undo()
    assert main([*line, "--out", str(tmp_path / "second")]) == 0


def test_checkpoint_is_free_after_a_failure_and_batch_needs_none(tmp_path: Path) -> None:
    stream = JobRequest("", "", stream=True, checkpoint=str(tmp_path / "kept"))
    with pytest.raises(Killed), sole_run(stream):
        raise Killed
    with sole_run(stream), sole_run(JobRequest("", "")), pytest.raises(PipelineError), sole_run(stream):
        pass


def test_checkpoint_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    stream = JobRequest("", "", stream=True, checkpoint=str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="cannot be written"), sole_run(stream):
        pass
