"""Job `domains`: who talks to whom, by what applications received, and a split into domains that suits it.

Writes `pairs` (source, reader, messages, how many in causal order), `traffic.csv` for `causeway plan domains`, and
`seats.json`, the split that is proposed, for `causeway up --seats`.

Owns: this composition. Must not know: how a split is found (`causeway.domains`).
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from causeway.domains.limits import SEATS_MAX, SEATS_PER_DOMAIN_MAX
from causeway.domains.plan import Proposal, propose
from causeway.domains.tables import NEEDED, read_traffic, written_seats
from causeway.errors import ConfigError, LakeError
from causeway.figures import Curve, Figure
from causeway.lake.days import DAY_SECONDS
from causeway.lake.locations import locate
from causeway.pipeline.frame import JobRequest, JobResult, Tick, count_option, read_lake, write_table, write_text
from causeway.pipeline.grid import DAYS_MAX, DaySeen, make_grid
from causeway.pipeline.quality import few_rows, with_checked_rows
from causeway.trace import Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAIRS_MAX: Final = 500_000
"""Pairs of applications that talk: more is no table that anybody plans from."""
POINTS_MAX: Final = 60
SHOWN_MAX: Final = 10
TRAFFIC: Final = ("all", "causal")


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Pairs, their rates, and a proposal."""
    which = request.options.get("traffic", "all")
    if which not in TRAFFIC:
        raise ConfigError("set traffic", which, f"must be one of: {', '.join(TRAFFIC)}")
    size_max = count_option(request, "domain-size-max", SEATS_PER_DOMAIN_MAX, 2, SEATS_PER_DOMAIN_MAX)
    tick("reading", 0, 100)
    received = received_of(read_lake(spark, request.lake, "events", checked=request.checked))
    seconds = seconds_recorded(received)
    table = write_table(pairs_of(received), request.out, "pairs")
    pairs = of_traffic(spark.read.parquet(str(locate(request.out) / table)), which)
    traffic = traffic_text(pairs, seconds)
    write_text(request.out, "traffic.csv", traffic)
    tick("looking for a split", 10, 100)
    read = read_traffic(traffic)
    found = propose(
        read.units,
        read.rates,
        size_max=size_max,
        told=lambda part: tick("looking for a split", 10 + round(90 * part), 100),
    )
    write_text(request.out, "seats.json", written_seats(found.seats))
    return JobResult(
        job="domains",
        summary=_summary(found, read.rates, seconds),
        tables=(table, "traffic.csv", "seats.json"),
        figures=(pair_figure(found, read.rates),),
    )


def received_of(events: DataFrame) -> DataFrame:
    """What applications took from their readers: who sent it, who has it, how many messages."""
    rules = {"last is before first": F.col("last") >= F.col("first"), "a source has no name": F.col("source") != ""}
    taken = events.where((F.col("step") == int(Step.RECEIVED)) & (F.col("role") == "application"))
    return with_checked_rows(taken, rules).select(
        "domain",
        "source",
        F.col("writer").alias("reader"),
        (F.col("last") - F.col("first") + 1).alias("messages"),
        "causal",
        F.floor(F.col("at") / 1_000_000_000).alias("second"),
    )


def seconds_recorded(received: DataFrame) -> int:
    """For how long anything was recorded: without the days that were not."""
    day = F.floor(F.col("second") / DAY_SECONDS).alias("day")
    days = received.groupBy(day).agg(F.min("second").alias("first"), F.max("second").alias("last"))
    rows = few_rows(days, DAYS_MAX, "days", "leave those out in which a clock ran wild")
    if not rows:
        remedy = "applications write those events: let them trace, or wait until some have received"
        raise LakeError("the lake", "says of no application that it received anything", remedy)
    return make_grid((DaySeen("", row["day"], row["first"], row["last"]) for row in rows), 1, DAY_SECONDS).windows


def pairs_of(received: DataFrame) -> DataFrame:
    """Messages by source and reader."""
    causal = F.sum(F.when(F.col("causal"), F.col("messages")).otherwise(0))
    return received.groupBy("source", "reader").agg(F.sum("messages").alias("messages"), causal.alias("causal"))


def of_traffic(pairs: DataFrame, which: str) -> DataFrame:
    """Those that count, with `counted` messages each."""
    column = F.col("causal") if which == "causal" else F.col("messages")
    return pairs.withColumn("counted", column).where("counted > 0")


def traffic_text(pairs: DataFrame, seconds: int) -> str:
    """The table that `causeway plan domains` reads, busiest first. Nobody plans from too many."""
    busiest_first = pairs.orderBy(F.desc("counted"), "source", "reader")
    rows = few_rows(busiest_first, PAIRS_MAX, "pairs of applications", "split it by its domain folders")
    if not rows:
        raise LakeError("the lake", "has no messages in causal order", "leave --set traffic=causal out")
    units = {name for row in rows for name in (row["source"], row["reader"])}
    if len(units) > SEATS_MAX:
        raise LakeError(
            "the lake", f"has {len(units)} applications, more than the {SEATS_MAX} seats of a map", "split it"
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(NEEDED)
    writer.writerows((row["source"], row["reader"], repr(row["counted"] / seconds)) for row in rows)
    return text.getvalue()


def _summary(found: Proposal, rates: tuple[tuple[str, str, float], ...], seconds: int) -> dict[str, Any]:
    inside = sum(rate for source, reader, rate in rates if _together(found, source, reader))
    total = sum(rate for _, _, rate in rates)
    return {
        "applications": len(found.seats),
        "pairs": len(rates),
        "seconds_recorded": seconds,
        "rate": total,
        "domains": len(found.domains),
        "largest_domain": max(len(line.members) for line in found.domains),
        "routers": sum(1 for mine in found.seats.values() if len(mine) > 1),
        "cost": found.cost,
        "part_within_one_domain": inside / total if total else 1.0,
        "busiest_domains": {line.name: line.rate for line in found.domains[:SHOWN_MAX]},
    }


def _together(found: Proposal, source: str, reader: str) -> bool:
    return any(domain in found.seats[reader] for domain in found.seats[source])


def pair_figure(found: Proposal, rates: tuple[tuple[str, str, float], ...]) -> Figure:
    """Pairs by rate: a good split has the busiest ones together."""
    ranked = sorted(rates, key=lambda one: -one[2])
    chosen = sorted({min(len(ranked), round(len(ranked) ** (at / POINTS_MAX))) for at in range(POINTS_MAX + 1)})
    points: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for rank in chosen:
        source, reader, rate = ranked[rank - 1]
        if rate > 0:
            points[_together(found, source, reader)].append((float(rank), rate))
    labels = {True: "in one domain", False: "through routers"}
    curves = tuple(
        Curve(labels[inside], tuple(x for x, _ in mine), tuple(y for _, y in mine), joined=False, hollow=not inside)
        for inside, mine in points.items()
        if mine
    )
    return Figure(
        name="domains",
        title="Who talks to whom: pairs of applications by rate",
        x_label="rank of the pair",
        y_label="messages per second",
        curves=curves,
    )
