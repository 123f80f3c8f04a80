"""`causeway pipeline audit --follow` is killed in the middle, twice: begun anew, it tells each finding once, as rows,
as messages and as numbers."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from causeway.cli.main import main
from causeway.errors import LakeError
from causeway.lake.keeping import compact
from causeway.pipeline.audit.continuous import Follower
from causeway.pipeline.audit.pending import FOLLOWED, LATE
from causeway.pipeline.frame import JobRequest
from causeway.trace import MEMBERS_APART, Step
from tests.pipeline.bus_cluster import kept, running_bus, wait_kept
from tests.pipeline.fault_lake import Segments, healthy
from tests.pipeline.lakes import event, seal_of, table, write_segment
from tests.pipeline.test_audit_faults import Verdict

WORLDS = (
    "recoverable_lost",
    "transactional_taken_twice",
    "refused_yet_delivered",
    "redelivered_without_mark",
    "recoverable_stored_twice",
    "missed_by_one_of_two_subscriptions",
)
STAGES = 3
LONG = 1000
"""Seconds between two stages, by the times of their segments."""
PATIENCE = 250.0


def world(name: str) -> Segments:
    """A small lake with one fault, whose names nobody else has."""
    lake = healthy()
    importlib.import_module(f"tests.pipeline.faults.{name}").plant(lake)
    lake.rows = [renamed(row, name) for row in lake.rows]
    return lake.finished()


def renamed(row: dict[str, Any], name: str) -> dict[str, Any]:
    told = {
        key: f"{name}.{row[key]}"
        for key in ("writer", "source", "dest", "mailbox", "domain", "transaction")
        if row[key]
    }
    peers = MEMBERS_APART.join(f"{name}.{peer}" for peer in row["peer"].split(MEMBERS_APART) if peer)
    return row | told | {"peer": peers}


def write_stage(lake: Path, number: int, began: float) -> set[tuple[Any, ...]]:
    """Some worlds, and long after them somebody's record; what is to be told of them."""
    expected: set[tuple[Any, ...]] = set()
    for name in WORLDS[number::STAGES]:
        segments = world(name)
        for rows in segments.values():
            path = write_segment(lake, "events", rows, day="2026-11-17", domain=rows[0]["domain"])
            os.utime(path, (began + number * LONG, began + number * LONG))
        expected |= {key(one._asdict()) for one in Verdict(segments).findings if one.guarantee in FOLLOWED}
    tick = event(Step.SENT, "clock", "nowhere", number + 1, writer="clock", role="application", sequence=number + 1)
    path = write_segment(lake, "events", [tick, seal_of([tick])], day="2026-11-17", domain="-")
    os.utime(path, (began + (number + 0.9) * LONG, began + (number + 0.9) * LONG))
    return expected


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("guarantee", "outcome", "source", "dest", "stream", "first", "last"))


