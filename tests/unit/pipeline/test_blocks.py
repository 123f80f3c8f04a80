"""Blocks hold every count once, however rows were cut into segments, tasks and batches."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.lake.days import DAY_SECONDS
from causeway.pipeline import blocks
from causeway.pipeline.blocks import BETWEEN, WINDOWS, blocks_in, merged_block, pack_rows

Row = tuple[str, str, str, str, int, int]

rows_of_telemetry = st.lists(
    st.tuples(
        st.sampled_from(["n", "s"]),
        st.sampled_from(["b1", "b2"]),
        st.sampled_from(["i", "j"]),
        st.sampled_from(["a", "b", "c"]),  # the same name under two items is two topics
        st.integers(DAY_SECONDS - 1_000, DAY_SECONDS + 1_000),
        st.integers(1, 2**40),
    ),
    min_size=1,
    max_size=60,
)


def batch(rows: list[Row]) -> pa.RecordBatch:
    keys = [BETWEEN.join(row[:4]) for row in rows]
    seconds, messages = ([row[at] for row in rows] for at in (4, 5))
    return pa.RecordBatch.from_arrays(list(map(pa.array, (keys, seconds, messages))), ["key", "second", "messages"])


def grouped(packed: list[pa.RecordBatch]) -> list[pa.Table]:
    """What Spark hands to one call of `merged_block`, for each block."""
    table = pa.Table.from_batches(packed)
    numbers = np.array(table["block"])
    return [table.filter(pa.array(numbers == number)) for number in np.unique(numbers)]


@settings(max_examples=150, deadline=None)
@given(
    rows=rows_of_telemetry,
    interval=st.sampled_from([1, 7, 3_600]),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    rows_max=st.sampled_from([1, 5, 1_000]),
)
def test_blocks_have_the_sums_of_all_cells(rows: list[Row], interval: int, cuts: list[int], rows_max: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "ROWS_MAX", rows_max)
        ends = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
        tasks = [[batch([row]) for row in rows[low:high]] for low, high in pairwise(ends)]
        packed = [one for task in tasks for one in pack_rows(interval, iter(task))]
    merged = [merged_block(table) for table in grouped(packed)]
    found: Counter[Any] = Counter()
    for block in (block for table in merged for one in table.to_batches() for block in blocks_in(one)):
        cells = block.topics.astype(np.int64) * WINDOWS + block.windows
        assert (np.diff(cells) > 0).all()
        for topic, window, messages in zip(block.topics, block.windows, block.messages, strict=True):
            key = (block.items[int(topic)].as_py(), block.names[int(topic)].as_py(), block.window_numbers()[window])
            assert key not in found
            found[key] = int(messages)
    expected: Counter[Any] = Counter()
    for _domain, _writer, item, name, second, messages in rows:
        expected[item, name, second // interval] += messages
    assert found == expected
    check_what_was_seen(rows, merged)


def check_what_was_seen(rows: list[Row], merged: list[pa.Table]) -> None:
    """The first and last second of each domain's day, and the last of each writer and item."""
    seen, last = {}, {}
    for one in (one for table in merged for column in table["seen"].to_pylist() for one in column):
        first, until = seen.get((one["domain"], one["day"]), (one["first"], one["last"]))
        seen[one["domain"], one["day"]] = min(first, one["first"]), max(until, one["last"])
    for one in (one for table in merged for column in table["owners"].to_pylist() for one in column):
        last[one["item"], one["writer"]] = max(last.get((one["item"], one["writer"]), 0), one["second"])
    for domain, writer, item, _name, second, _messages in rows:
        first, until = seen[domain, second // DAY_SECONDS]
        assert first <= second <= until
        assert second <= last[item, writer]
    assert {second for span in seen.values() for second in span} <= {row[4] for row in rows}
    assert set(last.values()) <= {row[4] for row in rows}
