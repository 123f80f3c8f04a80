"""The rules on Spark: events are brought together by stream, by transaction, by applications that talk to each other,
and by lives of writers.

Owns: how rows are spread and sorted. Must not know: the rules (`streams`, `transactions`, `happened`), what is missing
(`doubts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from causeway.lake.schema import EVENTS
from causeway.lake.seal import APART as VALUES_APART
from causeway.lake.seal import WITHOUT_NOTE
from causeway.pipeline.audit.components import components
from causeway.pipeline.audit.context import CONTEXT_COLUMNS, CONTEXT_STEPS, Context, context_of
from causeway.pipeline.audit.doubts import Doubt, Doubts, LifeSums, Mention, added_up
from causeway.pipeline.audit.replays import CAUSAL_COLUMNS, causal_table_verdicts, connected
from causeway.pipeline.audit.streams import judge
from causeway.pipeline.audit.tables import VERDICTS, verdict_table, verdicts_in
from causeway.pipeline.audit.transactions import judge_transactions
from causeway.pipeline.audit.words import (
    APART,
    DEAD_LETTERS,
    PART,
    REDELIVERED,
    RETAINED,
    STEPS,
    STREAM,
    UNCERTAIN,
    AuditRow,
    Judgement,
)
from causeway.trace import MEMBERS_APART, Step

VERDICTS_PER_BATCH: Final = 1_000
_SENT: Final = int(Step.SENT)
_RECEIVED: Final = int(Step.RECEIVED)
_SEALED: Final = int(Step.SEALED)
_RETIRED: Final = int(Step.RETIRED)
_RETIRED_SUMS: Final = (
    "records long, total long, digests long, seals long, sealed long, gap boolean, ended boolean, damaged boolean"
)
"""`lake.seal.RetiredSums`, as Spark reads it."""
Batches = Iterable[pa.RecordBatch]


def all_verdicts(events: DataFrame, context: Context) -> DataFrame:
    """Every rule on every message, and parts of transactions; doubts aside."""
    causal = causal_rows(events)
    return stream_verdicts(events, context).unionByName(causal_verdicts(causal, circles(causal)))


# One stream after the other ------------------------------------------------------------------------------------------
def stream_verdicts(events: DataFrame, context: Context) -> DataFrame:
    """What holds of each stream of messages. Sorting is Spark's, on disk where it must be; Python sees one batch of
    messages at a time."""
    rows = events.where(F.col("step").isin(*STEPS)).select(*audit_columns())
    together = rows.repartition(*STREAM).sortWithinPartitions(
        *STREAM, F.desc("last"), F.desc("first"), "writer", "life", "sequence"
    )
    return together.mapInArrow(in_batches(partial(_judged, context)), VERDICTS)


def audit_columns() -> list[Column]:
    """An `AuditRow`, column by column."""
    return [_column(name) for name in AuditRow._fields]


def _column(name: str) -> Column:
    """What `whole.FROM_ROW` says, in columns."""
    note = F.col("note")
    derived = {
        "broker": F.col("role") == "broker",
        "uncertain": note.startswith(UNCERTAIN),
        "dead_letter": note == DEAD_LETTERS,
        "redelivered": note.contains(REDELIVERED),
        "apart": note.rlike(APART),
        "retained": note.contains(RETAINED),
    }
    return derived[name].alias(name) if name in derived else F.col(name)


def _judged(context: Context, batches: Batches) -> Iterator[Judgement]:
    return judge(chain.from_iterable(map(_rows, batches)), context)


def _rows(batch: pa.RecordBatch) -> Iterator[AuditRow]:
    return map(AuditRow._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def in_batches(verdicts: Callable[[Batches], Iterator[Judgement]]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A function as Spark wants it, from one that yields verdicts."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        found = verdicts(batches)
        while some := list(islice(found, VERDICTS_PER_BATCH)):
            yield from verdict_table(some).to_batches()

    return run


# Transactions, and what is in doubt ----------------------------------------------------------------------------------
def with_transactions(verdicts: DataFrame) -> DataFrame:
    """The same with verdicts about transactions in place of their parts."""
    is_part = F.col("guarantee") == PART
    parts = verdicts.where(is_part).repartition("transaction").sortWithinPartitions("transaction")
    whole = parts.mapInArrow(in_batches(lambda batches: judge_transactions(verdicts_in(batches))), VERDICTS)
    return verdicts.where(~is_part).unionByName(whole)


def with_doubts(verdicts: DataFrame, doubts: list[Doubt], lives: list[LifeSums]) -> DataFrame:
    """The same; what missing records may explain is `unknown`."""
    return verdicts.mapInArrow(in_batches(partial(_doubted, Doubts(doubts, lives))), VERDICTS)


def _doubted(doubts: Doubts, batches: Batches) -> Iterator[Judgement]:
    return (doubts.judged(one) if one.reason else one for one in verdicts_in(batches))


# Applications that talk to each other --------------------------------------------------------------------------------
CONNECTED_MAX: Final = 200_000
"""Who took from whom, in which mailbox: so many of these one task connects in less than a second."""
_APPLICATIONS: Final = ("source", "writer")


def causal_rows(events: DataFrame) -> DataFrame:
    """What applications sent and took in causal order."""
    mine = (F.col("role") == "application") & F.col("causal") & F.col("step").isin(_SENT, _RECEIVED)
    return events.where(mine).select(*CAUSAL_COLUMNS)


def circles(causal: DataFrame) -> DataFrame:
    """`name` of each application and the `circle` that it belongs to: those that are joined by who took what from
    whom. One task connects few of them; it sees each pair once."""
    taken = causal.where(F.col("step") == _RECEIVED).select("source", "mailbox", "writer").distinct().localCheckpoint()
    if taken.count() <= CONNECTED_MAX:
        return taken.repartition(1).mapInArrow(connected, "name string, circle string")
    mailbox = F.concat(F.lit("m "), "mailbox")
    pairs = [taken.select(F.concat(F.lit("a "), one).alias("left"), mailbox.alias("right")) for one in _APPLICATIONS]
    found = components(pairs[0].unionByName(pairs[1]).distinct()).where(F.col("name").startswith("a "))
    return found.select(F.substring("name", 3, 1 << 30).alias("name"), F.col("least").alias("circle"))


def causal_verdicts(causal: DataFrame, joined: DataFrame) -> DataFrame:
    """What holds of causal order, one circle of applications after the other."""
    mine = causal.join(joined, causal["writer"] == joined["name"], how="inner").drop("name")
    return mine.groupBy("circle").applyInArrow(_replayed, VERDICTS)


def _replayed(table: pa.Table) -> pa.Table:
    return verdict_table(causal_table_verdicts(table))


# Lives of writers ----------------------------------------------------------------------------------------------------
def life_sums(events: DataFrame, *more: Column) -> DataFrame:
    """`doubts.LifeSums`, column by column, and `more`: one row per life of each writer."""
    step, number = F.col("step"), F.col("sequence")
    seal, gone = step == _SEALED, step == _RETIRED
    counted = ~(seal | gone)
    sums = F.when(gone, F.from_json("note", _RETIRED_SUMS))
    of_gone = {
        name: F.coalesce(F.sum(sums[name]), F.lit(0)) for name in ("records", "total", "digests", "seals", "sealed")
    }

    def once(name: str, of: Step) -> Column:
        return F.max((step == int(of)) | F.coalesce(sums[name], F.lit(False)))

    said = F.when(seal, F.expr("try_cast(note AS bigint)"))
    low = F.when(counted, number).when(gone, F.col("first"))
    high = F.when(counted, number).when(gone, F.col("last"))
    return events.groupBy("writer", "life").agg(
        F.max(F.col("role") == "broker").alias("broker"),
        (F.count(F.when(counted, 1)) + of_gone["records"]).alias("records"),
        F.coalesce(F.min(low), F.lit(1 << 62)).alias("low"),
        F.coalesce(F.max(high), F.lit(0)).alias("high"),
        (F.coalesce(F.sum(F.when(counted, number)), F.lit(0)) + of_gone["total"]).alias("total"),
        once("gap", Step.GAP).alias("gap"),
        once("ended", Step.ENDED).alias("ended"),
        once("damaged", Step.LOST).alias("damaged"),
        (F.sum(_digest()) + of_gone["digests"]).alias("digests"),
        (F.coalesce(F.sum(said), F.lit(0)) + of_gone["seals"]).alias("seals"),
        (F.count(F.when(seal, 1)) + of_gone["sealed"]).alias("sealed"),
        F.min("version").alias("version"),
        F.max(F.when(seal | gone, F.col("incarnation")).otherwise(0)).alias("before"),
        F.max(F.when(seal | gone, F.col("copies")).otherwise(0)).alias("copies"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.collect_set("domain").alias("domains"),
        of_gone["records"].alias("retired"),
        *more,
    )


def _digest() -> Column:
    """`lake.seal.row_digest`, in columns."""

    def text(name: str, kind: str) -> Column:
        if name == "note":
            return F.when(F.col("step").isin(*WITHOUT_NOTE), "").otherwise(F.col(name))
        return F.col(name) if kind == "string" else F.col(name).cast("bigint").cast("string")

    return F.crc32(F.concat_ws(VALUES_APART, *(text(column.name, column.type) for column in EVENTS)))


def lives_in(sums: DataFrame) -> list[LifeSums]:
    """Rows of `life_sums`, also of several parts of a lake."""
    return added_up(map(life_in, sums.select(*LifeSums._fields).toArrow().to_pylist()))


def life_in(row: Mapping[str, Any]) -> LifeSums:
    """A row of `life_sums`."""
    return LifeSums(**({name: row[name] for name in LifeSums._fields} | {"domains": tuple(sorted(row["domains"]))}))


def told_of(events: DataFrame) -> DataFrame:
    """`doubts.told_in`, in columns."""
    step, brokers = F.col("step"), events.where(F.col("role") == "broker")
    members = F.split("peer", MEMBERS_APART)
    names = (
        F.when(step == int(Step.BROKER_FAILED), F.array("source"))
        .when((F.col("copies") > 0) & ~step.isin(*WITHOUT_NOTE), members)
        .when((step == _SENT) & (F.col("note") == ""), F.array("source"))
        .when(step == int(Step.DELIVERED), F.array("peer"))
    )
    by_application = step.isin(_SENT, int(Step.DELIVERED)) & (F.col("copies") == 0)
    told = brokers.select(
        names.alias("names"),
        (~by_application).alias("broker"),
        F.when(by_application, "").otherwise(F.col("domain")).alias("domain"),
    )
    # Many rows have the same names: these are brought together before they are taken apart.
    apart = told.where("names IS NOT NULL").distinct().select(F.explode("names").alias("writer"), "broker", "domain")
    return apart.where(F.col("writer") != "").distinct()


def told_by(told: DataFrame) -> list[Mention]:
    """Rows of `told_of`."""
    return [Mention(**row) for row in told.select(*Mention._fields).distinct().toArrow().to_pylist()]


def context_for(events: DataFrame, copies: dict[tuple[str, int], int]) -> Context:
    """Beginnings and ends of subscriptions, for every task: as many as were ever made."""
    rows = events.where(F.col("step").isin(*CONTEXT_STEPS)).select(*CONTEXT_COLUMNS).toArrow().to_pylist()
    return context_of(rows, copies)
