"""Lake, tables, checkpoints and reports in an object store: jobs say there what they say of a disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.trace import Step
from tests.pipeline.lakes import NOON, day_of, event, latency, telemetry, write_segment
from tests.pipeline.store_driver import STREAMS
from tests.store import BUCKET, object_store

pytest.importorskip("moto", reason="no S3 server: install the group dev")
CANNOT_BE_HAD = ("unresolved dependency", "download failed")
SEGMENTS = 8


def write(lake: Path) -> None:
    """Segments of every kind that follow each other: a message each that is sent, stored and settled in memory."""
    for kind in ("telemetry", "latency", "events"):
        for number in range(SEGMENTS):
            second = NOON + number
            rows = {
                "telemetry": [telemetry(f"t{name}", second, 1 + number * name, item=f"i{name}") for name in (1, 2, 3)],
                "latency": [latency("t1", second, "stored", {700 + number: 3})],
                "events": [
                    event(step, "shop", "box", 1 + number, sequence=2 * number + place, at=second * 10**9, service=1)
                    for place, step in ((1, Step.TAKEN), (2, Step.DELIVERED))
                ],
            }[kind]
            write_segment(lake, kind, rows, day=day_of(second), sealed=kind == "events")


def test_jobs_say_of_a_lake_in_a_store_what_they_say_of_one_on_a_disk(tmp_path: Path) -> None:
    write(tmp_path / "lake")
    command = [sys.executable, "-m", "tests.pipeline.store_driver", str(tmp_path / "lake"), BUCKET]
    with object_store() as variables:
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    if any(said in done.stderr for said in CANNOT_BE_HAD):
        pytest.skip("Hadoop's files for S3 cannot be had here, by Maven")
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["compacted"]["replaced"] == 3 * SEGMENTS
    for job in STREAMS:
        assert said[job]["disk"], job
        for way in ("small", "stream", "spark"):
            assert said[job][way] == said[job]["disk"], (job, way)
