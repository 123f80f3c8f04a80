"""The job `audit`: what acknowledgements promised, and whether it was so, from records of brokers and applications.

Owns: how the parts are put together, the certificate. Must not know: the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from causeway.figures import Curve, Figure
from causeway.pipeline.audit.doubts import doubtful, life_sums, told_of, with_doubts
from causeway.pipeline.audit.following import followed
from causeway.pipeline.audit.judging import causal_rows, causal_verdicts, circles, stream_verdicts
from causeway.pipeline.audit.words import HELD, UNKNOWN, VIOLATED, VIOLATIONS, WAITING
from causeway.pipeline.frame import JobRequest, JobResult, Tick, read_lake, write_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES_MAX: Final = 10
"""Findings that the summary shows; all are in the table `findings`."""

BROKEN: Final = "broken"
IN_DOUBT: Final = "in doubt"
"""Something looks broken, and missing records may explain it."""
AS_FAR_AS_KNOWN: Final = "clean as far as records go"
"""Nothing looks broken, and records are missing that could show it."""
CLEAN: Final = "clean"


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Judge every message of a lake."""
    tick("messages and their order", 0, 2)
    if request.stream:
        found, lives = followed(spark, request)
    else:
        events = read_lake(spark, request.lake, "events", checked=request.checked)
        found, lives = all_verdicts(events), doubtful(life_sums(events), told_of(events))
    verdicts = found.persist()
    try:
        return conclude(verdicts, lives, request.out, tick)
    finally:
        verdicts.unpersist()


def all_verdicts(events: DataFrame) -> DataFrame:
    """Every rule on every message; doubts aside."""
    causal = causal_rows(events)
    return stream_verdicts(events).unionByName(causal_verdicts(causal, circles(causal)))


def conclude(verdicts: DataFrame, lives: DataFrame, out: str, tick: Tick) -> JobResult:
    """Put what is missing beside the verdicts, and say what holds."""
    tables = [write_table(with_doubts(found_only(verdicts), lives), out, "findings")]
    spark = verdicts.sparkSession
    findings = spark.read.parquet(f"{out}/findings")
    tick("certificate", 1, 2)
    tables.append(write_table(certificate(verdicts, findings).coalesce(1), out, "certificate"))
    tables.append(write_table(lives, out, "doubts"))
    lines = [row.asDict() for row in spark.read.parquet(f"{out}/certificate").collect()]
    examples = [_told(row.asDict(recursive=True)) for row in findings.limit(EXAMPLES_MAX).collect()]
    doubts = spark.read.parquet(f"{out}/doubts").count()
    summary = summary_of(lines, examples, doubts)
    return JobResult(
        job="audit",
        summary=summary,
        tables=tuple(tables),
        figures=figures_of(lines),
        holds=summary["verdict"] != BROKEN,
    )


def found_only(verdicts: DataFrame) -> DataFrame:
    """Those that say something about certain messages."""
    return verdicts.where(F.col("reason") != "")


def certificate(verdicts: DataFrame, findings: DataFrame) -> DataFrame:
    """Messages by class, guarantee and outcome."""
    columns = ("service", "guarantee", "outcome", "messages")
    counted = verdicts.where(F.col("reason") == "").select(*columns)
    return (
        counted.unionByName(findings.select(*columns))
        .groupBy("service", "guarantee", "outcome")
        .agg(F.sum("messages").alias("messages"))
        .orderBy("service", "guarantee", "outcome")
    )


def summary_of(lines: list[dict[str, Any]], examples: list[dict[str, Any]], doubts: int) -> dict[str, Any]:
    """The answer in short."""
    guarantees: dict[str, dict[str, int]] = {}
    for line in lines:
        totals = guarantees.setdefault(line["guarantee"], {})
        totals[line["outcome"]] = totals.get(line["outcome"], 0) + int(line["messages"])
    found = {VIOLATIONS[name]: totals.get(VIOLATED, 0) for name, totals in guarantees.items()}
    unknown = sum(totals.get(UNKNOWN, 0) for totals in guarantees.values())
    verdict = BROKEN if any(found.values()) else IN_DOUBT if unknown else AS_FAR_AS_KNOWN if doubts else CLEAN
    return {
        "verdict": verdict,
        "found": {name: count for name, count in found.items() if count},
        "unknown": unknown,
        "guarantees": guarantees,
        "lives_in_doubt": doubts,
        "examples": examples,
    }


def _told(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding as people read it."""
    ids = f"{finding['first']}..{finding['last']}" if finding["last"] > finding["first"] else str(finding["first"])
    steps = [
        f"{one['writer']}/{one['life']} #{one['sequence']} {one['step']} {one['source']} {one['first']}..{one['last']}"
        for one in finding["evidence"]
    ]
    return {
        "what": VIOLATIONS[finding["guarantee"]],
        "outcome": finding["outcome"],
        "service": finding["service"],
        "messages": f"{finding['source']}:{finding['incarnation']:x}:{finding['dest']}:{finding['stream']}:{ids}",
        "mailbox": finding["mailbox"],
        "reason": finding["reason"],
        "doubt": finding["doubt"],
        "evidence": steps,
    }


def figures_of(lines: list[dict[str, Any]]) -> tuple[Figure, ...]:
    """Messages by guarantee, with marks for each outcome that there is; none if nothing was judged."""
    curves = []
    for style, outcome in enumerate((HELD, WAITING, VIOLATED, UNKNOWN)):
        totals = dict.fromkeys(VIOLATIONS, 0)
        for line in lines:
            if line["outcome"] == outcome:
                totals[line["guarantee"]] += int(line["messages"])
        shown = [(float(number), float(count)) for number, count in enumerate(totals.values(), 1) if count]
        if shown:
            xs, ys = zip(*shown, strict=True)
            curves.append(Curve(f"{outcome}: {sum(totals.values()):,}", xs, ys, style=style, joined=False))
    if not curves:
        return ()
    label = ", ".join(f"{number}: {name}" for number, name in enumerate(VIOLATIONS, 1))
    return (Figure("audit", "Messages by guarantee", label, "messages", tuple(curves), scale="linear", y_scale="log"),)
