"""Job `rates`: how much topics and items carry, when the peak is, and how items rise together then.

From telemetry, which has no rows for seconds in which nothing happened, to
- `periods`: the dense grid of periods, with the rate of everything and whether it is a peak;
- `series`: a row per topic with its rate in each of those periods, zeros filled in;
- `topics`: mean, deviation and largest rate of every topic over all windows of the grid;
- `items`, `covariance`: means and covariance of items over the windows of the peak periods;
- `model.json`: the same for `causeway plan placement` and the job `risk`, with brokers and what they own.

A lake that is small is computed by one process, with the same functions (`rates_whole`).

The lake is read once: its rows become blocks (blocks.py), which are kept, and all else is computed from those. Zeros
are never rows: a window without any is counted, and what is dense (a block of windows by items, a topic's series) is
made inside a task, one piece at a time.

Owns: this composition. Must not know: how moments are merged (moments.py), what a grid is (grid.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from causeway.errors import ConfigError, LakeError
from causeway.lake.days import DAY_SECONDS
from causeway.names import SEATS
from causeway.pipeline import rates_output as output
from causeway.pipeline.blocks import BETWEEN, BLOCK_SCHEMA, WINDOWS, blocks_in, merged_block, pack_rows
from causeway.pipeline.frame import (
    JobRequest,
    JobResult,
    Tick,
    count_option,
    kept,
    number_option,
    write_small_table,
    write_table,
)
from causeway.pipeline.grid import DAYS_MAX, DaySeen, Grid, Ints, Periods, find_peaks, make_grid
from causeway.pipeline.increments import gather, runs_of
from causeway.pipeline.moments import Moments, merged_moments, no_moments, sparse_moments, zero_moments
from causeway.pipeline.quality import check_segments, few_rows, with_checked_rows
from causeway.pipeline.rates_events import EventsSaid, read_events
from causeway.pipeline.rates_output import MeasuredItem
from causeway.pipeline.rates_whole import days_in, owners_in, rates_in, read_blocks, read_said
from causeway.pipeline.reading import has_few_rows
from causeway.pipeline.topic_rates import PARTS_SCHEMA, TOPICS_SCHEMA, topic_parts, whole_topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INTERVAL_USUAL: Final = 1
PERIOD_USUAL: Final = 900
PEAK_USUAL: Final = 0.75
ITEMS_MAX: Final = 2_000
"""Items with a covariance: a part of the matrix is 32 MB then, one for each task and some in the driver."""
ITEMS_REMEDY: Final = "put more topics into each, or look at one domain with --set domain=NAME"
SMALL_ROWS: Final = 200_000
"""Rows of telemetry, and of events, of a lake that one process looks at: it takes a second or two."""
TOPICS: Final = "topics"
SERIES: Final = "series"
STAGES: Final = ("reading", "periods", "topics", "items", "covariance")

MOMENTS_SCHEMA: Final = "size long, mean binary, squares binary"


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Rates, peaks, means and covariance of all items in a lake."""
    step = _steps(tick)
    interval = count_option(request, "interval", INTERVAL_USUAL, 1, DAY_SECONDS)
    period = count_option(request, "period", PERIOD_USUAL, 1, DAY_SECONDS)
    quantile = number_option(request, "peak", PEAK_USUAL, 0, 1)
    if period % interval:
        raise ConfigError("set period", period, f"must be a multiple of interval={interval}")
    asked = _Asked(interval, period, quantile)
    if not request.stream and _is_small(request):
        found = _of_few(request, asked, step)
    else:
        found = _of_many(spark, request, asked, step)
    written = output.write(request, found.periods, found.items, found.moments, found.events.brokers)
    return JobResult(
        job="rates",
        summary={
            **output.summarise(found.grid, found.periods, found.items, found.moments),
            **output.summarise_events(found.items, found.events),
            "runs": runs_of(request, "telemetry"),
        },
        tables=(TOPICS, SERIES, *written),
        figures=output.figures(found.periods),
    )


class _Asked(NamedTuple):
    """Windows, periods, and which of these are the peak."""

    interval: int
    period: int
    quantile: float


class _Rates(NamedTuple):
    """What was computed, beside the tables of topics."""

    grid: Grid
    periods: Periods
    items: dict[str, MeasuredItem]
    moments: Moments
    events: EventsSaid


