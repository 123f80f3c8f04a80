"""Every job on lakes that are not as they should be: a named error, or a result that is right and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from causeway.cli.main import main
from causeway.pipeline.frame import JOBS
from causeway.trace import Step
from tests.pipeline.lakes import DAY, NOON, day_of, event, latency, run, telemetry, write_lake, write_segment

READERS = [name for name, job in JOBS.items() if job.reads]
ROWS: dict[str, dict[str, Any]] = {
    "events": event(Step.RECEIVED, "a", "b", 1, at=NOON * 1_000_000_000),
    "telemetry": telemetry("t", NOON, 3, item="i"),
    "latency": latency("t", NOON, "stored", {700: 3}),
}


def said(capsys: pytest.CaptureFixture[str], job: str, lake: Path) -> tuple[int, dict[str, Any]]:
    code = main(["pipeline", job, "--lake", str(lake), "--out", str(lake.parent / "out"), "--json"])
    return code, json.loads(capsys.readouterr().out)["error"]


@pytest.mark.parametrize("job", READERS)
def test_lake_that_is_empty_cut_short_or_damaged_is_named(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], job: str
) -> None:
    kind, lake = JOBS[job].reads, tmp_path / "lake"
    lake.mkdir()
    code, error = said(capsys, job, lake)
    assert (code, error["kind"]) == (1, "LakeError")
    assert f"no segments of kind={kind}" in error["message"]

    (segment,) = write_lake(lake, kind, [ROWS[kind]] * 500)
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-20])
    code, error = said(capsys, job, lake)
    assert (code, error["kind"]) == (1, "LakeError")
    assert f"{segment.name} is cut short" in error["message"]

    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    segment.write_bytes(whole[:4] + b"\xff" * (end - 4) + whole[end:])
    code, error = said(capsys, job, lake)
    assert (code, error["kind"]) == (1, "LakeError")
    assert f"{segment.name} cannot be read" in error["message"]
    assert "\tat org.apache" not in error["message"]


def rough_lake(lake: Path) -> None:
    """Three days of two domains. North: one topic at a constant rate, by an older version that had fewer columns.
    South lacks the day in the middle, is of a later version with a column of its own, and one of its writers has a
    clock that is a year ahead."""
    for day in range(3):
        seconds = range(NOON + day * DAY, NOON + day * DAY + 20)
        old: dict[str, Any] = {"day": day_of(NOON + day * DAY), "domain": "north"}
        write_segment(lake, "telemetry", [telemetry("t", s, 5, item="i") for s in seconds], **old, drop=["depth"])
        write_segment(lake, "latency", [latency("t", s, "stored", {700: 5}) for s in seconds], **old, drop=["version"])
        mail: dict[str, Any] = {"writer": "b", "role": "application", "mailbox": "b", "stream": 1, "service": 1}
        taken = event(Step.RECEIVED, "a", "b", 1 + day, **mail, at=seconds[0] * 1_000_000_000, sequence=day + 1)
        write_segment(lake, "events", [taken], **old, drop=["note"])  # nothing sealed yet in that version
        if day == 1:
            continue
        ahead = 365 * DAY if day == 2 else 0
        new: dict[str, Any] = {"day": day_of(NOON + day * DAY + ahead), "domain": "south", "extra": {"colour": "red"}}
        write_segment(lake, "telemetry", [telemetry("t", s + ahead, 1, item="i", writer="b2") for s in seconds], **new)
        write_segment(lake, "latency", [latency("t", s + ahead, "stored", {0: 1}, writer="b2") for s in seconds], **new)


def test_every_job_says_what_is_right_about_a_rough_lake(spark: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    rough_lake(lake)
    found = {job: run(spark, job, lake, tmp_path / job, **({"peak": 0} if job == "rates" else {})) for job in READERS}
    rates = found["rates"].summary
    assert (rates["topics"], rates["items"]) == (1, 1)
    # South lives from the first day until a year later: what north recorded meanwhile is not all there was.
    assert rates["days_left_out"] == [day_of(NOON + DAY), day_of(NOON + 2 * DAY)]
    assert rates["windows"] == 2 * 20
    assert rates["messages"] == 20 * 6 + 20
    hops = found["latency"].summary
    assert hops["hops"]["stored"]["messages"] == 3 * 20 * 5 + 2 * 20
    assert hops["not_positive"] == 2 * 20
    assert (found["domains"].summary["pairs"], found["domains"].summary["seconds_recorded"]) == (1, 2 * DAY + 1)
    assert found["audit"].summary["verdict"] == "clean as far as records go"
    assert found["audit"].summary["guarantees"]["once"] == {"held": 3}
