"""Rows of the lake as Arrow tables. Owns: the types of columns, and how records become columns.

Must not know: files, threads, what a row means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from causeway.lake.schema import EVENTS, KINDS, LAKE_VERSION
from causeway.lake.segments import WriterName
from causeway.trace import TraceRecord

_TYPES: Final = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "list<int32>": pa.list_(pa.int32()),
    "list<int64>": pa.list_(pa.int64()),
}

SCHEMAS: Final = {
    kind: pa.schema([pa.field(column.name, _TYPES[column.type], nullable=False) for column in columns])
    for kind, columns in KINDS.items()
}
"""Of every kind."""

_FIELDS: Final = {name: at for at, name in enumerate(TraceRecord.__struct_fields__)}
_OWN: Final = ("version", "writer", "role", "life", "sequence")
_TAKEN: Final = [(_FIELDS[column.name], _TYPES[column.type]) for column in EVENTS if column.name not in _OWN]
"""Where each column of an event is in a record, and its type."""

_as_tuple = msgspec.structs.astuple


def events_batch(records: Sequence[TraceRecord], writer: WriterName, first: int) -> pa.RecordBatch:
    """Records as rows of events, numbered from `first` on. Raises ArrowException or OverflowError for absurd ones."""
    columns = list(zip(*map(_as_tuple, records), strict=True))
    count = len(records)
    own = [*_constant(writer, count), pa.array(range(first, first + count), pa.int64())]
    taken = [_column(columns[at], kind) for at, kind in _TAKEN]
    return pa.RecordBatch.from_arrays([*own, *taken], schema=SCHEMAS["events"])


def rows_batch(kind: str, rows: Iterable[Sequence[Any]], writer: WriterName) -> pa.RecordBatch:
    """Rows of telemetry or latency, each as its own columns."""
    columns = list(zip(*rows, strict=True))
    schema = SCHEMAS[kind]
    own = _constant(writer, len(columns[0]))
    taken = [pa.array(values, field.type) for values, field in zip(columns, list(schema)[len(own) :], strict=True)]
    return pa.RecordBatch.from_arrays([*own, *taken], schema=schema)


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column of events; most of them have one value in all rows of a chunk, which is far quicker."""
    if values.count(values[0]) == len(values):
        return pa.repeat(pa.scalar(values[0], kind), len(values))
    return pa.array(values, kind)


def _constant(writer: WriterName, count: int) -> list[pa.Array]:
    """What all rows of a writer have in common."""
    values = (LAKE_VERSION, writer.name, writer.role, writer.life)
    types = (pa.int32(), pa.string(), pa.string(), pa.int64())
    return [pa.repeat(pa.scalar(value, kind), count) for value, kind in zip(values, types, strict=True)]