def _is_small(request: JobRequest) -> bool:
    if "telemetry" not in request.checked:
        check_segments(request.lake, "telemetry")
    return all(has_few_rows(request.lake, kind, SMALL_ROWS) for kind in ("telemetry", "events"))


def _of_few(request: JobRequest, asked: _Asked, step: Callable[[], None]) -> _Rates:
    """In this process alone: Spark would spend its time on planning and on starting workers."""
    step()
    blocks = read_blocks(request.lake, asked.interval, request.options.get("domain", ""))
    days = some_days(days_in(blocks))
    grid = make_grid(days, asked.interval, asked.period)
    step()
    found = rates_in(blocks, grid)
    periods = find_peaks(found.sums, grid, asked.quantile)
    step()
    write_small_table(found.topics.drop_columns("rates"), request.out, TOPICS)
    write_small_table(found.topics.select(["item", "name", "rates"]), request.out, SERIES)
    step()
    counts = Counter(found.topics["item"].to_pylist())
    if len(counts) > ITEMS_MAX:
        raise LakeError("the lake", f"has more than {ITEMS_MAX} items", ITEMS_REMEDY)
    owners = owners_in(blocks)
    items = {item: MeasuredItem(owners[item], counts[item]) for item in sorted(counts)}
    step()
    parts = gram_part(list(items), grid, periods.numbers[periods.peak], iter(blocks))
    seen = _sum_of_moments(len(items), (row for part in parts for row in part.to_pylist()))
    moments = merged_moments(seen, zero_moments(periods.peak_windows - seen.size, len(items)))
    return _Rates(grid, periods, items, moments, read_said(request.lake, {day.domain for day in days}))


def _of_many(spark: SparkSession, request: JobRequest, asked: _Asked, step: Callable[[], None]) -> _Rates:
    """On executors."""
    step()
    cells = of_domain(gather(spark, request, "telemetry", cells_of, added_cells), request.options.get("domain", ""))
    with kept(blocks_of(cells, asked.interval)) as blocks:
        days = days_seen(blocks)
        grid = make_grid(days, asked.interval, asked.period)
        step()
        with kept(blocks.mapInArrow(partial(topic_parts, grid), PARTS_SCHEMA)) as parts:
            periods = find_peaks(period_sums(parts), grid, asked.quantile)
            step()
            with kept(topics_of(parts, grid)) as found:
                write_table(found.drop("rates"), request.out, TOPICS)
                write_table(found.select("item", "name", "rates"), request.out, SERIES)
                step()
                items = items_of(found, blocks)
        step()
        seen = item_moments(blocks, list(items), grid, periods)
    moments = merged_moments(seen, zero_moments(periods.peak_windows - seen.size, len(items)))
    return _Rates(grid, periods, items, moments, read_events(spark, request, {day.domain: None for day in days}))


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


def blocks_of(cells: DataFrame, interval: int) -> DataFrame:
    """All cells by blocks of windows. This reads the lake, and nothing else does."""
    key = F.concat_ws(BETWEEN, "domain", "writer", "item", "name").alias("key")
    packed = cells.select(key, "second", "messages").mapInArrow(partial(pack_rows, interval), BLOCK_SCHEMA)
    return packed.groupBy("block").applyInArrow(merged_block, BLOCK_SCHEMA)


def days_seen(blocks: DataFrame) -> list[DaySeen]:
    """Which domain recorded what on which days; a LakeError if they are too many to look at."""
    found = (
        blocks.select(F.inline("seen"))
        .groupBy("domain", "day")
        .agg(F.min("first").alias("first"), F.max("last").alias("last"))
    )
    remedy = "look at one domain with --set domain=NAME, or leave days out in which a clock ran wild"
    rows = few_rows(found, DAYS_MAX, "days of domains", remedy)
    return some_days([DaySeen(row["domain"], row["day"], row["first"], row["last"]) for row in rows])


def some_days(days: list[DaySeen]) -> list[DaySeen]:
    """The same; a LakeError if there are none."""
    if not days:
        remedy = (
            "publish while brokers write it ('causeway up --lake DIR', 'causeway publish TOPIC BODY'), let 'causeway "
            "pipeline generate' make one, or mind --set domain"
        )
        raise LakeError("the lake", "has no telemetry of topics, and rates are theirs; mailboxes have none", remedy)
    return days


