"""Telemetry and latencies as a busy cluster would write them, of any size, drawn from a seed: a Spark job.

Topics are of unequal size (the k-th has a rate of about 1/k), rise and fall over the day, and belong to items; items
belong to *crowds*, whose topics burst at the same moments. Counts are Poisson, durations log-normal, and longer in
bursts. Only seconds with messages have rows.

Every block of seconds is drawn from the seed and its own number, so the same seed gives the same lake however many
tasks there are. Owns: how such rows are drawn. Must not know: events, planted faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from causeway.errors import ConfigError
from causeway.lake.days import DAY_SECONDS
from causeway.lake.locations import locate
from causeway.lake.schema import KINDS, LAKE_VERSION, PARTITIONS
from causeway.lake.sketch import GROWTH, NUMBER_MAX
from causeway.pipeline.generate.writers import BEGINNING
from causeway.pipeline.schemas import lake_schema
from causeway.pipeline.session import parallelism
from causeway.types import SECOND, ServiceClass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOCK_SECONDS: Final = 600
"""Drawn at once: 2,000 topics make 10 MB of rates."""
BODY_BYTES: Final = 128
READERS: Final = 2
BURST_SECONDS: Final = (60, 600)
BURSTS_A_DAY: Final = 12
"""Of each crowd."""
HOPS: Final = {"stored": 4e6, "delivered": 1e6}
"""Nanoseconds that half of the messages take at most, outside of bursts."""
SPREAD: Final = 0.6
"""Standard deviation of the logarithm of durations."""
SERVICE: Final = int(ServiceClass.RECOVERABLE)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class TelemetryPlan(NamedTuple):
    """What is to be drawn."""

    topics: int = 200
    items: int = 20
    seconds: int = 3_600
    start: int = BEGINNING // SECOND // DAY_SECONDS * DAY_SECONDS
    """First second; events are made of the same day."""
    brokers: int = 5
    domain: str = "main"
    crowds: int = 8
    """Groups of items that burst together."""
    rate: float = 0.15
    """Messages per second of a topic, on average and outside of bursts."""
    seed: int = 0


def generate_telemetry(spark: SparkSession, lake: str, plan: TelemetryPlan, kind: str = "telemetry") -> None:
    """Add the rows of a plan to a lake: `telemetry`, or `latency` of the same messages."""
    check_plan(plan)
    first, last = plan.start // BLOCK_SECONDS, (plan.start + plan.seconds - 1) // BLOCK_SECONDS
    tasks = min(last - first + 1, max(2, parallelism(spark) * 4))
    blocks = spark.range(first, last + 1, 1, tasks)
    rows = blocks.mapInArrow(partial(draw_blocks, plan, kind), lake_schema(KINDS[kind]))
    rows.write.mode("append").partitionBy(*PARTITIONS).parquet(str(locate(lake)))


def check_plan(plan: TelemetryPlan) -> None:
    """A ConfigError that names what cannot be drawn."""
    for field, least in (("topics", 1), ("items", 1), ("seconds", 1), ("brokers", 1), ("crowds", 1), ("start", 0)):
        value = getattr(plan, field)
        if value < least:
            raise ConfigError(field, value, f"must be at least {least}")
    if plan.items > plan.topics:
        raise ConfigError("items", plan.items, f"must be at most as many as topics, which are {plan.topics}")
    if not 0 < plan.rate <= 1e6:
        raise ConfigError("rate", plan.rate, "must be more than 0 and at most 1000000 messages per second")


def draw_blocks(plan: TelemetryPlan, kind: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of the blocks whose numbers come in."""
    names = _Names(plan)
    weights = topic_weights(plan)
    bursts = burst_table(plan)
    for batch in batches:
        for block in batch.column("id").to_pylist():
            cells = _drawn_block(plan, weights, bursts, block)
            if kind == "telemetry":
                yield names.telemetry(cells, np.random.default_rng([plan.seed, 5, block]))
                continue
            for number, hop in enumerate(HOPS):
                yield names.latency(cells, hop, np.random.default_rng([plan.seed, 6 + number, block]))


def topic_weights(plan: TelemetryPlan) -> Floats:
    """Rate of each topic, with the given average: few are busy, many are not; in no order."""
    sizes = 1.0 / np.arange(1, plan.topics + 1)
    np.random.default_rng([plan.seed, 1]).shuffle(sizes)
    weights: Floats = sizes * (plan.rate * plan.topics / sizes.sum())
    return weights


def burst_table(plan: TelemetryPlan) -> Floats:
    """Bursts as rows: crowd, first second, last second, factor."""
    rng = np.random.default_rng([plan.seed, 2])
    count = max(1, round(BURSTS_A_DAY * plan.seconds / DAY_SECONDS)) * plan.crowds
    begin = plan.start + rng.integers(0, plan.seconds, count)
    length = rng.integers(BURST_SECONDS[0], BURST_SECONDS[1] + 1, count)
    crowd = np.arange(count) % plan.crowds
    return np.column_stack([crowd, begin, begin + length, rng.uniform(2.0, 6.0, count)]).astype(np.float64)


