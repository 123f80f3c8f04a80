"""The audit on Spark: every planted fault is found and none invented; batch, stream and the slow reference agree."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from causeway.errors import ConfigError, LakeError
from causeway.pipeline.audit import job
from causeway.pipeline.audit.certificate import verdict_of
from causeway.pipeline.audit.words import CAUSAL, IN_ORDER, KEPT, ONCE, STORED_FIRST
from causeway.pipeline.generate.job import circles_of
from causeway.pipeline.generate.world import FAULTS, GAP
from causeway.trace import MEMBERS_APART, Step
from tests.pipeline import test_audit_faults as catalogue
from tests.pipeline.audit_reference import Found, Message, Reference, doubtful_lives
from tests.pipeline.audit_traces import random_rows
from tests.pipeline.lakes import event, run, table, write_lake, write_segment

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
KNOWN = frozenset((KEPT, ONCE, IN_ORDER, STORED_FIRST, CAUSAL))
"""What the reference judges."""
KEY = ("source", "incarnation", "dest", "stream", "first", "last", "mailbox")


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY)


# Planted faults -----------------------------------------------------------------------------------------------------
def test_every_planted_fault_is_found_and_none_invented(spark: SparkSession, tmp_path: Path) -> None:
    lake, faults = tmp_path / "lake", 3
    options = {"events": 50_000, "applications": 40, "faults": faults, "topics": 0}
    made = run(spark, "generate", lake, tmp_path / "made", seed=11, **options)
    assert made.summary["events_rows"] == pytest.approx(50_000, rel=0.1)
    found = run(spark, "audit", lake, tmp_path / "out")

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


def test_one_process_and_spark_say_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every planted fault, all in one lake: names of writers and mailboxes tell them apart."""
    rows: list[dict[str, Any]] = []
    for name in catalogue.FAULTS:
        rows += [renamed(row, name) for segment in catalogue.planted(name).values() for row in segment]
    write_lake(tmp_path / "lake", "events", rows, day="2026-11-17")
    few = run(spark, "audit", tmp_path / "lake", tmp_path / "few").summary
    monkeypatch.setattr(job, "SMALL_ROWS", -1)
    many = run(spark, "audit", tmp_path / "lake", tmp_path / "many").summary
    for name in ("seconds_taken", "examples"):
        del few[name], many[name]
    assert few == many
    assert canonical(table(tmp_path / "few" / "findings")) == canonical(table(tmp_path / "many" / "findings"))


def renamed(row: dict[str, Any], name: str) -> dict[str, Any]:
    """A row of another world. Its digest is not what it was, so all of it is in doubt, on both ways."""
    told = {key: f"{name} {row[key]}" for key in ("writer", "source", "dest", "mailbox", "domain") if row[key]}
    return row | told | {"transaction": f"{name} {row['transaction']}" if row["transaction"] else ""}


