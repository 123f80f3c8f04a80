"""The audit on Spark: every planted fault is found and none invented; batch, stream and the slow reference agree."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from causeway.errors import ConfigError, LakeError
from causeway.pipeline.frame import JobRequest, JobResult, run_job
from causeway.pipeline.generate.job import circles_of
from causeway.pipeline.generate.world import FAULTS, GAP
from causeway.trace import Step
from tests.pipeline.audit_reference import Found, Message, Reference, doubtful_lives
from tests.pipeline.audit_traces import STEPS, trace_of
from tests.pipeline.lakes import event, write_segment

GUARANTEES = {
    "lost": "kept",
    "taken twice": "once",
    "handed out after settled": "once",
    "stored twice": "once",
    "out of order": "in order",
    "acknowledged before stored": "stored before acknowledged",
    "acknowledged and nowhere": "stored before acknowledged",
    "copies missing": "stored before acknowledged",
    "against causal order": "causal order",
    GAP: "kept",
}
KEY = ("source", "incarnation", "dest", "stream", "first", "last", "mailbox")


def audit(spark: SparkSession, lake: Path, out: Path, *, checkpoint: Path | None = None) -> JobResult:
    streams = checkpoint is not None
    request = JobRequest(str(lake), str(out), streams, str(checkpoint) if streams else "")
    return run_job(spark, "audit", request, lambda stage, done, total: None)


def table(path: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(path).to_pylist())


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY)


# Planted faults -----------------------------------------------------------------------------------------------------
def test_every_planted_fault_is_found_and_none_invented(spark: SparkSession, tmp_path: Path) -> None:
    lake, faults = tmp_path / "lake", 3
    options = {"events": "50000", "applications": "40", "faults": str(faults)}
    request = JobRequest(str(lake), str(tmp_path / "made"), seed=11, options=options)
    made = run_job(spark, "generate", request, lambda stage, done, total: None)
    assert made.summary["events"] == pytest.approx(50_000, rel=0.1)
    found = audit(spark, lake, tmp_path / "out")

    planted = Counter(
        (GUARANTEES[row["fault"]], *key_of(row)) for row in table(lake / "_planted") if row["fault"] != GAP
    )
    gaps = {(GUARANTEES[GAP], *key_of(row)) for row in table(lake / "_planted") if row["fault"] == GAP}
    findings = table(tmp_path / "out" / "findings")
    violated = Counter((row["guarantee"], *key_of(row)) for row in findings if row["outcome"] == "violated")
    unknown = {(row["guarantee"], *key_of(row)) for row in findings if row["outcome"] == "unknown"}
    assert planted.total() == faults * len(FAULTS)
    assert len(gaps) == faults
    assert violated == planted
    assert gaps <= unknown
    rough = {f"circle-{circle.number:05}" for circle in circles_of(50_000, 40, faults) if circle.rough}
    assert {row["source"].rsplit("-app-", 1)[0] for row in findings if row["outcome"] == "unknown"} <= rough
    assert all(row["evidence"] for row in findings)
    assert all(row["doubt"] for row in findings if row["outcome"] == "unknown")
    late = next(row for row in findings if row["guarantee"] == "causal order")
    steps = [one["step"] for one in late["evidence"]]
    assert steps == ["SENT", "SENT", "RECEIVED", "SENT", "RECEIVED", "RECEIVED"]
    assert found.summary["verdict"] == "broken"
    assert set(found.summary["found"]) == {
        "lost",
        "doubled",
        "out of order",
        "acknowledged too early",
        "against causal order",
    }


# The reference ------------------------------------------------------------------------------------------------------
def random_lake(seed: int, traces: int) -> list[dict[str, Any]]:
    """Rows of many traces; each has its own names and its own domain, so that none says anything about another."""
    chance = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for number in range(traces):
        bounds = ((0, 3), (0, len(STEPS) - 1), (0, 10), (1, 5), (0, 2), (0, 2), (0, 15))
        lucky = number % 2  # half of them restart nobody and lose nothing
        told = [tuple(chance.randint(*bound) for bound in bounds) for _ in range(chance.randint(5, 50))]
        rows += trace_of(f"t{number}", [(*one[:6], max(one[6], 4 * lucky)) for one in told])  # type: ignore[misc]
    for row in rows:
        row["at"] = chance.randint(0, 10**18)  # clocks prove nothing
    return rows


def write_rows(lake: Path, rows: Iterable[dict[str, Any]]) -> None:
    by_domain: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_domain.setdefault(row["domain"], []).append(row)
    for domain, mine in by_domain.items():
        write_segment(lake, "events", mine, day="2026-11-17", domain=domain)


def test_batch_and_stream_agree_with_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    rows = random_lake(3, 40)
    chance = random.Random(4)
    chance.shuffle(rows)
    lake, checkpoint = tmp_path / "lake", tmp_path / "checkpoint"
    for part in (rows[: len(rows) // 3], rows[len(rows) // 3 :]):
        write_rows(lake, part)
        streamed = audit(spark, lake, tmp_path / "stream", checkpoint=checkpoint)
    whole = audit(spark, lake, tmp_path / "batch")

    findings = table(tmp_path / "batch" / "findings")
    reference = Reference(rows)
    assert exploded(findings) == {one._replace(outcome="") for one in reference.found}
    domains, holed = doubtful_lives(rows)
    assert domains
    assert holed
    for row in findings:
        lives = {(one["writer"], one["life"]) for one in row["evidence"]}
        doubted = bool(lives & holed) or (row["guarantee"] != "causal order" and row["domains"][0] in domains)
        assert (row["outcome"], bool(row["doubt"])) == (("unknown", True) if doubted else ("violated", False)), row
    counts: Counter[tuple[str, str, str]] = Counter()
    for line in table(tmp_path / "batch" / "certificate"):
        outcome = "violated" if line["outcome"] == "unknown" else line["outcome"]
        counts[line["service"], line["guarantee"], outcome] += line["messages"]
    assert counts == +reference.counts

    assert canonical(table(tmp_path / "stream" / "findings")) == canonical(findings)
    assert table(tmp_path / "stream" / "certificate") == table(tmp_path / "batch" / "certificate")
    assert streamed.summary["guarantees"] == whole.summary["guarantees"]


def exploded(findings: list[dict[str, Any]]) -> set[Found]:
    return {
        Found(
            row["guarantee"],
            "",
            Message(row["source"], row["incarnation"], row["dest"], row["stream"], number),
            row["mailbox"],
        )
        for row in findings
        for number in range(row["first"], row["last"] + 1)
    }


def canonical(findings: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, findings))


# Lakes that say little ----------------------------------------------------------------------------------------------
def test_a_correct_trace_of_one_message_gives_a_clean_certificate(spark: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    how: dict[str, Any] = {"stream": 2, "service": 2, "reliable": True, "incarnation": 1, "mailbox": "desk"}
    app: dict[str, Any] = {"writer": "shop", "role": "application"}
    rows = [
        event(Step.SENT, "shop", "desk", 1, 3, **how, **app, sequence=1),
        event(Step.COPIED, "shop", "desk", 1, 3, **how, sequence=1, epoch=1),
        event(Step.STORED, "shop", "desk", 1, 3, **how, sequence=2, epoch=1, copies=1),
        event(Step.ACKNOWLEDGED, "shop", "desk", 1, 3, **how, sequence=3),
        event(Step.ACKNOWLEDGED, "shop", "desk", 1, 3, **how, **app, sequence=2),
        event(Step.DELIVERED, "shop", "desk", 1, 3, **how, sequence=4),
    ]
    # A later version may have columns that we do not know; an earlier one had no notes.
    write_segment(lake, "events", rows, day="2026-11-17", drop=("note",), extra={"colour": "red"})
    summary = audit(spark, lake, tmp_path / "out").summary
    assert summary["verdict"] == "clean"
    assert summary["guarantees"] == {
        name: {"held": 3} for name in ("kept", "once", "in order", "stored before acknowledged")
    }
    assert summary["found"] == {}


def test_lakes_that_cannot_be_read_are_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        audit(spark, tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LakeError, match="no segments of kind=events"):
        audit(spark, tmp_path / "empty", tmp_path / "out")
    cut = write_segment(tmp_path / "lake", "events", [event(Step.SENT, "a", "b", 1)], day="2026-11-17")
    cut.write_bytes(cut.read_bytes()[:-9])
    with pytest.raises(LakeError, match="cut short"):
        audit(spark, tmp_path / "lake", tmp_path / "out")


def test_generating_into_a_lake_that_is_there_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(tmp_path / "lake", "events", [event(Step.SENT, "a", "b", 1)], day="2026-11-17")
    with pytest.raises(ConfigError, match="holds events already"):
        run_job(spark, "generate", JobRequest(str(tmp_path / "lake"), str(tmp_path / "out")), lambda *told: None)
    shutil.rmtree(tmp_path / "lake")
    options = {"events": "many"}
    with pytest.raises(ConfigError, match="set events"):
        run_job(spark, "generate", JobRequest("x", str(tmp_path / "out"), options=options), lambda *told: None)