class Cells(NamedTuple):
    """Topics and seconds that have messages."""

    topics: Ints
    seconds: Ints
    counts: Ints
    factors: Floats
    """How many times as many as on average these seconds have."""


def _drawn_block(plan: TelemetryPlan, weights: Floats, bursts: Floats, block: int) -> Cells:
    """Every cell of a block that has messages."""
    low = max(block * BLOCK_SECONDS, plan.start)
    high = min((block + 1) * BLOCK_SECONDS, plan.start + plan.seconds)
    seconds = np.arange(low, high)
    # The quietest hour is at four at night, the busiest twelve hours later.
    cycle = 1.0 - 0.8 * np.cos(2 * np.pi * ((seconds % DAY_SECONDS) / DAY_SECONDS - 4 / 24))
    factors = np.repeat(cycle[None, :], plan.crowds, axis=0)
    for crowd, first, last, factor in bursts[(bursts[:, 1] < high) & (bursts[:, 2] >= low)]:
        factors[int(crowd), (seconds >= first) & (seconds <= last)] *= factor
    crowd_of = np.arange(plan.topics) % plan.items % plan.crowds
    rng = np.random.default_rng([plan.seed, 3, block])
    counts = rng.poisson(weights[:, None] * factors[crowd_of])
    topics, places = np.nonzero(counts)
    return Cells(topics, seconds[places], counts[topics, places], factors[crowd_of[topics], places])


class _Names:
    """Names by number, as Arrow arrays of which rows take theirs."""

    def __init__(self, plan: TelemetryPlan) -> None:
        self._plan = plan
        self._items = np.arange(plan.topics) % plan.items
        self._owners = np.random.default_rng([plan.seed, 4]).integers(0, plan.brokers, plan.items)
        self._topic_names = pa.array([f"plant/{item}/sensor/{at}" for at, item in enumerate(self._items)])
        self._item_names = pa.array([f"item-{item:04}" for item in range(plan.items)])
        self._broker_names = pa.array([f"broker-{broker}" for broker in range(plan.brokers)])

    def telemetry(self, cells: Cells, rng: np.random.Generator) -> pa.RecordBatch:
        """Cells as rows of telemetry. What waits is what came while its reader was busy."""
        counts = cells.counts
        given = {
            "item": self._item_names.take(pa.array(self._items[cells.topics])),
            "messages_in": counts,
            "bytes_in": counts * BODY_BYTES,
            "messages_out": counts * READERS,
            "bytes_out": counts * BODY_BYTES * READERS,
            "depth": rng.poisson(counts * HOPS["delivered"] / SECOND * cells.factors),
        }
        return self._rows("telemetry", cells, given)

    def latency(self, cells: Cells, hop: str, rng: np.random.Generator) -> pa.RecordBatch:
        """How long each of the messages took, as sketches."""
        cell = np.repeat(np.arange(len(cells.counts)), cells.counts)
        middle = np.log(HOPS[hop] * cells.factors[cell])
        buckets = np.ceil((middle + SPREAD * rng.standard_normal(len(cell))) / np.log(GROWTH))
        together = cell * (NUMBER_MAX + 1) + np.clip(buckets, 1, NUMBER_MAX).astype(np.int64)
        pairs, counts = np.unique(together, return_counts=True)
        ends = np.searchsorted(pairs, np.arange(len(cells.counts) + 1) * (NUMBER_MAX + 1))
        offsets = pa.array(ends, pa.int32())
        given = {
            "hop": hop,
            "buckets": pa.ListArray.from_arrays(offsets, pa.array(pairs % (NUMBER_MAX + 1), pa.int32())),
            "counts": pa.ListArray.from_arrays(offsets, pa.array(counts, pa.int64())),
        }
        return self._rows("latency", cells, given)

    def _rows(self, kind: str, cells: Cells, more: dict[str, Any]) -> pa.RecordBatch:
        days = cells.seconds.astype("datetime64[s]").astype("datetime64[D]")
        given: dict[str, Any] = {
            "version": LAKE_VERSION,
            "writer": self._broker_names.take(pa.array(self._owners[self._items[cells.topics]])),
            "role": "broker",
            "life": 1,
            "second": cells.seconds,
            "name": self._topic_names.take(pa.array(cells.topics)),
            "service": SERVICE,
            "day": pa.array(days.astype(str)),
            "domain": self._plan.domain,
            "kind": kind,
            **more,
        }
        types = {column.name: _TYPES.get(column.type) for column in KINDS[kind]}
        names = [*types, *PARTITIONS]
        arrays = [_column(given[name], types.get(name, pa.string()), len(cells.topics)) for name in names]
        return pa.RecordBatch.from_arrays(arrays, names=names)


_TYPES: Final = {"int32": pa.int32(), "int64": pa.int64(), "string": pa.string()}


def _column(value: Any, kind: Any, length: int) -> Any:
    if isinstance(value, pa.Array):
        return value
    if isinstance(value, np.ndarray):
        return pa.array(value, kind)
    return pa.repeat(pa.scalar(value, kind), length)
