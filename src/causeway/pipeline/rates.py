"""Job `rates`: how much topics and items carry, when the peak is, and how items rise together then.

From telemetry, which has no rows for seconds in which nothing happened, to
- `periods`: the dense grid of periods, with the rate of everything and whether it is a peak;
- `series`: a row per topic with its rate in each of those periods, zeros filled in;
- `topics`: mean, deviation and largest rate of every topic over all windows of the grid;
- `items`, `covariance`: means and covariance of items over the windows of the peak periods;
- `model.json`: the same for `causeway plan placement` and the job `risk`, with brokers and what they own.

Zeros are never rows: a window without any is counted, and what is dense (a block of windows by items, a topic's series)
is made inside a task, one piece at a time.

Owns: this composition. Must not know: how moments are merged (moments.py), what a grid is (grid.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from causeway.errors import ConfigError, LakeError
from causeway.lake.days import DAY_SECONDS
from causeway.names import SEATS
from causeway.pipeline import rates_output as output
from causeway.pipeline.frame import JobRequest, JobResult, Tick, count_option, number_option, write_table
from causeway.pipeline.grid import DAYS_MAX, DaySeen, Grid, Periods, find_peaks, make_grid
from causeway.pipeline.increments import gather, runs_of
from causeway.pipeline.moments import Moments, merged_moments, no_moments, sparse_moments, zero_moments
from causeway.pipeline.quality import few_rows, with_checked_rows
from causeway.pipeline.rates_output import MeasuredItem

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

INTERVAL_USUAL: Final = 1
PERIOD_USUAL: Final = 900
PEAK_USUAL: Final = 0.75
ITEMS_MAX: Final = 2_000
"""Items with a covariance: a part of the matrix is 32 MB then, one for each task and some in the driver."""
STAGES: Final = ("reading", "periods", "topics", "series", "items", "covariance")

SERIES_SCHEMA: Final = "item string, name string, rates array<double>"
PARTS_SCHEMA: Final = "size long, mean binary, squares binary"


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Rates, peaks, means and covariance of all items in a lake."""
    step = _steps(tick)
    interval = count_option(request, "interval", INTERVAL_USUAL, 1, DAY_SECONDS)
    period = count_option(request, "period", PERIOD_USUAL, 1, DAY_SECONDS)
    quantile = number_option(request, "peak", PEAK_USUAL, 0, 1)
    if period % interval:
        raise ConfigError("set period", period, f"must be a multiple of interval={interval}")
    step()
    cells = of_domain(gather(spark, request, "telemetry", cells_of, added_cells), request.options.get("domain", ""))
    grid = make_grid(days_seen(cells), interval, period)
    on_grid = with_windows(cells, grid)
    step()
    periods = find_peaks(period_sums(on_grid), grid, quantile)
    step()
    topics = write_table(topics_of(on_grid, grid), request.out, "topics")
    step()
    series = write_table(series_of(on_grid, grid), request.out, "series")
    step()
    items = items_of(on_grid)
    step()
    of_peak = on_grid.join(F.broadcast(peak_frame(spark, periods)), "period", "left_semi")
    seen = item_moments(spark, of_peak, list(items), grid)
    moments = merged_moments(seen, zero_moments(periods.peak_windows - seen.size, len(items)))
    written = output.write(request, grid, periods, items, moments)
    return JobResult(
        job="rates",
        summary=output.summarise(grid, periods, items, moments) | {"runs": runs_of(request, "telemetry")},
        tables=(topics, series, *written),
        figures=output.figures(periods),
    )


def _steps(tick: Tick) -> Callable[[], None]:
    numbers = iter(range(len(STAGES)))

    def step() -> None:
        number = next(numbers)
        tick(STAGES[number], number, len(STAGES))

    return step


