"""The job `generate`: a lake of any size, with planted faults, made on Spark.

Two parts, either of which may be left out: events of applications (`world`), and telemetry with latencies of topics
(`telemetry`). Applications live in circles of a few that talk among themselves; each circle is made by one task, from
the seed and its number alone. What was planted is written to `_planted` in the lake, which no reader of lakes looks
into.

Owns: how a lake is cut into circles, where it is written. Must not know: what happens in a circle (`world`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from causeway.errors import ConfigError
from causeway.lake.locations import Location, locate
from causeway.lake.schema import EVENTS, PARTITIONS
from causeway.lake.table import listing
from causeway.pipeline.frame import JobRequest, JobResult, Tick, count_option, number_option, read_lake, yes_option
from causeway.pipeline.generate.telemetry import TelemetryPlan, check_plan, generate_telemetry
from causeway.pipeline.generate.world import FAULTS, GAP, MadeWorld, Planted
from causeway.pipeline.generate.writers import COLUMNS
from causeway.pipeline.schemas import lake_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS_MIN: Final = 1_000
CIRCLE: Final = 8
"""Applications that talk among themselves."""
ROUGH_EVERY: Final = 5
"""So many circles have one in which brokers are killed and records are missing."""
PLANTED: Final = "_planted"
RECORDS_PER_BATCH: Final = 10_000


class Circle(NamedTuple):
    """What one task makes."""

    number: int
    applications: int
    events: int
    faults: tuple[str, ...]
    rough: bool


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Make a lake."""
    if not request.lake:
        raise ConfigError("lake", request.lake, "give the folder to be made")
    lake = locate(request.lake)
    if listing(lake).live:
        raise ConfigError("lake", request.lake, "holds a lake already; give a new folder")
    events, plan = _circles(request), telemetry_plan(request)
    if not events and not plan.topics:
        raise ConfigError("set topics", plan.topics, "nothing is to be made: events is 0 as well")
    kinds = ["telemetry", "latency"][: 2 if yes_option(request, "latency", usual=True) else 1] if plan.topics else []
    stages = [*(["events"] if events else []), *kinds]
    lake.make_folder()
    for done, kind in enumerate(stages):
        tick(kind, done, len(stages))
        if kind == "events":
            _make_events(spark, lake, events, request.seed)
        else:
            generate_telemetry(spark, request.lake, plan, kind)
    summary: dict[str, Any] = {f"{kind}_rows": read_lake(spark, request.lake, kind).count() for kind in stages}
    summary |= {
        "applications": sum(circle.applications for circle in events),
        "circles": len(events),
        "faults": {kind: sum(circle.faults.count(kind) for circle in events) for kind in (*FAULTS, GAP)},
        "topics": plan.topics,
        "items": plan.items if plan.topics else 0,
        "seconds": plan.seconds if plan.topics else 0,
        "seed": request.seed,
    }
    return JobResult(job="generate", summary=summary)


def _circles(request: JobRequest) -> list[Circle]:
    """What is asked for of events; nothing if they are to be none."""
    events = count_option(request, "events", 100_000, 0, 10**10)
    applications = count_option(request, "applications", 40, 3, 10**6)
    faults = count_option(request, "faults", 0, 0, 10**5)
    if 0 < events < EVENTS_MIN:
        raise ConfigError("set events", events, f"must be 0, or at least {EVENTS_MIN}")
    return circles_of(events, applications, faults) if events else []


def telemetry_plan(request: JobRequest) -> TelemetryPlan:
    """What is asked for of telemetry."""
    usual = TelemetryPlan()
    topics = count_option(request, "topics", usual.topics, 0, 10**6)
    plan = TelemetryPlan(
        topics=topics,
        items=count_option(request, "items", max(1, min(usual.items, topics)), 1, 10**6),
        seconds=count_option(request, "seconds", usual.seconds, 1, 10**9),
        brokers=count_option(request, "brokers", usual.brokers, 1, 10**4),
        crowds=count_option(request, "crowds", usual.crowds, 1, 10**4),
        rate=number_option(request, "rate", usual.rate, 1e-6, 1e6),
        seed=request.seed,
    )
    if topics:
        check_plan(plan)
    return plan


def _make_events(spark: SparkSession, lake: Location, plan: list[Circle], seed: int) -> None:
    planted = lake / PLANTED
    planted.make_folder()
    numbers = spark.range(0, len(plan), 1, len(plan))
    made = numbers.mapInArrow(_maker(plan, seed, str(planted)), lake_schema(EVENTS))
    made.write.mode("append").partitionBy(*PARTITIONS).parquet(str(lake))


def circles_of(events: int, applications: int, faults: int) -> list[Circle]:
    """How work is cut. Kinds that need complete records go to calm circles, the other one to rough ones; where there
    are fewer circles than it takes for both, all are calm."""
    count = max(1, applications // CIRCLE)
    rough = {number for number in range(count) if number % ROUGH_EVERY == ROUGH_EVERY - 1}
    calm = [number for number in range(count) if number not in rough]
    mine: dict[int, list[str]] = {number: [] for number in range(count)}
    for index in range(faults):
        for place, kind in enumerate(FAULTS):
            mine[calm[(index * len(FAULTS) + place) % len(calm)]].append(kind)
        if rough:
            mine[sorted(rough)[index % len(rough)]].append(GAP)
    return [
        Circle(
            number,
            applications // count + (number < applications % count),
            events // count + (number < events % count),
            tuple(mine[number]),
            number in rough,
        )
        for number in range(count)
    ]


def _maker(
    plan: list[Circle], seed: int, planted: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from made_circle(plan[number], seed, locate(planted))

    return make


def made_circle(circle: Circle, seed: int, planted: Location) -> Iterator[pa.RecordBatch]:
    """The records of one circle; at the end, what was planted in it is written."""
    world = MadeWorld(seed, circle.number, circle.applications, circle.events, list(circle.faults), rough=circle.rough)
    for records in world.run(RECORDS_PER_BATCH):
        if records:
            columns = zip(*records, strict=True)
            yield pa.RecordBatch.from_pydict(
                {name: pa.array(values, _ARROW[name]) for name, values in zip(COLUMNS, columns, strict=True)}
            )
    rows = [dict(zip(Planted._fields, one, strict=True)) for one in world.planted]
    table = pa.Table.from_pylist(rows, schema=PLANTED_COLUMNS)
    # A task that is run again writes the same.
    pq.write_table(table, f"{planted.path}/circle-{circle.number:05}.parquet", filesystem=planted.file_system)


_TYPES: Final = {"int32": pa.int32(), "int64": pa.int64(), "bool": pa.bool_(), "string": pa.string()}
_ARROW: Final = {column.name: _TYPES[column.type] for column in EVENTS} | dict.fromkeys(PARTITIONS, pa.string())
PLANTED_COLUMNS: Final = pa.schema(
    [
        (
            name,
            {"stream": pa.int32()}.get(name, pa.int64() if name in {"incarnation", "first", "last"} else pa.string()),
        )
        for name in Planted._fields
    ]
)
