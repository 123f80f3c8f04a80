"""Rows of the lake as Arrow tables. Owns: the types of columns, and how records become columns.

Must not know: files, threads, what a row means.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
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
    own = [*_constant(writer, count), _plain(array("q", range(first, first + count)), pa.int64())]
    taken = [_column(columns[at], kind) for at, kind in _TAKEN]
    return pa.RecordBatch.from_arrays([*own, *taken], schema=SCHEMAS["events"])


def rows_batch(kind: str, rows: Iterable[Sequence[Any]], writer: WriterName) -> pa.RecordBatch:
    """Rows of telemetry or latency, each as its own columns."""
    columns = list(zip(*rows, strict=True))
    schema = SCHEMAS[kind]
    own = _constant(writer, len(columns[0]))
    taken = [_column(values, field.type) for values, field in zip(columns, list(schema)[len(own) :], strict=True)]
    return pa.RecordBatch.from_arrays([*own, *taken], schema=schema)


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column from its values; most columns of events have one value in all rows of a chunk."""
    if values.count(values[0]) == len(values):
        return pa.repeat(_made(values[:1], kind)[0], len(values))
    return _made(values, kind)


def _made(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An array from buffers.

    Not with pa.array or pa.scalar, which load pandas where it is installed: 0.2 s in every broker, for nothing.
    """
    count = len(values)
    if pa.types.is_list(kind):
        inner = [one for value in values for one in value]
        items = _made(inner, kind.value_type)
        return pa.ListArray.from_arrays(_plain(_ends(values), pa.int32()), items, type=kind)
    if pa.types.is_string(kind):
        encoded = [value.encode() for value in values]
        buffers = [None, pa.py_buffer(_ends(encoded)), pa.py_buffer(b"".join(encoded))]
        return pa.Array.from_buffers(kind, count, buffers)
    if pa.types.is_boolean(kind):
        bits = int("".join("1" if value else "0" for value in reversed(values)), 2)
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(bits.to_bytes(count // 8 + 1, "little"))])
    return _plain(array("i" if kind == pa.int32() else "q", values), kind)


def _plain(values: array[int], kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _ends(values: Sequence[Sequence[Any]]) -> array[int]:
    """Where each of them begins when all are put one behind the other, and where the last one ends."""
    return array("i", accumulate(map(len, values), initial=0))


def _constant(writer: WriterName, count: int) -> list[pa.Array]:
    """What all rows of a writer have in common."""
    values = (LAKE_VERSION, writer.name, writer.role, writer.life)
    types = (pa.int32(), pa.string(), pa.string(), pa.int64())
    return [pa.repeat(_made([value], kind)[0], count) for value, kind in zip(values, types, strict=True)]