# From rows to cells of the grid -------------------------------------------------------------------------------------
def cells_of(telemetry: DataFrame) -> DataFrame:
    """What is needed of each row about a topic. Rows of one cell are added up by whoever reads them."""
    rules = {
        "messages_in is negative": F.col("messages_in") >= 0,
        "second is before 1970 or after 2262": F.col("second").between(0, 9_223_372_036),
    }
    placed = ~F.col("item").isin("", SEATS)  # what goes in causal order is bound to seats: no item is to be placed
    of_topics = with_checked_rows(telemetry, rules).where(placed & (F.col("messages_in") > 0))
    return of_topics.select("domain", "writer", "item", "name", "second", F.col("messages_in").alias("messages"))


def added_cells(cells: DataFrame) -> DataFrame:
    """Rows of one cell as one."""
    return cells.groupBy("domain", "writer", "item", "name", "second").agg(F.sum("messages").alias("messages"))


def of_domain(cells: DataFrame, domain: str) -> DataFrame:
    """Of one domain alone, if one is asked for."""
    return cells.where(F.col("domain") == domain) if domain else cells


def days_seen(cells: DataFrame) -> list[DaySeen]:
    """Which domain recorded what on which days; a LakeError if they are too many to look at."""
    day = F.floor(F.col("second") / DAY_SECONDS).alias("day")
    found = cells.groupBy("domain", day).agg(F.min("second").alias("first"), F.max("second").alias("last"))
    remedy = "look at one domain with --set domain=NAME, or leave days out in which a clock ran wild"
    rows = few_rows(found, DAYS_MAX, "days of domains", remedy)
    days = [DaySeen(row["domain"], row["day"], row["first"], row["last"]) for row in rows]
    if not days:
        remedy = (
            "publish while brokers write it ('causeway up --lake DIR', 'causeway publish TOPIC BODY'), let 'causeway "
            "pipeline generate' make one, or mind --set domain"
        )
        raise LakeError("the lake", "has no telemetry of topics, and rates are theirs; mailboxes have none", remedy)
    return days


def with_windows(cells: DataFrame, grid: Grid) -> DataFrame:
    """Cells of the grid with the number of their window and period; the others are left out."""
    inside: Column = F.lit(False)
    for first, last in grid.spans:
        inside = inside | F.col("second").between(first, last)
    window = F.floor(F.col("second") / grid.interval)
    period = F.floor(F.col("second") / grid.period)
    return cells.where(inside).withColumns({"window": window, "period": period})


# Periods ------------------------------------------------------------------------------------------------------------
def period_sums(cells: DataFrame) -> dict[int, int]:
    """Messages of all topics by period. A grid has a bounded number of periods, however much happened in them."""
    found = cells.groupBy("period").agg(F.sum("messages").alias("messages"))
    return {row["period"]: row["messages"] for row in found.collect()}


def peak_frame(spark: SparkSession, periods: Periods) -> DataFrame:
    """Numbers of the peak periods."""
    return spark.createDataFrame(pa.table({"period": periods.numbers[periods.peak]}))


# Topics -------------------------------------------------------------------------------------------------------------
def topics_of(cells: DataFrame, grid: Grid) -> DataFrame:
    """Mean, deviation and largest rate of each topic over all windows of the grid.

    Moments of the windows with messages are Spark's own, which merges centred sums; the windows without are as many
    zeros: they move the mean, and add the squared distance between their mean and the others'.
    """
    windows = grid.windows
    rate = F.sum("messages") / grid.interval
    active = cells.groupBy("item", "name", "window").agg(rate.alias("rate"))
    found = active.groupBy("item", "name").agg(
        F.count("*").alias("active"),
        F.avg("rate").alias("active_mean"),
        F.var_pop("rate").alias("active_variance"),
        F.max("rate").alias("largest"),
    )
    squares = F.col("active") * (
        F.col("active_variance") + F.col("active_mean") ** 2 * ((windows - F.col("active")) / windows)
    )
    return found.select(
        "item",
        "name",
        "active",
        F.lit(windows).alias("windows"),
        (F.col("active_mean") * F.col("active") / windows).alias("mean"),
        F.sqrt(squares / max(1, windows - 1)).alias("deviation"),
        "largest",
    )


