"""Job `latency`: how long messages took, by hop, class, topic and site; how long they were held; what knowing it costs.

Sketches are merged by adding counts of the same bucket (`lake.sketch`), so quantiles of any group of rows come from one
grouping and one running sum: right to 1 %, whoever wrote the sketches.

Writes `latency`, a row per hop and *cut*: `all`, `class`, `topic`, `site` (a domain), `each` (all three together).
Owns: this composition. Must not know: which bucket a duration is in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from causeway.errors import LakeError
from causeway.figures import Curve, Figure
from causeway.lake.locations import locate
from causeway.lake.schema import KINDS
from causeway.lake.sketch import GROWTH, NUMBER_MAX
from causeway.pipeline.frame import JobRequest, JobResult, Tick, write_table
from causeway.pipeline.increments import gather, runs_of
from causeway.pipeline.quality import segment_sizes, with_checked_rows
from causeway.types import ServiceClass

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PARTS: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "most": 1.0}
"""Columns of the table, and which part of the messages was faster."""
CUTS: Final = {
    "all": (),
    "class": ("service",),
    "topic": ("name",),
    "site": ("domain",),
    "each": ("service", "name", "domain"),
}
HOPS_MAX: Final = 16
"""Kinds of hops in a summary and a figure; there are six."""
ONE_IN: Final = (2, 4, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000)
"""Where the figure's curves have points."""
STAGES: Final = ("reading", "percentiles", "monitoring")


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Percentiles of every cut."""
    tick(STAGES[0], 0, len(STAGES))
    counts = gather(spark, request, "latency", counts_of, added_counts)
    tick(STAGES[1], 1, len(STAGES))
    table = write_table(with_quantiles(cut_counts(counts)), request.out, "latency")
    rows = spark.read.parquet(str(locate(request.out) / table)).where(F.col("cut").isin("all", "class"))
    found = [row.asDict() for row in rows.orderBy("cut", "hop", "service").limit(HOPS_MAX * 8).collect()]
    if not found:
        raise LakeError(request.lake, "has latency segments without one duration", "wait for a writer to fill one")
    tick(STAGES[2], 2, len(STAGES))
    summary = {
        **_by_hop(found),
        "monitoring": monitoring(spark, request),
        "runs": runs_of(request, "latency"),
    }
    return JobResult(job="latency", summary=summary, tables=(table,), figures=tail_figures(counts))


# From sketches to counts --------------------------------------------------------------------------------------------
def counts_of(latency: DataFrame) -> DataFrame:
    """Messages by bucket, without the second: what is added up."""
    rules = {
        "buckets and counts differ in length": F.size("buckets") == F.size("counts"),
        f"a bucket is not in 0..{NUMBER_MAX}": F.forall("buckets", lambda number: number.between(0, NUMBER_MAX)),
        "a count is negative": F.forall("counts", lambda count: count >= 0),
    }
    pairs = with_checked_rows(latency, rules).select(
        "domain", "hop", "service", "name", F.explode(F.arrays_zip("buckets", "counts")).alias("pair")
    )
    columns = (F.col("pair.buckets").alias("bucket"), F.col("pair.counts").alias("messages"))
    return added_counts(pairs.select("domain", "hop", "service", "name", *columns))


def added_counts(counts: DataFrame) -> DataFrame:
    """Counts of the same bucket as one."""
    return counts.groupBy("domain", "hop", "service", "name", "bucket").agg(F.sum("messages").alias("messages"))


def cut_counts(counts: DataFrame) -> DataFrame:
    """The same counts grouped in every cut; a column that a cut does not have is null."""
    sets = [["hop", *columns, "bucket"] for columns in CUTS.values()]
    columns = ("hop", "service", "name", "domain", "bucket")
    grouped = counts.groupingSets([[F.col(name) for name in one] for one in sets], *map(F.col, columns))
    return grouped.agg(F.sum("messages").alias("messages")).where("messages > 0").withColumn("cut", _cut())


def _cut() -> Column:
    """Which cut a row belongs to, by the columns that it has."""
    wanted = ("service", "name", "domain")
    chosen = F.lit("all")
    for cut, columns in CUTS.items():
        has = [F.col(name).isNotNull() if name in columns else F.col(name).isNull() for name in wanted]
        chosen = F.when(has[0] & has[1] & has[2], F.lit(cut)).otherwise(chosen)
    return chosen


def with_quantiles(counts: DataFrame) -> DataFrame:
    """A row per group with its messages and quantiles in milliseconds: of the first bucket with so many below."""
    group = ("cut", "hop", "service", "name", "domain")
    upto = Window.partitionBy(*group).orderBy("bucket")
    whole = Window.partitionBy(*group)
    running = counts.withColumn("seen", F.sum("messages").over(upto)).withColumn("total", F.sum("messages").over(whole))
    quantiles = [
        _milliseconds(F.min(F.when(F.col("seen") > part * (F.col("total") - 1), F.col("bucket")))).alias(f"{name}_ms")
        for name, part in PARTS.items()
    ]
    return running.groupBy(*group).agg(
        F.sum("messages").alias("messages"),
        F.sum(F.when(F.col("bucket") == 0, F.col("messages")).otherwise(0)).alias("not_positive"),
        *quantiles,
    )


def _milliseconds(bucket: Column) -> Column:
    """The duration that stands for a bucket, as `lake.sketch.value_of`."""
    nanoseconds = F.lit(2.0) * F.pow(F.lit(GROWTH), bucket) / (1 + GROWTH)
    return F.when(bucket <= 0, 0.0).otherwise(nanoseconds / 1e6)


# What goes out ------------------------------------------------------------------------------------------------------
def _by_hop(rows: list[dict[str, Any]]) -> dict[str, Any]:
    hops: dict[str, Any] = {}
    classes: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["cut"] == "all":
            hops[row["hop"]] = {name: row[name] for name in ("messages", *(f"{part}_ms" for part in PARTS))}
        else:
            classes.setdefault(_class_name(row["service"]), {})[f"{row['hop']}_p99_ms"] = row["p99_ms"]
    every = [row for row in rows if row["cut"] == "all"]
    return {
        "hops": hops,
        "classes": classes,
        "held": hops.get("held", {"messages": 0}),
        "not_positive": sum(row["not_positive"] for row in every),
    }


def _class_name(service: int) -> str:
    try:
        return ServiceClass(service).name.lower()
    except ValueError:
        return f"class-{service}"  # of a later version


def monitoring(spark: SparkSession, request: JobRequest) -> dict[str, Any]:
    """What the lake itself takes beside what it is about: bytes on disk, and per message and byte carried."""
    sizes = {kind: segment_sizes(request.lake, kind) for kind in KINDS}
    found: dict[str, Any] = {f"{kind}_bytes": sum(mine) for kind, mine in sizes.items()}
    stored = sum(map(sum, sizes.values()))
    found |= {"segments": sum(map(len, sizes.values())), "messages": None, "bytes_per_message": None}
    if not sizes["telemetry"]:
        return found
    carried = gather(spark, request, "telemetry", carried_of, added_carried)
    row = carried.agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes")).first()
    assert row is not None  # an aggregate has a row
    messages, size = row["messages"] or 0, row["bytes"] or 0
    found["messages"] = messages
    found["bytes_per_message"] = stored / messages if messages else None
    found["part_of_bytes_carried"] = stored / size if size else None
    return found


def carried_of(telemetry: DataFrame) -> DataFrame:
    """What brokers took, and the bytes that they took and handed out."""
    return telemetry.agg(
        F.coalesce(F.sum("messages_in"), F.lit(0)).alias("messages"),
        F.coalesce(F.sum(F.col("bytes_in") + F.col("bytes_out")), F.lit(0)).alias("bytes"),
    )


def added_carried(parts: DataFrame) -> DataFrame:
    """The same of several parts."""
    return parts.agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))


def tail_figures(counts: DataFrame) -> tuple[Figure, ...]:
    """How long the slowest take, hop by hop: one message in so many. None if no duration is positive."""
    sums = counts.groupBy("hop", "bucket").agg(F.sum("messages").alias("messages")).where("messages > 0")
    upto = Window.partitionBy("hop").orderBy("bucket")
    whole = Window.partitionBy("hop")
    running = sums.withColumn("seen", F.sum("messages").over(upto)).withColumn("total", F.sum("messages").over(whole))
    points = [
        _milliseconds(F.min(F.when(F.col("seen") > (1 - 1 / one) * (F.col("total") - 1), F.col("bucket")))).alias(
            str(one)
        )
        for one in ONE_IN
    ]
    rows = running.groupBy("hop").agg(F.first("total").alias("total"), *points).orderBy("hop").limit(HOPS_MAX)
    curves = []
    for number, row in enumerate(rows.collect()):
        shown = [(one, row[str(one)]) for one in ONE_IN if one <= max(2, row["total"]) and row[str(one)] > 0]
        if shown:
            xs, ys = zip(*shown, strict=True)
            curves.append(Curve(row["hop"], tuple(map(float, xs)), ys, style=number % 4, hollow=number >= 4))
    if not curves:
        return ()
    figure = Figure(
        name="latency",
        title="How long the slowest take",
        x_label="one message in so many takes longer",
        y_label="milliseconds",
        curves=tuple(curves),
    )
    return (figure,)
