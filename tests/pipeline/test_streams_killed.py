"""The driver of streams over a growing lake is killed in the middle: begun anew, they say what batch says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from causeway.pipeline.frame import JobResult
from tests.pipeline.audit_traces import random_rows
from tests.pipeline.job_driver import STREAMS
from tests.pipeline.lakes import NOON, latency, rounded, run, table, telemetry, write_lake

PATIENCE = 100.0
PARTS = 2
"""Of the lake: what the killed driver reads, and what comes while nobody reads."""
ROOT = Path(__file__).parents[2]


def write_part(lake: Path, number: int) -> None:
    events = random_rows(3, 8)
    write_lake(lake, "events", events[number::PARTS], day="2026-11-17")
    seconds = range(NOON + number, NOON + 60, PARTS)
    write_lake(lake, "telemetry", [telemetry("a", second, 1 + second % 7, item="i") for second in seconds])
    write_lake(lake, "latency", [latency("a", second, "stored", {second % 50 + 1: 2}) for second in seconds])


def kill_midway(lake: Path, out: Path) -> list[str]:
    """Start a driver and kill it when the audit has kept some of what it makes of this part, and not all; which jobs
    had begun a batch that was not done."""
    parts = out / "audit" / "checkpoint" / "events" / "parts"
    command = [sys.executable, "-m", "tests.pipeline.job_driver", str(lake), str(out)]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as driver:
        try:
            until = time.monotonic() + PATIENCE
            while not (parts / "lives" / "run=0" / "_SUCCESS").exists():
                assert driver.poll() is None, "the driver ended by itself"
                assert time.monotonic() < until, "the driver does not come to it"
                time.sleep(0.005)
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
    assert not (parts / "verdicts" / "run=0" / "_SUCCESS").exists(), "too late to disturb anything"
    return [job for job in STREAMS if any(is_open(path) for path in out.glob(f"{job}/checkpoint/*/spark"))]


def is_open(query: Path) -> bool:
    """Whether Spark has begun a batch of this query and not written down that it is done."""
    return (query / "offsets" / "0").exists() and not (query / "commits" / "0").exists()


def stripped(found: JobResult) -> Any:
    """What it says but how long it took, and which of its findings it shows."""
    apart = {"runs", "seconds_taken", "examples"}
    return rounded({name: value for name, value in found.summary.items() if name not in apart})


@pytest.mark.slow
def test_streams_that_were_killed_say_what_batch_says(spark: SparkSession, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "stream"

    def follow(job: str) -> JobResult:
        return run(spark, job, lake, out / job, checkpoint=out / job / "checkpoint")

    write_part(lake, 0)
    assert "audit" in kill_midway(lake, out)
    write_part(lake, 1)
    for job in STREAMS:
        streamed, batch = follow(job), run(spark, job, lake, tmp_path / "batch" / job)
        assert stripped(streamed) == stripped(batch), job
        for name in batch.tables:
            if not name.endswith((".json", ".html")):
                left, right = (
                    sorted(map(repr, rounded(table(where / job / name)))) for where in (out, tmp_path / "batch")
                )
                assert left == right, f"{job}: {name}"