def series_of(cells: DataFrame, grid: Grid) -> DataFrame:
    """A row per topic with its rate in every period of the grid, in the order of `periods`."""
    sums = cells.groupBy("item", "name", "period").agg(F.sum("messages").alias("messages"))
    sorted_sums = sums.repartition("item", "name").sortWithinPartitions("item", "name", "period")
    return sorted_sums.mapInArrow(partial(fill_series, grid), SERIES_SCHEMA)


def fill_series(grid: Grid, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sparse sums of topics, one after another, as dense series: one topic at a time."""
    numbers = grid.periods()
    seconds = grid.windows_in(numbers) * grid.interval
    topic: tuple[str, str] | None = None
    rates = np.zeros(len(numbers))
    for batch in batches:
        places = np.searchsorted(numbers, batch.column("period").to_numpy())
        messages = batch.column("messages").to_numpy()
        keys = zip(batch.column("item").to_pylist(), batch.column("name").to_pylist(), strict=True)
        for key, place, count in zip(keys, places, messages, strict=True):
            if key != topic:
                if topic is not None:
                    yield _series_row(topic, rates / seconds)
                topic = key
                rates = np.zeros(len(numbers))
            rates[place] = count
    if topic is not None:
        yield _series_row(topic, rates / seconds)


def _series_row(topic: tuple[str, str], rates: Any) -> pa.RecordBatch:
    columns = [pa.array([topic[0]]), pa.array([topic[1]]), pa.array([rates], pa.list_(pa.float64()))]
    return pa.RecordBatch.from_arrays(columns, names=["item", "name", "rates"])


# Items --------------------------------------------------------------------------------------------------------------
def items_of(cells: DataFrame) -> dict[str, MeasuredItem]:
    """All items by name, sorted; a LakeError if they are too many for a covariance."""
    found = cells.groupBy("item").agg(
        F.max_by("writer", F.struct("second", "writer")).alias("owner"), F.count_distinct("name").alias("topics")
    )
    remedy = "put more topics into each, or look at one domain with --set domain=NAME"
    rows = few_rows(found, ITEMS_MAX, "items", remedy)
    return {
        row["item"]: MeasuredItem(row["owner"], row["topics"]) for row in sorted(rows, key=lambda row: str(row["item"]))
    }


def item_moments(spark: SparkSession, cells: DataFrame, items: list[str], grid: Grid) -> Moments:
    """Means and centred Gram matrix of the items' rates over the windows in which any has messages."""
    numbers = spark.createDataFrame(pa.table({"item": items, "number": np.arange(len(items))}))
    rate = (F.sum("messages") / grid.interval).alias("rate")
    samples = cells.join(F.broadcast(numbers), "item", "inner").groupBy("window", "number").agg(rate)
    sorted_samples = samples.repartition("window").sortWithinPartitions("window")
    parts = sorted_samples.mapInArrow(partial(gram_part, len(items)), PARTS_SCHEMA)
    found = no_moments(len(items))
    for row in parts.toLocalIterator():  # one matrix per task, one at a time
        mean = np.frombuffer(row["mean"], np.float64)
        squares = np.frombuffer(row["squares"], np.float64).reshape(len(items), len(items))
        found = merged_moments(found, Moments(row["size"], mean, squares))
    return found


def gram_part(series: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One part of the moments, of all samples of a task."""
    found = sparse_moments(
        (
            (
                batch.column("window").to_numpy(),
                batch.column("number").to_numpy(),
                batch.column("rate").to_numpy(),
            )
            for batch in batches
        ),
        series,
    )
    if found.size:
        columns = [pa.array([found.size]), pa.array([found.mean.tobytes()]), pa.array([found.squares.tobytes()])]
        yield pa.RecordBatch.from_arrays(columns, names=["size", "mean", "squares"])