# The reference ------------------------------------------------------------------------------------------------------
def test_batch_and_stream_agree_with_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    rows = random_rows(3, 40)
    chance = random.Random(4)
    chance.shuffle(rows)
    lake, checkpoint = tmp_path / "lake", tmp_path / "checkpoint"
    for part in (rows[: len(rows) // 3], rows[len(rows) // 3 :]):
        write_lake(lake, "events", part, day="2026-11-17", sealed=True)
        streamed = run(spark, "audit", lake, tmp_path / "stream", checkpoint=checkpoint)
    whole = run(spark, "audit", lake, tmp_path / "batch")

    findings = table(tmp_path / "batch" / "findings")
    reference = Reference(rows)
    known = [row for row in findings if row["guarantee"] in KNOWN]
    assert exploded(known) == {one._replace(outcome="") for one in reference.found}
    domains, holed = doubtful_lives(rows)
    assert domains
    assert holed
    assert {row["outcome"] for row in findings} == {"violated", "unknown"}
    for row in known:
        lives = {(one["writer"], one["life"]) for one in row["evidence"]}
        silent = {row["source"].split("-")[0]} & domains  # each trace is a domain of that name
        doubted = bool(lives & holed) or (bool(silent) and not is_certain(row))
        assert (row["outcome"], bool(row["doubt"])) == (("unknown", True) if doubted else ("violated", False)), row
    counts: Counter[tuple[str, str, str]] = Counter()
    for line in (line for line in table(tmp_path / "batch" / "certificate") if line["guarantee"] in KNOWN):
        outcome = "violated" if line["outcome"] == "unknown" else line["outcome"]
        counts[line["service"], line["guarantee"], outcome] += line["messages"]
    assert counts == +reference.counts

    assert canonical(table(tmp_path / "stream" / "findings")) == canonical(findings)
    assert table(tmp_path / "stream" / "certificate") == table(tmp_path / "batch" / "certificate")
    assert streamed.summary["guarantees"] == whole.summary["guarantees"]


def is_certain(finding: dict[str, Any]) -> bool:
    """Whether no broker's missing record can explain it: the order of applications, or one life's own records."""
    reasons = ("it was handed out after it was settled", "its owner stored it again")
    own = finding["reason"] in reasons and not finding["dest"].endswith("-item")
    return finding["guarantee"] == "causal order" or own


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


# While brokers run --------------------------------------------------------------------------------------------------
def test_what_one_life_says_against_itself_is_violated_before_it_has_ended(spark: SparkSession, tmp_path: Path) -> None:
    """No record of anybody else could explain it. What others could explain is unknown until they have ended."""
    how: dict[str, Any] = {"stream": 2, "service": 2, "reliable": True, "incarnation": 1, "mailbox": "desk"}
    topic = how | {"topic": "news", "mailbox": "sub/desk"}
    told = [
        (Step.STORED, "desk", 1, how),
        (Step.SETTLED, "desk", 1, how),
        (Step.DELIVERED, "desk", 1, how),  # after it was settled
        (Step.STORED, "desk", 2, how),
        (Step.STORED, "desk", 2, how),  # twice
        (Step.DELIVERED, "desk", 4, how),
        (Step.DELIVERED, "desk", 3, how),  # late, unless an owner before had handed it out
        (Step.STORED, "item", 1, topic),
        (Step.STORED, "item", 1, topic),  # perhaps kept by the topic for a subscription that began anew
    ]
    rows = [event(step, "shop", dest, first, **more, sequence=n) for n, (step, dest, first, more) in enumerate(told, 1)]
    write_lake(tmp_path / "lake", "events", rows, day="2026-11-17", sealed=True)
    summary = run(spark, "audit", tmp_path / "lake", tmp_path / "out").summary
    findings = table(tmp_path / "out" / "findings")
    assert {(row["guarantee"], row["dest"], row["first"]): row["outcome"] for row in findings} == {
        ("once", "desk", 1): "violated",
        ("once", "desk", 2): "violated",
        ("kept", "desk", 2): "unknown",  # others were handed out, and this one perhaps too
        ("in order", "desk", 3): "unknown",
        ("once", "item", 1): "unknown",
    }
    assert (summary["verdict"], summary["found"], summary["lives_in_doubt"]) == ("broken", {"doubled": 2}, 1)


def test_broker_that_writes_no_lake_puts_its_copies_in_doubt(spark: SparkSession, tmp_path: Path) -> None:
    how: dict[str, Any] = {"stream": 2, "service": 2, "reliable": True, "incarnation": 1, "mailbox": "desk"}
    held = {"epoch": 1, "copies": 2, "peer": MEMBERS_APART.join(("b1", "b 2"))}
    rows = [
        event(Step.COPIED, "shop", "desk", 1, **how, sequence=1, epoch=1, peer="b1"),
        event(Step.STORED, "shop", "desk", 1, **how, **held, sequence=2),
        event(Step.ACKNOWLEDGED, "shop", "desk", 1, **how, sequence=3),
        event(Step.ENDED, "", "", 1, sequence=4),
    ]
    write_lake(tmp_path / "lake", "events", rows, day="2026-11-17", sealed=True)
    found = run(spark, "audit", tmp_path / "lake", tmp_path / "out")
    assert (found.summary["verdict"], found.summary["unknown"], found.holds) == ("in doubt", 1, True)
    assert table(tmp_path / "out" / "findings")[0]["doubt"] == "no records of it are there: b 2 in its life 0"


def test_nothing_found_is_clean_only_if_nothing_is_missing() -> None:
    held = {"once": {"held": 3}}
    fewer = {"copies": {"held": 3, "fewer": 1}}
    silent = {"sent": {"not recorded": 3}}
    verdicts = [verdict_of(*told) for told in ((held, 0), (held, 1), (fewer, 0), (fewer, 1), (silent, 0), ({}, 0))]
    unsure = "clean as far as records go"
    assert verdicts == ["clean", unsure, "clean with fewer copies", unsure, unsure, unsure]


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
        event(Step.ENDED, "", "", 1, sequence=5),
        event(Step.ENDED, "", "", 1, **app, sequence=3),
    ]
    # A later version may have columns that we do not know; one that is missing is empty.
    write_segment(lake, "events", rows, day="2026-11-17", drop=("seat",), extra={"colour": "red"}, sealed=True)
    summary = run(spark, "audit", lake, tmp_path / "out").summary
    assert summary["verdict"] == "clean"
    names = ("kept", "once", "in order", "stored before acknowledged", "sent", "copies")
    assert summary["guarantees"] == {name: {"held": 3} for name in names}
    assert summary["found"] == {}
    assert (summary["scope"]["records"], summary["scope"]["mailboxes"], summary["scope"]["names"]) == (8, 1, ["desk"])
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["verdict"] == "clean"
    assert "<h1>Clean</h1>" in (tmp_path / "out" / "certificate.html").read_text()
    # An older version had no seals: nobody can say that nothing is missing or changed.
    old = tmp_path / "old"
    write_segment(old, "events", [row | {"version": 1} for row in rows], day="2026-11-17")
    assert run(spark, "audit", old, tmp_path / "out").summary["verdict"] == "clean as far as records go"


def test_lakes_that_cannot_be_read_are_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        run(spark, "audit", tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LakeError, match="no segments of kind=events"):
        run(spark, "audit", tmp_path / "empty", tmp_path / "out")
    cut = write_segment(tmp_path / "lake", "events", [event(Step.SENT, "a", "b", 1)], day="2026-11-17")
    cut.write_bytes(cut.read_bytes()[:-9])
    with pytest.raises(LakeError, match="cut short"):
        run(spark, "audit", tmp_path / "lake", tmp_path / "out")
