"""Rows of a mailbox, read back by a new owner. Owns: which of them make sense.

The rows were written by whoever owned the mailbox before. A row that makes no sense was written by a broken broker; it
is left out, and left alone: the mailbox is served without it, and nothing is deleted on doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from causeway.core.mail import rows as kinds
from causeway.core.mail.rows import (
    CONDEMNED,
    SETTLED,
    Mark,
    PreparedRow,
    SeenRow,
    StoredBatch,
    TxId,
    number_of,
    stream_of,
    tx_of,
)
from causeway.limits import BATCH_COUNT_MAX, ID_MAX, NAME_BYTES_MAX
from causeway.store.base import Row
from causeway.types import KEY_BYTES, VOLATILE_FROM, ServiceClass, Span
from causeway.wire import body as bodies

NUMBER_KEY_BYTES = 9
"""Kind and number."""

Value = TypeVar("Value")


class Parsed(NamedTuple):
    """The rows of a mailbox by kind, in key order."""

    batches: list[Row]
    marks: list[tuple[int, tuple[Mark, ...]]]
    seen: list[tuple[bytes, SeenRow]]
    prepared: list[tuple[TxId, PreparedRow]]
    buried: list[Span]


def parse(rows: Iterable[Row]) -> Parsed:
    """Sort rows by kind, without those that make no sense; batches stay encoded (see `read_batch`)."""
    parsed = Parsed([], [], [], [], [])
    for row in rows:
        kind = row.key[:1]
        if kind == kinds.BATCH:
            parsed.batches.append(row)
        elif kind == kinds.MARK:
            marks = read(kinds.decode_marks, row.value)
            if marks is not None and len(row.key) == NUMBER_KEY_BYTES and all(map(_is_mark, marks)):
                parsed.marks.append((number_of(row.key), marks))
        elif kind == kinds.SEEN:
            seen, stream = read(kinds.decode_seen, row.value), read(stream_of, row.key)
            if seen is not None and stream is not None and _is_stream(*stream) and _is_seen(seen):
                parsed.seen.append((row.key, seen))
        elif kind == kinds.PREPARED:
            prepared, tx = read(kinds.decode_prepared, row.value), read(tx_of, row.key)
            if prepared is not None and tx is not None and _is_prepared(tx, prepared):
                parsed.prepared.append((tx, prepared))
        elif kind == kinds.BURIED:
            spans = read(kinds.decode_spans, row.value)
            parsed.buried.extend(spans if spans is not None and are_spans(spans) else ())
    return parsed


def read_batch(row: Row) -> StoredBatch | None:
    """The batch in a row."""
    info = read(kinds.decode_batch, row.value)
    if info is None or len(row.key) != NUMBER_KEY_BYTES or info.seq != number_of(row.key):
        return None
    return info if info.seq < VOLATILE_FROM - BATCH_COUNT_MAX and is_sound(info) else None


def is_sound(info: StoredBatch) -> bool:
    """Whether a batch makes sense, wherever it was kept."""
    return (
        0 <= info.seq <= ID_MAX
        and _is_stream(info.source, info.incarnation, info.stream)
        and _is_batch(info.first, info.count, info.flags, info.body)
        and 0 <= info.priority <= 9
        and all(0 <= number < VOLATILE_FROM for number in (info.count_before, info.bytes_before))
        and all(0 <= instant <= ID_MAX for instant in (info.expires, info.at, info.ready))
        and len(info.origin) in (0, KEY_BYTES)
    )


def read(decode: Callable[[bytes], Value], data: bytes) -> Value | None:
    """What some bytes stand for, None when for nothing."""
    try:
        return decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def is_name(name: str) -> bool:
    """Whether this can be the name of a mailbox or an application."""
    return 0 < len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX


def are_spans(spans: Sequence[Span]) -> bool:
    """Whether these are ranges of numbers."""
    return all(0 <= first <= last <= ID_MAX for first, last in spans)


def _is_stream(source: str, incarnation: int, stream: int) -> bool:
    return is_name(source) and 0 <= incarnation <= ID_MAX and 0 <= stream < len(ServiceClass)


def _is_batch(first: int, count: int, flags: int, body: bytes) -> bool:
    fits = 1 <= count <= BATCH_COUNT_MAX and 1 <= first <= ID_MAX - count and 0 <= flags <= 0xFFFF
    return fits and bodies.check(body, count)


def _is_mark(mark: Mark) -> bool:
    return are_spans([(mark.first, mark.last)]) and SETTLED <= mark.deliveries < 2 * CONDEMNED


def _is_seen(row: SeenRow) -> bool:
    numbers = (row.used, row.last + 1, row.count, row.bytes)
    return are_spans(row.spans) and all(0 <= number < VOLATILE_FROM for number in numbers)


def _is_prepared(tx: TxId, row: PreparedRow) -> bool:
    sends = all(
        _is_batch(send.first, send.count, send.flags, send.body)
        and all(0 <= instant <= ID_MAX for instant in (send.expires, send.ready))
        for send in row.sends
    )
    known = _is_stream(tx.source, tx.incarnation, 0) and all(0 <= n <= ID_MAX for n in (tx.number, tx.attempt))
    return sends and known and are_spans(row.locks) and len(row.origin) in (0, KEY_BYTES)
