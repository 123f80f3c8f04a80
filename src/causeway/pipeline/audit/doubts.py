"""Which records are missing, and what they put in doubt.

Each writer counts its records without gaps and closes its life with ENDED. So four things are seen: a gap in the
count (records dropped, segments deleted), a broker that has not closed its life (it was killed, or goes on: its last
seconds are not there), rows that are there twice, and a broker of which others tell that has written nothing. A finding
that such records might explain otherwise is `unknown`: those of any broker of the domains in which it happened, and
gaps of applications that the finding names.

Owns: this judgement. Must not know: the rules.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from causeway.pipeline.audit.words import UNKNOWN, VIOLATED
from causeway.trace import MEMBERS_APART, Step

GAPS: Final = "records are missing"
TWICE: Final = "records are there twice"
CUT: Final = "its last records may be missing"
SILENT: Final = "no records of it are there"


def life_sums(events: DataFrame) -> DataFrame:
    """One row per life of each writer, of sums that can be added up: how many records, and whether it was closed."""
    return events.groupBy("writer", "life").agg(
        F.max(F.col("role") == "broker").alias("broker"),
        F.count("*").alias("records"),
        F.min("sequence").alias("low"),
        F.max("sequence").alias("high"),
        F.sum("sequence").alias("total"),
        F.max(F.col("step") == int(Step.GAP)).alias("gap"),
        F.max(F.col("step") == int(Step.ENDED)).alias("ended"),
        F.collect_set("domain").alias("domains"),
    )


def added_up(sums: DataFrame) -> DataFrame:
    """Sums of the same lives from several parts of a lake as one."""
    return sums.groupBy("writer", "life").agg(
        F.max("broker").alias("broker"),
        F.sum("records").alias("records"),
        F.min("low").alias("low"),
        F.max("high").alias("high"),
        F.sum("total").alias("total"),
        F.max("gap").alias("gap"),
        F.max("ended").alias("ended"),
        F.array_distinct(F.flatten(F.collect_list("domains"))).alias("domains"),
    )


def told_of(events: DataFrame) -> DataFrame:
    """Names of brokers of which others tell, a landmark that they are gone or an owner that they have a copy, and the
    `domain` in which they do."""
    gone = events.where(F.col("step") == int(Step.BROKER_FAILED)).select(F.col("source").alias("writer"), "domain")
    held = events.where(F.col("copies") > 0).select("peer", "domain").distinct()
    members = held.select(F.explode(F.split("peer", MEMBERS_APART)).alias("writer"), "domain")
    return gone.unionByName(members.where(F.col("writer") != "")).distinct()


def doubtful(lives: DataFrame, told: DataFrame) -> DataFrame:
    """Lives some of whose records may be missing: `writer`, `life`, `broker`, `domains`, `doubt`."""
    count = F.col("records")
    whole = (F.col("low") == 1) & (F.col("high") == count) & (F.col("total") * 2 == count * (count + 1))
    doubt = (
        F.when(F.col("gap") | (count < F.col("high")), GAPS)
        .when(count > F.col("high"), TWICE)
        .when(~whole, GAPS)
        .when(F.col("broker") & ~F.col("ended"), CUT)
    )
    brokers = told.groupBy("writer").agg(F.collect_set("domain").alias("told"))
    columns = ("writer", "life", "broker", "domains", "doubt")
    known = lives.withColumn("doubt", doubt).where(F.col("doubt").isNotNull()).select(*columns)
    # Killed before it wrote anything, or it writes no lake: only others know that it was there.
    silent = brokers.join(lives, "writer", how="left_anti").select(
        "writer",
        F.lit(0).cast("long").alias("life"),
        F.lit(True).alias("broker"),
        F.col("told").alias("domains"),
        F.lit(SILENT).alias("doubt"),
    )
    return known.unionByName(silent)


def with_doubts(findings: DataFrame, lives: DataFrame) -> DataFrame:
    """Findings with a column `doubt`; where it is not empty, what was violated is `unknown`."""
    columns = findings.columns
    text = F.concat("doubt", F.lit(": "), "writer", F.lit(" in its life "), F.col("life").cast("string"))
    of_domains = lives.where("broker").select(
        F.explode(F.transform("domains", _domain_mark)).alias("mark"), text.alias("doubt")
    )
    of_lives = lives.where(F.col("doubt") != CUT).select(
        _life_mark("writer", "life").alias("mark"), text.alias("doubt")
    )
    doubts = of_domains.unionByName(of_lives).groupBy("mark").agg(F.min("doubt").alias("doubt"))
    marks = F.array_distinct(
        F.concat(
            F.transform("domains", _domain_mark),
            F.transform("evidence", lambda one: _life_mark(one["writer"], one["life"])),
        )
    )
    marked = findings.withColumn("mark", F.explode_outer(marks)).join(doubts, "mark", how="left")
    found = marked.groupBy(*columns).agg(F.coalesce(F.min("doubt"), F.lit("")).alias("doubt"))
    doubted = (F.col("doubt") != "") & (F.col("outcome") == VIOLATED)
    return found.withColumn("outcome", F.when(doubted, UNKNOWN).otherwise(F.col("outcome")))


def _domain_mark(domain: Column) -> Column:
    return F.concat(F.lit("domain "), domain)


def _life_mark(writer: str | Column, life: str | Column) -> Column:
    lived = F.col(life) if isinstance(life, str) else life
    return F.concat(
        F.lit("life "), lived.cast("string"), F.lit(" "), F.col(writer) if isinstance(writer, str) else writer
    )
