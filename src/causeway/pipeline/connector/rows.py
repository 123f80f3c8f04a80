"""Stretches of messages as Arrow record batches, many messages at a time.

Owns: what each column holds. Must not know: where messages come from. Messages without headers cost nothing each: their
bytes go over as they came.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from causeway.client.stretches import ReadStretch
from causeway.limits import MIB
from causeway.pipeline.connector.schema import KEY_HEADER
from causeway.topics import ALL_ITEMS, ITEM_COUNT, item_of
from causeway.wire.headers import HeaderValue

ROWS_MAX = 65_536
BYTES_MAX = 8 * MIB
"""One record batch ends behind either: Spark takes them whole."""

_MICROSECOND = 1000

LOG_APPEND_TIME = 1
"""Kafka's word for a time that the broker has set."""


def record_batches(stretches: Iterable[ReadStretch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All messages, in their order."""
    taken: list[ReadStretch] = []
    rows = size = 0
    for stretch in stretches:
        taken.append(stretch)
        rows += stretch.count
        size += len(stretch.body)
        if rows >= ROWS_MAX or size >= BYTES_MAX:
            yield _Page(taken).batch(schema)
            taken, rows, size = [], 0, 0
    if taken:
        yield _Page(taken).batch(schema)


class _Page:
    """Stretches that become one record batch. Columns are made when they are asked for."""

    def __init__(self, stretches: Sequence[ReadStretch]) -> None:
        self._stretches = stretches
        counts = np.array([stretch.count for stretch in stretches])
        self._rows = int(counts.sum())
        self._of = np.repeat(np.arange(len(stretches)), counts)
        """Which stretch a row is of."""
        self._index = np.arange(self._rows) - np.repeat(np.cumsum(counts) - counts, counts)
        """Where it is in there."""
        self._headed = any(stretch.headed for stretch in stretches)
        self._messages = [stretch.messages() if stretch.headed else None for stretch in stretches]

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """The columns that are wanted."""
        columns = [getattr(self, f"_{field.name}")(field.type) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _spread(self, values: list[Any], kind: pa.DataType) -> pa.Array:
        """One value per stretch, for each of its rows."""
        return pa.array(values, kind).take(pa.array(self._of))

    def _counted(self, firsts: list[int]) -> NDArray[np.int64]:
        """One number per stretch, counted on in its rows."""
        numbers: NDArray[np.int64] = np.array(firsts, dtype=np.int64)[self._of] + self._index
        for which, stretch in enumerate(self._stretches):
            if not stretch.contiguous():  # a selector has left some out: look at each
                assert stretch.published is not None
                start = firsts[which] - stretch.published.offset_of(0)
                places = [start + stretch.published.offset_of(index) for index in range(stretch.count)]
                numbers[self._of == which] = places
        return numbers

    # As Kafka calls them ---------------------------------------------------------------------------------------
    def _value(self, kind: pa.DataType) -> pa.Array:
        return self._body(kind)

    def _partition(self, kind: pa.DataType) -> pa.Array:
        """Offsets count per item; a queue has one."""
        return self._spread([_partition_of(stretch.topic) for stretch in self._stretches], kind)

    def _timestamp(self, kind: pa.DataType) -> pa.Array:
        return self._time(kind)

    def _timestampType(self, kind: pa.DataType) -> pa.Array:  # noqa: N802
        return self._spread([LOG_APPEND_TIME for _ in self._stretches], kind)

    # Columns ---------------------------------------------------------------------------------------------------
    def _body(self, kind: pa.DataType) -> pa.Array:
        lengths: list[NDArray[np.int64]] = []
        data: list[bytes | memoryview] = []
        for stretch, messages in zip(self._stretches, self._messages, strict=True):
            if messages is None:
                lengths.append(np.frombuffer(stretch.body, ">u4", stretch.count).astype(np.int64))
                data.append(memoryview(stretch.body)[4 * stretch.count :])
            else:
                lengths.append(np.array([len(body) for _, body in messages], dtype=np.int64))
                data += [body for _, body in messages]
        ends = np.cumsum(np.concatenate(lengths))
        offsets = np.concatenate(([0], ends)).astype(np.int64 if pa.types.is_large_binary(kind) else np.int32)
        return pa.Array.from_buffers(kind, self._rows, [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(data))])

    def _key(self, kind: pa.DataType) -> pa.Array:
        if not self._headed:
            return pa.nulls(self._rows, kind)
        return pa.array([_as_bytes(headers.get(KEY_HEADER)) for headers in self._headers()], kind)

    def _properties(self, kind: pa.DataType) -> pa.Array:
        if not self._headed:
            empty = pa.array([], kind.key_type), pa.array([], kind.item_type)
            return pa.MapArray.from_arrays(np.zeros(self._rows + 1, np.int32), *empty).cast(kind)
        return pa.array(
            [
                [(name, _as_text(value)) for name, value in headers.items() if _is_property(name)]
                for headers in self._headers()
            ],
            kind,
        )

    def _headers(self) -> Iterator[dict[str, HeaderValue]]:
        for stretch, messages in zip(self._stretches, self._messages, strict=True):
            for at in range(stretch.count):
                yield {} if messages is None else dict(messages[at][0])

    def _topic(self, kind: pa.DataType) -> pa.Array:
        return self._spread([stretch.topic for stretch in self._stretches], kind)

    def _queue(self, kind: pa.DataType) -> pa.Array:
        return self._spread([None if stretch.topic else stretch.mailbox for stretch in self._stretches], kind)

    def _offset(self, kind: pa.DataType) -> pa.Array:
        firsts = [stretch.offset if stretch.topic else stretch.number for stretch in self._stretches]
        return pa.array(self._counted([first or 0 for first in firsts]), kind)

    def _id(self, kind: pa.DataType) -> pa.Array:
        ids = [stretch.id_of(0) for stretch in self._stretches]
        prefixes = [str(one).rpartition(":")[0] + ":" for one in ids]
        numbers = pc.cast(pa.array(self._counted([one.number for one in ids])), kind)
        return pc.binary_join_element_wise(self._spread(prefixes, kind), numbers, pa.scalar("", kind))

    def _source(self, kind: pa.DataType) -> pa.Array:
        return self._spread([stretch.sender[0] for stretch in self._stretches], kind)

    def _time(self, kind: pa.DataType) -> pa.Array:
        return self._spread([stretch.at // _MICROSECOND or None for stretch in self._stretches], pa.int64()).cast(kind)


def _partition_of(topic: str | None) -> int:
    """The number of a topic's item; those of critical topics come behind the others."""
    if topic is None:
        return 0
    item = item_of(topic)
    return ALL_ITEMS.index(item) if item in ALL_ITEMS else ITEM_COUNT + int(item.split("/")[-2])


def _is_property(name: str) -> bool:
    """Whether a header is an application's, and has no column of its own."""
    return name != KEY_HEADER and not name.startswith("~")


def _as_bytes(value: HeaderValue) -> bytes | None:
    """A key: bytes as they are, all else as text."""
    if value is None or isinstance(value, bytes):
        return value
    return str(_as_text(value)).encode()


def _as_text(value: HeaderValue) -> str | None:
    """A header's value in the column `properties`."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return str(value)