# Periods and topics -------------------------------------------------------------------------------------------------
def period_sums(parts: DataFrame) -> dict[int, int]:
    """Messages of all topics by period. A grid has a bounded number of periods, however much happened in them."""
    found = parts.groupBy("period").agg(F.sum("messages").alias("messages"))
    return {row["period"]: row["messages"] for row in found.collect()}


def topics_of(parts: DataFrame, grid: Grid) -> DataFrame:
    """A row per topic: mean, deviation and largest rate over all windows of the grid, and its rate in every period."""
    sorted_parts = parts.repartition("item", "name").sortWithinPartitions("item", "name")
    return sorted_parts.mapInArrow(partial(whole_topics, grid), TOPICS_SCHEMA)


# Items --------------------------------------------------------------------------------------------------------------
def items_of(topics: DataFrame, blocks: DataFrame) -> dict[str, MeasuredItem]:
    """All items by name, sorted; a LakeError if they are too many for a covariance."""
    counts = few_rows(topics.groupBy("item").agg(F.count("*").alias("topics")), ITEMS_MAX, "items", ITEMS_REMEDY)
    last = blocks.select(F.inline("owners")).groupBy("item").agg(F.max(F.struct("second", "writer")).alias("last"))
    owners = {row["item"]: row["last"]["writer"] for row in last.collect()}
    return {
        row["item"]: MeasuredItem(owners[row["item"]], row["topics"])
        for row in sorted(counts, key=lambda row: str(row["item"]))
    }


def item_moments(blocks: DataFrame, items: list[str], grid: Grid, periods: Periods) -> Moments:
    """Means and centred Gram matrix of the items' rates over the windows of the peak in which any has messages.

    Every task has a matrix of its blocks; one more task adds these up, one at a time, so that the driver gets one."""
    seconds = grid.interval * WINDOWS
    begins = F.col("block") * seconds
    first, last = (int(one) for one in (periods.begins[periods.peak][[0, -1]]))
    of_peak = blocks.where((begins > first - seconds) & (begins < last + grid.period))
    peaks = periods.numbers[periods.peak]
    parts = of_peak.mapInArrow(partial(gram_part, items, grid, peaks), MOMENTS_SCHEMA)
    whole = parts.repartition(1).mapInArrow(partial(gram_sum, len(items)), MOMENTS_SCHEMA)
    return _sum_of_moments(len(items), (row.asDict() for row in whole.collect()))


def gram_part(items: list[str], grid: Grid, peaks: Ints, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The moments of all blocks of a task."""
    numbers = {item: number for number, item in enumerate(items)}
    found = no_moments(len(items))
    for batch in batches:
        for block in blocks_in(batch):
            windows = block.window_numbers()
            wanted = grid.has(windows) & np.isin(windows * grid.interval // grid.period, peaks)
            chosen = wanted[block.windows]
            item_of = np.array([numbers.get(item, -1) for item in block.items.to_pylist()], np.int64)
            rates = block.messages[chosen] / grid.interval
            part = sparse_moments(block.windows[chosen], item_of[block.topics[chosen]], rates, len(items))
            found = merged_moments(found, part)
    yield from _as_row(found)


def gram_sum(series: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The moments of all parts."""
    yield from _as_row(_sum_of_moments(series, (row for batch in batches for row in batch.to_pylist())))


def _sum_of_moments(series: int, parts: Iterable[Mapping[str, Any]]) -> Moments:
    found = no_moments(series)
    for row in parts:
        mean = np.frombuffer(row["mean"], np.float64)
        squares = np.frombuffer(row["squares"], np.float64).reshape(series, series)
        found = merged_moments(found, Moments(row["size"], mean, squares))
    return found


def _as_row(found: Moments) -> Iterator[pa.RecordBatch]:
    if found.size:
        columns = [pa.array([found.size]), pa.array([found.mean.tobytes()]), pa.array([found.squares.tobytes()])]
        yield pa.RecordBatch.from_arrays(columns, names=["size", "mean", "squares"])
