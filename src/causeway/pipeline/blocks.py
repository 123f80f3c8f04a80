"""Sparse counts of topics in blocks of time: what is computed from telemetry once its rows have been read, once.

A *block* is some windows that follow each other, with every topic that had messages in them. Its counts are three flat
arrays, 14 bytes for each count, so all of a lake's can be kept while the lake itself is read once: sums, moments and
products are computed from blocks. Windows are never cut: all rows of a window are in one block, whichever segments they
came from.

`pack_rows` makes blocks of the rows of one task, `merged_block` one of those with the same number.
Owns: this format. Must not know: Spark, the grid, what is computed from blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from causeway.lake.days import DAY_SECONDS

WINDOWS: Final = 900
"""Of a block: 5,000 topics with messages in a tenth of its windows make 6 MB."""
ROWS_MAX: Final = 1_000_000
"""Rows that a task holds before it packs them: about 100 MB."""
BETWEEN: Final = "\0"
"""Stands between the parts of a key: no domain, writer or item has it, since they are names of files or hashes."""

BLOCK_SCHEMA: Final = (
    "block long, items array<string>, names array<string>, topics binary, windows binary, messages binary, "
    "seen array<struct<domain:string,day:long,first:long,last:long>>, "
    "owners array<struct<item:string,writer:string,second:long>>"
)
"""A block as a row: `items` and `names` by topic, then a count each of `topics`, `windows` and `messages`. `seen` and
`owners` are of all rows that were packed together, in one of their blocks."""

_SEEN: Final = pa.struct([("domain", pa.string()), ("day", pa.int64()), ("first", pa.int64()), ("last", pa.int64())])
_OWNERS: Final = pa.struct([("item", pa.string()), ("writer", pa.string()), ("second", pa.int64())])
_STRINGS: Final = pa.list_(pa.string())
_FIELDS: Final = pa.schema(
    {
        "block": pa.int64(),
        "items": _STRINGS,
        "names": _STRINGS,
        "topics": pa.binary(),
        "windows": pa.binary(),
        "messages": pa.binary(),
        "seen": pa.list_(_SEEN),
        "owners": pa.list_(_OWNERS),
    }
)

Ints = npt.NDArray[np.int64]


class Block(NamedTuple):
    """Counts of some windows, ascending by topic and then by window, one of each."""

    number: int
    items: Any
    names: Any
    """By topic, as Arrow arrays."""
    topics: npt.NDArray[np.int32]
    windows: npt.NDArray[np.uint16]
    """Counted from the first of the block."""
    messages: Ints

    def topic_names(self) -> tuple[list[str], list[str]]:
        """Items and names."""
        return self.items.to_pylist(), self.names.to_pylist()

    def window_numbers(self) -> Ints:
        """Of all its windows, counted from 1970 on."""
        return self.number * WINDOWS + np.arange(WINDOWS)


def blocks_in(batch: pa.RecordBatch) -> Iterator[Block]:
    """The blocks of a batch of rows."""
    for at in range(batch.num_rows):
        found = [batch.column(name)[at] for name in ("items", "names", "topics", "windows", "messages")]
        items, names, *arrays = found
        types = (np.int32, np.uint16, np.int64)
        counts = (np.frombuffer(one.as_buffer(), kind) for one, kind in zip(arrays, types, strict=True))
        yield Block(batch.column("block")[at].as_py(), items.values, names.values, *counts)


# Packing ------------------------------------------------------------------------------------------------------------
def pack_rows(interval: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows (key, second, messages) as blocks of windows of so many seconds. A key is domain, writer, item and name with
    `BETWEEN` between them: one text crosses over from Java at half the cost of four."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_MAX:
            yield _packed(pa.Table.from_batches(held), interval)
            held, rows = [], 0
    if rows:
        yield _packed(pa.Table.from_batches(held), interval)


def _packed(rows: pa.Table, interval: int) -> pa.RecordBatch:
    keys, texts = _numbered(rows["key"])
    parts = [text.split(BETWEEN, 3) for text in texts.to_pylist()]
    topic_of, names = _numbered(pa.array([BETWEEN.join(part[2:]) for part in parts]))
    topics = topic_of[keys]
    seconds, messages = rows["second"].to_numpy(), rows["messages"].to_numpy()
    windows = seconds // interval
    places, numbers = _numbered(pa.array(windows // WINDOWS))
    # Few blocks: as the smallest number that holds them, they are sorted in one go per byte.
    order = np.argsort(places.astype(np.min_scalar_type(len(numbers))), kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(numbers)))
    found = []
    for number, chosen in zip(numbers.to_pylist(), np.split(order, ends[:-1]), strict=True):
        mine, used = _numbered(pa.array(topics[chosen]))
        where = windows[chosen] - number * WINDOWS
        found.append(_block(number, names.take(used), mine, where, messages[chosen]))
    return _as_rows(found, *_seen(keys, seconds, parts))


def _numbered(values: Any) -> tuple[Ints, Any]:
    """Each value as the number of a distinct one, and those."""
    chunks = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    encoded = chunks.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


def _block(number: int, names: Any, topics: Ints, windows: Ints, messages: Ints) -> Block:
    """Counts in any order as a block; those of the same cell are added. `names` are items and names, joined."""
    cells = topics * WINDOWS + windows
    if not (cells[1:] > cells[:-1]).all():
        order = np.argsort(cells, kind="stable")
        cells, messages = cells[order], messages[order]
        first = np.flatnonzero(np.concatenate(([True], cells[1:] != cells[:-1])))
        cells, messages = cells[first], np.add.reduceat(messages, first)
    topics, windows = np.divmod(cells, WINDOWS)
    item, name = zip(*(text.split(BETWEEN, 1) for text in names.to_pylist()), strict=True)
    return Block(number, pa.array(item), pa.array(name), topics.astype(np.int32), windows.astype(np.uint16), messages)


def _seen(keys: Ints, seconds: Ints, parts: list[list[str]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """First and last second of each domain and day; and when each broker last wrote about each item."""
    table = pa.table({"key": keys, "day": seconds // DAY_SECONDS, "second": seconds})
    found = table.group_by(["key", "day"]).aggregate([("second", "min"), ("second", "max")])
    seen: dict[tuple[str, int], tuple[int, int]] = {}
    owners: dict[tuple[str, str], int] = {}
    for row in found.to_pylist():
        domain, writer, item, _name = parts[row["key"]]
        first, last = seen.get((domain, row["day"]), (row["second_min"], row["second_max"]))
        seen[domain, row["day"]] = min(first, row["second_min"]), max(last, row["second_max"])
        owners[item, writer] = max(owners.get((item, writer), 0), row["second_max"])
    return (
        [dict(zip(_SEEN.names, (*key, *span), strict=True)) for key, span in seen.items()],
        [dict(zip(_OWNERS.names, (*key, last), strict=True)) for key, last in owners.items()],
    )


# Merging ------------------------------------------------------------------------------------------------------------
def merged_block(rows: pa.Table) -> pa.Table:
    """Blocks of one number as one."""
    batch = rows.combine_chunks().to_batches()[0]
    parts = list(blocks_in(batch))
    seen, owners = (batch.column(name).flatten().to_pylist() for name in ("seen", "owners"))
    joined = [f"{item}{BETWEEN}{name}" for part in parts for item, name in zip(*part.topic_names(), strict=True)]
    places, topic_names = _numbered(pa.array(joined))
    starts = np.cumsum([0, *(len(part.items) for part in parts)])
    topics = np.concatenate([places[start + part.topics] for start, part in zip(starts, parts, strict=False)])
    windows = np.concatenate([part.windows for part in parts]).astype(np.int64)
    messages = np.concatenate([part.messages for part in parts])
    block = _block(parts[0].number, topic_names, topics, windows, messages)
    return pa.Table.from_batches([_as_rows([block], seen, owners)])


def _as_rows(blocks: list[Block], seen: list[dict[str, Any]], owners: list[dict[str, Any]]) -> pa.RecordBatch:
    nothing: list[Any] = [[] for _ in blocks[1:]]
    columns = [
        pa.array([block.number for block in blocks]),
        pa.array([block.items for block in blocks], _STRINGS),
        pa.array([block.names for block in blocks], _STRINGS),
        *(pa.array([getattr(block, name).tobytes() for block in blocks]) for name in ("topics", "windows", "messages")),
        pa.array([seen, *nothing], _FIELDS.field("seen").type),
        pa.array([owners, *nothing], _FIELDS.field("owners").type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_FIELDS)
