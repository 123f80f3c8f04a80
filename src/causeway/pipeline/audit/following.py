"""The audit of a lake that grows: what is new is kept, and what it touches is judged again.

A run keeps the columns of its rows that the rules read. Then it judges the streams that got new rows, and the circles
of applications that did, from all that was kept; verdicts of earlier runs about the same streams and senders count no
more. What is missing is asked for at the end of each run, over all lives: a gap may have been filled meanwhile. So the
answer is that of the batch, over what has been read.

Owns: what is kept, and which verdict is the last. Must not know: the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from causeway.lake.locations import Location
from causeway.pipeline.audit.context import CONTEXT_STEPS
from causeway.pipeline.audit.doubts import Doubt, LifeSums, copies_of, doubtful
from causeway.pipeline.audit.judging import (
    causal_rows,
    causal_verdicts,
    circles,
    context_for,
    life_sums,
    lives_in,
    stream_verdicts,
    told_by,
    told_of,
)
from causeway.pipeline.audit.words import CAUSAL, STEPS, STREAM
from causeway.pipeline.frame import JobRequest
from causeway.pipeline.increments import follow, parts_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNREAD: Final = ("version", "at", "seat", "day")
_KEY: Final = ("causal_order", *STREAM)


def followed(spark: SparkSession, request: JobRequest) -> tuple[DataFrame, list[LifeSums], list[Doubt]]:
    """Read what is new, judge what it touches: all verdicts that count now, all lives, and those that are in doubt."""
    parts = parts_folder(request, "events")

    def keep(batch: DataFrame, number: int) -> None:
        _Run(batch.persist(), parts, number).keep()
        batch.unpersist()

    follow(spark, request, "events", __name__, keep)
    lives = lives_in(spark.read.parquet(str(parts / "lives")))
    told = told_by(spark.read.parquet(str(parts / "told_of")))
    return last_verdicts(spark, parts), lives, doubtful(lives, told)


def last_verdicts(spark: SparkSession, parts: Location) -> DataFrame:
    """Of each stream, and of each sender in causal order, the verdicts of the last run that judged it."""
    touched = spark.read.parquet(str(parts / "touched"))
    last = touched.groupBy(*_KEY).agg(F.max("run").alias("run"))
    verdicts = spark.read.parquet(str(parts / "verdicts"))
    columns = [name for name in verdicts.columns if name != "run"]
    keyed = verdicts.select(F.struct(*columns).alias("verdict"), "run", *_key(F.col("guarantee") == CAUSAL))
    return keyed.join(last, [*_KEY, "run"], how="left_semi").select("verdict.*")


def _key(causal: Column) -> list[Column]:
    """What a verdict is about: a stream; or, of causal order, all that an application has sent."""
    return [
        causal.alias("causal_order"),
        F.col("source"),
        F.when(causal, 0).otherwise(F.col("incarnation")).cast("long").alias("incarnation"),
        F.when(causal, "").otherwise(F.col("dest")).alias("dest"),
        F.when(causal, 0).otherwise(F.col("stream")).cast("int").alias("stream"),
    ]


class _Run:
    """One run, of this number: what it replaces if it was interrupted and comes again."""

    def __init__(self, batch: DataFrame, parts: Location, number: int) -> None:
        self._batch, self._parts, self._number = batch, parts, number

    def keep(self) -> None:
        self._write(life_sums(self._batch), "lives")
        self._write(told_of(self._batch), "told_of")
        read = F.col("step").isin(*STEPS, *CONTEXT_STEPS)
        self._write(self._batch.where(read).drop(*_UNREAD), "rows")
        spark = self._batch.sparkSession
        lives = lives_in(spark.read.parquet(str(self._parts / "lives")))
        rows = spark.read.parquet(str(self._parts / "rows")).where(F.col("run") <= self._number)
        new = rows.where(F.col("run") == self._number)
        context = context_for(rows, copies_of(lives))
        streams = new.select(*STREAM).distinct()
        members = self._members(causal_rows(rows), causal_rows(new)).persist()
        senders = members.select(
            F.col("name").alias("source"),
            F.lit(0).alias("incarnation"),
            F.lit("").alias("dest"),
            F.lit(0).alias("stream"),
        )
        touched = streams.select(*_key(F.lit(False))).unionByName(senders.select(*_key(F.lit(True))))
        self._write(touched, "touched")
        verdicts = stream_verdicts(rows.join(streams, list(STREAM), how="left_semi"), context).unionByName(
            causal_verdicts(causal_rows(rows), members)
        )
        self._write(verdicts, "verdicts")
        members.unpersist()

    def _members(self, causal: DataFrame, new: DataFrame) -> DataFrame:
        """All applications of the circles in which something is new."""
        joined = circles(causal)
        named = new.select(F.col("writer").alias("name")).union(new.select(F.col("source").alias("name"))).distinct()
        touched = joined.join(named, "name", how="left_semi").select("circle").distinct()
        return joined.join(touched, "circle", how="left_semi").select("name", "circle")

    def _write(self, frame: DataFrame, name: str) -> None:
        frame.write.mode("overwrite").parquet(str(self._parts / name / f"run={self._number}"))
