"""The job `audit`: what acknowledgements promised, and whether it was so, from records of brokers and applications.

A lake that is small is read and judged by one process: Spark would spend its time on planning and on starting workers.
A larger one, or one that is followed, is judged by Spark. The rules are the same functions.

Owns: how the parts are put together, what is written. Must not know: the rules, what a certificate says.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from causeway.lake.locations import locate
from causeway.pipeline.audit.certificate import BROKEN, scope_of, summary_of, told
from causeway.pipeline.audit.doubts import Doubt, Doubts, LifeSums, copies_of, doubtful
from causeway.pipeline.audit.following import followed
from causeway.pipeline.audit.judging import (
    all_verdicts,
    context_for,
    life_sums,
    lives_in,
    told_by,
    told_of,
    with_doubts,
    with_transactions,
)
from causeway.pipeline.audit.page import PAGE, figures_of, page_of
from causeway.pipeline.audit.tables import ARROW_VERDICTS, verdict_table
from causeway.pipeline.audit.whole import audit_rows
from causeway.pipeline.audit.words import UNRECORDED, Judgement
from causeway.pipeline.frame import JobRequest, JobResult, Tick, read_lake, write_small_table, write_table, write_text
from causeway.pipeline.quality import check_segments
from causeway.pipeline.reading import has_few_rows, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES_MAX: Final = 10
"""Findings that the summary shows; all are in the table `findings`."""
SMALL_ROWS: Final = 200_000
"""Records of a lake that one process judges: it takes some seconds."""
LINE: Final = ("service", "guarantee", "outcome")
CERTIFICATE: Final = "certificate.json"


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Judge every message of a lake."""
    tick("messages and their order", 0, 2)
    if request.stream:
        found, lives, doubts = followed(spark, request)
        return _large(found, lives, doubts, request.out, tick)
    if "events" not in request.checked:
        check_segments(request.lake, "events")
    if has_few_rows(request.lake, "events", SMALL_ROWS):
        return _small(read_rows(request.lake, "events"), request.out, tick)
    events = read_lake(spark, request.lake, "events", checked=("events",)).persist()
    try:
        lives = lives_in(life_sums(events))
        context = context_for(events, copies_of(lives))
        return _large(
            all_verdicts(events, context), lives, doubtful(lives, told_by(told_of(events))), request.out, tick
        )
    finally:
        events.unpersist()


# Few rows ------------------------------------------------------------------------------------------------------------
def _small(rows: list[dict[str, Any]], out: str, tick: Tick) -> JobResult:
    audited = audit_rows(rows)
    tick("certificate", 1, 2)
    asked = Doubts(audited.doubts, audited.lives)
    verdicts = [asked.judged(one) if one.reason else one for one in audited.verdicts]
    findings = sorted(one for one in verdicts if is_finding(one))
    write_small_table(verdict_table(findings), out, "findings")
    counts: Counter[tuple[str, ...]] = Counter()
    for one in verdicts:
        counts[one.dest, one.service, one.guarantee, one.outcome] += one.messages
    lines = _lines(("mailbox", *LINE), counts)
    write_small_table(pa.Table.from_pylist(lines, schema=_counts_schema("mailbox", *LINE)), out, "mailboxes")
    examples = verdict_table(findings[:EXAMPLES_MAX]).to_pylist()
    return _concluded(lines, examples, audited.doubts, audited.lives, out)


def is_finding(verdict: Judgement) -> bool:
    """Whether it says something about certain messages."""
    return bool(verdict.reason) and verdict.outcome != UNRECORDED


# Many rows -----------------------------------------------------------------------------------------------------------
def _large(found: DataFrame, lives: list[LifeSums], doubts: list[Doubt], out: str, tick: Tick) -> JobResult:
    verdicts = with_doubts(with_transactions(found.persist()), doubts, lives).persist()
    try:
        says = (F.col("reason") != "") & (F.col("outcome") != UNRECORDED)
        write_table(verdicts.where(says), out, "findings")
        tick("certificate", 1, 2)
        counts = verdicts.groupBy(F.col("dest").alias("mailbox"), *LINE).agg(F.sum("messages").alias("messages"))
        write_table(counts.coalesce(1).sortWithinPartitions("mailbox", *LINE), out, "mailboxes")
    finally:
        verdicts.unpersist()
        found.unpersist()
    spark = found.sparkSession
    counted = spark.read.parquet(str(locate(out) / "mailboxes"))
    lines = counted.toArrow().to_pylist()
    kept = spark.read.parquet(str(locate(out) / "findings")).limit(EXAMPLES_MAX)
    examples = kept.toArrow().to_pylist()
    return _concluded(lines, examples, doubts, lives, out)


# The end -------------------------------------------------------------------------------------------------------------
def _concluded(
    rows: list[dict[str, Any]], examples: list[dict[str, Any]], doubts: list[Doubt], lives: list[LifeSums], out: str
) -> JobResult:
    """Write what is left, from counts by mailbox."""
    totals: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        totals[tuple(row[name] for name in LINE)] += row["messages"]
    lines = _lines(LINE, totals)
    write_small_table(pa.Table.from_pylist(lines, schema=_counts_schema(*LINE)), out, "certificate")
    write_small_table(_doubt_table(doubts), out, "doubts")
    scope = scope_of(lives, (row["mailbox"] for row in rows))
    summary = summary_of(lines, [told(one) for one in examples], doubts, scope)
    figures = figures_of(lines, lives, doubts)
    write_text(out, CERTIFICATE, json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    page = write_text(out, PAGE, page_of(summary, figures))
    return JobResult(
        job="audit",
        summary=summary,
        tables=("findings", "mailboxes", "certificate", "doubts", CERTIFICATE, page),
        figures=figures,
        holds=summary["verdict"] != BROKEN,
    )


def _lines(names: tuple[str, ...], counts: Counter[tuple[str, ...]]) -> list[dict[str, Any]]:
    return [{**dict(zip(names, key, strict=True)), "messages": count} for key, count in sorted(counts.items())]


def _counts_schema(*names: str) -> pa.Schema:
    return pa.schema([*((name, pa.string()) for name in names), ("messages", pa.int64())])


def _doubt_table(doubts: list[Doubt]) -> pa.Table:
    kinds = {"life": pa.int64(), "broker": pa.bool_(), "domains": ARROW_VERDICTS.field("domains").type}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in Doubt._fields])
    return pa.Table.from_pylist([one._asdict() | {"domains": list(one.domains)} for one in doubts], schema=schema)
