"""Rates of single topics: parts of them from blocks, then of each topic all its parts as one.

Windows without messages are counted and never become values. Moments are merged by the formula of Chan, Golub and
LeVeque (1979), as in `moments`.

Owns: this arithmetic. Must not know: Spark, items' covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from causeway.pipeline.blocks import Block, blocks_in
from causeway.pipeline.grid import Grid
from causeway.pipeline.moments import BLOCK_BYTES

PARTS_SCHEMA: Final = (
    "item string, name string, period long, messages long, active long, mean double, squares double, largest double"
)
"""Of one topic in one period, or a part of it: messages, windows that have any (`active`), and the mean, the sum of
squared deviations and the largest of their rates."""
TOPICS_SCHEMA: Final = (
    "item string, name string, active long, windows long, mean double, deviation double, largest double, "
    "rates array<double>"
)
"""Of one topic over all windows of the grid; `rates` by period."""


# Parts --------------------------------------------------------------------------------------------------------------
def topic_parts(grid: Grid, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Blocks as parts of topics; windows that are not on the grid are left out."""
    for batch in batches:
        for block in blocks_in(batch):
            part = _part_of(grid, block)
            if part.num_rows:
                yield part


def _part_of(grid: Grid, block: Block) -> pa.RecordBatch:
    numbers = block.window_numbers()
    on_grid = grid.has(numbers)[block.windows]
    topics, windows = block.topics[on_grid].astype(np.int64), block.windows[on_grid]
    messages = block.messages[on_grid]
    periods = (numbers * grid.interval // grid.period)[windows]
    first = _run_starts(topics, periods)
    active = np.diff(np.append(first, len(topics)))
    rates = messages / grid.interval
    sums = _added(messages, first)
    means = sums / (active * grid.interval)
    squares = _added((rates - np.repeat(means, active)) ** 2, first)
    which = pa.array(topics[first])
    return pa.RecordBatch.from_arrays(
        [
            block.items.take(which),
            block.names.take(which),
            pa.array(periods[first]),
            *map(pa.array, (sums, active, means, squares, np.maximum.reduceat(rates, first) if len(first) else rates)),
        ],
        names=["item", "name", "period", "messages", "active", "mean", "squares", "largest"],
    )


def _run_starts(*columns: np.ndarray) -> np.ndarray:
    """Places where any of the columns has another value than before."""
    changed = np.zeros(len(columns[0]), np.bool_)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)


def _added(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, first) if len(first) else values[:0]


# Whole topics -------------------------------------------------------------------------------------------------------
def whole_topics(grid: Grid, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Parts as rows of topics. Parts of one topic follow each other."""
    rest: pa.Table | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        table = table if rest is None else pa.concat_tables([rest, table])
        starts = _topic_starts(table)
        cut = int(starts[-1]) if len(starts) else 0  # the last topic may go on in the next batch
        yield from _topics_of(grid, table.slice(0, cut))
        rest = table.slice(cut)
    if rest is not None:
        yield from _topics_of(grid, rest)


def _topic_starts(table: pa.Table) -> np.ndarray:
    codes = (table[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in ("item", "name"))
    return _run_starts(*codes)


def _topics_of(grid: Grid, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Some topics at a time, so that their series are no more than a block of memory."""
    if not table.num_rows:
        return
    numbers = grid.periods()
    starts = np.append(_topic_starts(table), table.num_rows)
    step = max(1, BLOCK_BYTES // (8 * len(numbers)))
    for begin in range(0, len(starts) - 1, step):
        some = starts[begin : begin + step + 1]
        yield _some_topics(grid, numbers, table.slice(some[0], some[-1] - some[0]), some[:-1] - some[0])


def _some_topics(grid: Grid, numbers: np.ndarray, table: pa.Table, first: np.ndarray) -> pa.RecordBatch:
    parts = {name: table[name].to_numpy() for name in ("period", "messages", "active", "mean", "squares", "largest")}
    windows = grid.windows
    counts = np.diff(np.append(first, table.num_rows))
    active = np.add.reduceat(parts["active"], first)
    sums = np.add.reduceat(parts["messages"], first)
    means = sums / (active * grid.interval)
    apart = parts["active"] * (parts["mean"] - np.repeat(means, counts)) ** 2
    squares = np.add.reduceat(parts["squares"] + apart, first)
    # Windows without messages are as many zeros: they move the mean, and are as far from it as it is from zero.
    squares += active * means**2 * ((windows - active) / windows)
    places = np.repeat(np.arange(len(first)), counts) * len(numbers) + np.searchsorted(numbers, parts["period"])
    dense = np.bincount(places, parts["messages"], len(first) * len(numbers)).reshape(len(first), len(numbers))
    rates = dense / (grid.windows_in(numbers) * grid.interval)
    which = pa.array(first)
    return pa.RecordBatch.from_arrays(
        [
            table["item"].combine_chunks().take(which),
            table["name"].combine_chunks().take(which),
            pa.array(active),
            pa.array(np.full(len(first), windows)),
            pa.array(sums / (windows * grid.interval)),
            pa.array(np.sqrt(squares / max(1, windows - 1))),
            pa.array(np.maximum.reduceat(parts["largest"], first)),
            pa.ListArray.from_arrays(np.arange(len(first) + 1) * len(numbers), rates.ravel()),
        ],
        names=["item", "name", "active", "windows", "mean", "deviation", "largest", "rates"],
    )