@contextlib.contextmanager
def following(lake: Path, out: Path, url: str) -> Iterator[subprocess.Popen[str]]:
    command = [
        sys.executable,
        "-m",
        "causeway",
        "pipeline",
        "audit",
        "--follow",
        "--lake",
        str(lake),
        "--out",
        str(out),
    ]
    options = ["--master", "local[2]", "--driver-memory", "1g", "--json", "--set", f"url={url}", "--set", "patience=5"]
    errors = out.with_suffix(".stderr").open("a")
    with (
        errors,
        subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        ) as process,
    ):
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait(process: subprocess.Popen[str], until: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not until():
        assert process.poll() is None, "the follower ended by itself"
        assert time.monotonic() < end, "the follower does not come to it"
        time.sleep(0.005)


def metric(out: Path, name: str) -> float:
    with contextlib.suppress(FileNotFoundError):
        found = re.search(rf"^causeway_audit_{name} (\S+)$", (out / "audit.prom").read_text(), re.MULTILINE)
        return float(found.group(1)) if found else 0.0
    return 0.0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_follower_that_was_killed_tells_each_finding_once(tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    known = out / "checkpoint" / "follow" / "known.msgpack"
    began = float(int(time.time()) - 10 * LONG)
    with running_bus() as (cluster, bus):
        bus.keep_history("audit/#", seconds=3600)
        expected = write_stage(lake, 0, began)
        with following(lake, out, cluster.url) as process:  # killed while it tells
            wait(process, lambda: any(out.glob("followed/batch=*")))
        expected |= write_stage(lake, 1, began)
        before = known.read_bytes()
        with following(lake, out, cluster.url) as process:  # killed when it has told, and Spark does not know it yet
            wait(process, lambda: known.read_bytes() != before and b"violated" in known.read_bytes())
        expected |= write_stage(lake, 2, began)
        with following(lake, out, cluster.url) as process:
            wait(process, lambda: metric(out, "judged_until_seconds") >= began + 2.5 * LONG)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(PATIENCE) == 1, "something was violated"
            assert process.stdout is not None
            lines = [json.loads(line) for line in process.stdout.read().splitlines()]
        rows = [row for path in sorted(out.glob("followed/batch=*")) for row in table(path)]
        assert sorted(map(key, rows)) == sorted(expected)
        assert lines[-1]["summary"]["found"] == counted(rows)
        assert 'findings_total{guarantee="kept",outcome="violated"}' in (out / "audit.prom").read_text()
        wait_kept(bus, "history/audit/#", len(expected))
        messages = [json.loads(body) for body in kept(bus, "history/audit/#")]
        assert sorted(one["messages"] for one in messages) == sorted(map(named, rows))
    assert "Traceback" not in out.with_suffix(".stderr").read_text()


@pytest.mark.timeout(600)
def test_lake_that_is_compacted_meanwhile_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    request = JobRequest(str(lake), str(out), True, str(out / "checkpoint"), options={"patience": "5"}, follow=True)
    began = float(int(time.time()) - 10 * LONG)
    expected: set[tuple[Any, ...]] = set()
    for number in range(2):  # each with a follower that begins anew
        if number == 0:
            expected |= write_stage(lake, number, began)
        follower = Follower(spark, request, lambda _: None)
        query = follower.start()
        try:
            query.processAllAvailable()
            expected |= write_stage(lake, number, began) if number else set()
            query.processAllAvailable()
            read = follower.known.read
            assert compact(lake, idle=0, grace=0).replaced
            query.processAllAvailable()
        finally:
            query.stop()
        assert follower.known.read == read == 1000 * (began + (number + 0.9) * LONG)
        rows = [row for path in sorted(out.glob("followed/batch=*")) for row in table(path)]
        assert sorted(map(key, rows)) == sorted(expected)
        assert follower.known.counts.get(LATE, 0) == 0
    for number in (8, 9):
        tick = event(Step.SENT, "clock", "nowhere", number, writer="clock", role="application", sequence=number)
        write_segment(lake, "events", [tick], day="2026-11-17", domain="unread")
    compact(lake, idle=0, grace=0)
    with pytest.raises(LakeError, match="had not read, and they are gone"):
        Follower(spark, request, lambda _: None)


def named(row: dict[str, Any]) -> str:
    ids = f"{row['first']}..{row['last']}" if row["last"] > row["first"] else str(row["first"])
    return f"{row['source']}:{row['incarnation']:x}:{row['dest']}:{row['stream']}:{ids}"


def counted(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        outcomes = found.setdefault(row["guarantee"], {})
        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + 1
    return found


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["rates", "--follow"], "leave --follow out"),
        (["audit", "--set", "patience=5"], "is for --follow"),
        (["audit", "--follow", "--master", "sc://nowhere"], "needs its driver in this process"),
        (["audit", "--follow", "--set", "patience=0"], "must be a number in 1..3600"),
        (["audit", "--follow", "--set", "memory=60", "--set", "patience=60"], "at least twice the patience"),
    ],
)
def test_wrong_options_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    lake = tmp_path / "lake"
    write_stage(lake, 0, 0.0)
    assert main(["pipeline", *arguments, "--lake", str(lake), "--out", str(tmp_path / "out"), "--json"]) == 2
    assert complaint in json.loads(capsys.readouterr().out)["error"]["message"]
