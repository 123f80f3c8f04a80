"""A grid of simulator runs: all of it once, and only what is missing the next time."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from causeway.errors import ConfigError
from causeway.pipeline.executors import Executors
from causeway.pipeline.frame import JobRequest, JobResult, run_job
from causeway.sim.faults import options_calm
from causeway.sim.soak import run_bounded

QUICK = {"base": "calm", "safety": "0.5", "clients": "2", "workloads": "express"}


def job(spark: SparkSession, out: Path, seed: int = 3, **options: str) -> JobResult:
    request = JobRequest("", str(out), seed=seed, options={**QUICK, **options})
    return run_job(spark, "sweep", request, lambda stage, done, total: None)


def test_runs_are_those_of_the_simulator_and_are_resumed(spark: SparkSession, tmp_path: Path) -> None:
    first = job(spark, tmp_path, seeds="1", brokers="1,2")
    assert (first.summary["runs"], first.summary["resumed"]) == (2, 0)
    (lost, *_) = sorted((tmp_path / "runs").glob("*.json"))
    lost.write_bytes(b'{"values"')  # it was being written when the machine stopped
    again = job(spark, tmp_path, seeds="2", brokers="1,2")
    assert (again.summary["runs"], again.summary["resumed"]) == (4, 1)
    assert again.summary["endings"] == {"ok": 4}

    rows = spark.read.parquet(str(tmp_path / "sweep")).collect()
    assert sorted((row.set_brokers, row.seed) for row in rows) == [("1", 3), ("1", 4), ("2", 3), ("2", 4)]
    here = run_bounded(options_calm(4, brokers=2, safety=500_000_000, clients=2, workloads=("express",)))
    (there,) = (row for row in rows if (row.set_brokers, row.seed) == ("2", 4))
    assert there.digest == here.digest
    assert there.faults == here.faults
    assert [len(curve.xs) for curve in again.figures[0].curves] == [2]


def test_values_that_cannot_be_are_named(spark: SparkSession, tmp_path: Path) -> None:
    for options, complaint in (
        ({"colour": "red"}, r"set colour='red': is no option of the simulator.*brokers"),
        ({"brokers": "five"}, r"set brokers='five': must be int"),
        ({"brokers": "5,5"}, "has a value twice"),
        ({"safety": "long"}, "must be seconds"),
        ({"workloads": "dancing"}, r"set workloads='dancing': must be of: .*express"),
        ({"base": "wild"}, "swarm, calm"),
        ({"seeds": "0"}, "set seeds"),
        ({"seeds": "2.9"}, "set seeds"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            job(spark, tmp_path, **options)


def test_executors_tell_every_case_with_its_place(spark: SparkSession) -> None:
    assert sorted(Executors(spark).run(abs, [-5, 3, -1])) == [(0, 5), (1, 3), (2, 1)]
    assert list(Executors(spark).run(abs, [])) == []
