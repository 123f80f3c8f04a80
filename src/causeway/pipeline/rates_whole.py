"""The rates of a lake that one process can hold: what `rates` has Spark do with a larger one, by the same functions.

Owns: how few rows are brought together. Must not know: Spark, the arithmetic (`blocks`, `topic_rates`, `moments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from causeway.core.topics.publishing import UNWANTED
from causeway.names import SEATS
from causeway.pipeline.blocks import BETWEEN, merged_block, pack_rows
from causeway.pipeline.grid import DaySeen, Grid
from causeway.pipeline.quality import check_rows
from causeway.pipeline.rates_events import SECOND_WAY, EventsSaid
from causeway.pipeline.reading import read_columns
from causeway.pipeline.topic_rates import topic_parts, whole_topics
from causeway.trace import Step

SECOND_MAX: Final = 9_223_372_036
"""The last second that nanoseconds can say."""


class WholeRates(NamedTuple):
    """What came out for topics and items."""

    topics: pa.Table
    """With `rates`."""
    sums: Mapping[int, int]
    """Messages by period."""


# Rows to blocks -----------------------------------------------------------------------------------------------------
def read_blocks(lake: str, interval: int, domain: str) -> list[pa.RecordBatch]:
    """All of a lake's telemetry of topics by blocks of windows, of one domain if one is named; each block is a row."""
    rows = read_columns(lake, "telemetry", ("writer", "life", "second", "name", "item", "messages_in"))
    messages, second = rows["messages_in"], rows["second"]
    check_rows(rows, "messages_in is negative", pc.greater_equal(messages, 0))
    in_time = pc.and_(pc.greater_equal(second, 0), pc.less_equal(second, SECOND_MAX))
    check_rows(rows, "second is before 1970 or after 2262", in_time)
    placed = pc.invert(pc.is_in(rows["item"], pa.array(["", SEATS])))
    rows = rows.filter(pc.and_(placed, pc.greater(messages, 0)))
    if domain:
        rows = rows.filter(pc.equal(rows["domain"], domain))
    if not rows.num_rows:
        return []
    key = pc.binary_join_element_wise(rows["domain"], rows["writer"], rows["item"], rows["name"], BETWEEN)
    cells = pa.table({"key": key, "second": rows["second"], "messages": rows["messages_in"]})
    packed = pa.Table.from_batches(pack_rows(interval, iter(cells.combine_chunks().to_batches())))
    numbers = np.unique(packed["block"].to_numpy())
    blocks = (merged_block(packed.filter(pc.equal(packed["block"], int(number)))) for number in numbers)
    return [batch for block in blocks for batch in block.to_batches()]


def days_in(blocks: Iterable[pa.RecordBatch]) -> list[DaySeen]:
    """Which domain recorded what on which days."""
    found: dict[tuple[str, int], DaySeen] = {}
    for one in _structs(blocks, "seen"):
        key = (one["domain"], one["day"])
        known = found.get(key, DaySeen(*key, one["first"], one["last"]))
        found[key] = DaySeen(*key, min(known.first, one["first"]), max(known.last, one["last"]))
    return list(found.values())


def owners_in(blocks: Iterable[pa.RecordBatch]) -> dict[str, str]:
    """By item: the broker that wrote about it last."""
    last: dict[str, tuple[int, str]] = {}
    for one in _structs(blocks, "owners"):
        said = (one["second"], one["writer"])
        last[one["item"]] = max(last.get(one["item"], said), said)
    return {item: writer for item, (_, writer) in last.items()}


def _structs(blocks: Iterable[pa.RecordBatch], name: str) -> Iterator[dict[str, Any]]:
    for batch in blocks:
        yield from batch.column(name).flatten().to_pylist()


# Blocks to topics ---------------------------------------------------------------------------------------------------
def rates_in(blocks: Iterable[pa.RecordBatch], grid: Grid) -> WholeRates:
    """A row per topic, and messages by period."""
    parts = pa.Table.from_batches(topic_parts(grid, iter(blocks)))
    sums = parts.group_by("period").aggregate([("messages", "sum")]).to_pylist()
    together = parts.sort_by([("item", "ascending"), ("name", "ascending")]).combine_chunks()
    topics = pa.Table.from_batches(whole_topics(grid, iter(together.to_batches())))
    return WholeRates(topics, {one["period"]: one["messages_sum"] for one in sums})


# Events -------------------------------------------------------------------------------------------------------------
def read_said(lake: str, domains: Iterable[str]) -> EventsSaid:
    """What events of these domains say; nothing if the lake has none."""
    names = ("writer", "role", "step", "dest", "topic", "first", "last", "note")
    rows = read_columns(lake, "events", names)
    rows = rows.filter(pc.and_(pc.equal(rows["role"], "broker"), pc.is_in(rows["domain"], pa.array(list(domains)))))
    settled = pc.and_(pc.equal(rows["step"], int(Step.SETTLED)), pc.equal(rows["note"], UNWANTED))
    unwanted = rows.filter(pc.and_(settled, pc.invert(pc.is_in(rows["dest"], pa.array(SECOND_WAY)))))
    counts = pc.add(pc.subtract(unwanted["last"], unwanted["first"]), 1)
    topics = pc.count_distinct(unwanted["topic"]).as_py()
    brokers = sorted(pc.unique(rows["writer"]).to_pylist())
    return EventsSaid(tuple(brokers), pc.sum(counts).as_py() or 0, topics)
