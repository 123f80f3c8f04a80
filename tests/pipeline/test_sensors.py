"""examples/sensors.py: every hot minute is told once, also when the query was started again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from examples import sensors
from tests.pipeline.bus_cluster import SECONDS_MAX, kept, running_bus, wait_kept

EXAMPLE = Path(sensors.__file__)


def told(bus: Any) -> list[tuple[str, str, float]]:
    found = [json.loads(body) for body in kept(bus, "history/alerts/#")]
    return sorted((one["room"], one["minute"][11:16], one["degrees"]) for one in found)


def test_hot_minutes_are_told_once(spark: SparkSession, tmp_path: Path) -> None:
    with running_bus() as (cluster, bus):
        bus.keep_history("alerts/#", seconds=600)
        bus.keep_history("sensors/#", seconds=600)

        def report(*minutes: int) -> None:
            for minute in minutes:
                at = f"2026-01-01T12:{minute:02d}:00"
                sensors.report(cluster.url, "hall", 31.0 + minute % 2, at)
                sensors.report(cluster.url, "roof", 20.0 + 5 * minute, at)

        def run() -> None:
            query = sensors.watch(spark, cluster.url, str(tmp_path / "checkpoint"), 30.0, once=True)
            assert query.awaitTermination(int(SECONDS_MAX))

        report(0, 1, 3)
        wait_kept(bus, "history/sensors/#", 6)
        run()  # the last minute may still get readings
        assert told(bus) == [("hall", "12:00", 31.0), ("hall", "12:01", 32.0)]
        report(5)  # ten seconds of patience more than minute 3 needs
        wait_kept(bus, "history/sensors/#", 8)
        run()
        wait_kept(bus, "history/alerts/#", 4)
        assert told(bus) == [
            ("hall", "12:00", 31.0),
            ("hall", "12:01", 32.0),
            ("hall", "12:03", 32.0),
            ("roof", "12:03", 35.0),
        ]


def test_watching_says_when_it_is_ready_and_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    with running_bus() as (cluster, _bus), (tmp_path / "stderr").open("w") as errors:
        watching = ["--url", cluster.url, "watch", "--checkpoint", str(tmp_path / "checkpoint")]
        with subprocess.Popen(
            [sys.executable, str(EXAMPLE), *watching],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            try:
                assert process.stdout.readline().startswith("ready: rooms above 30 degrees")
                os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all its processes
                assert process.wait(SECONDS_MAX) == 130
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_the_example_is_short_and_says_what_it_is_for() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 120
    ended = subprocess.run([sys.executable, str(EXAMPLE), "--help"], capture_output=True, text=True, check=True)
    assert "--url" in ended.stdout
