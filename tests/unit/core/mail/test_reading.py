"""Rows read back: by kind, and only those that make sense."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.mail.reading import parse, read_batch
from causeway.core.mail.rows import (
    Mark,
    PreparedRow,
    PreparedSend,
    SeenRow,
    StoredBatch,
    TxId,
    batch_key,
    encode,
    mark_key,
    prepared_key,
    seen_key,
)
from causeway.limits import TTL_NS_MAX
from causeway.store.base import Row
from causeway.types import SECOND
from causeway.wire.body import join

BATCH = StoredBatch(9, "a", 1, 2, 3, 2, 5, 6, 0, 8, b"o" * 16, join([b"x", b"yy"]), 10, 11)


def test_parse_sorts_rows_by_kind_and_leaves_others_alone() -> None:
    tx = TxId("a", 2, 3, 4)
    marks = (Mark(1, 2, -1),)
    seen = SeenRow([(1, 5)], 1, 2, 3, 4)
    prepared = PreparedRow(b"o" * 16, (PreparedSend(1, 1, 0, 4, 0, join([b"x"])),), ((1, 2),))
    batch = Row(batch_key(1), 1, b"opaque")
    parsed = parse(
        [
            batch,
            Row(b"d123", 1, b"the coordinator's"),
            Row(mark_key(1), 1, encode(marks)),
            Row(seen_key("a", 1, 1), 1, encode(seen)),
            Row(prepared_key(tx), 1, encode(prepared)),
        ]
    )
    assert parsed.batches == [batch]
    assert parsed.marks == [(1, marks)]
    assert parsed.seen == [(seen_key("a", 1, 1), seen)]
    assert parsed.prepared == [(tx, prepared)]


def test_batch_is_read_from_its_own_row_with_any_time_to_live() -> None:
    late = msgspec.structs.replace(BATCH, expires=1_800_000_000 * SECOND + TTL_NS_MAX)
    for batch in (BATCH, late):
        assert read_batch(Row(batch_key(9), 9, encode(batch))) == batch
    assert read_batch(Row(batch_key(8), 9, encode(BATCH))) is None


@pytest.mark.parametrize(
    "change",
    [
        {"source": ""},
        {"incarnation": -1},
        {"stream": 4},
        {"first": 0},
        {"count": 3},
        {"count": 1 << 60},
        {"priority": 10},
        {"flags": -1},
        {"expires": -1},
        {"origin": b"short"},
        {"body": b""},
        {"bytes_before": 1 << 63},
    ],
)
def test_batch_that_makes_no_sense_is_left_out(change: dict[str, object]) -> None:
    assert read_batch(Row(batch_key(9), 9, encode(msgspec.structs.replace(BATCH, **change)))) is None


def test_rows_that_make_no_sense_are_left_out() -> None:
    rows = [
        Row(mark_key(1), 1, encode((Mark(2, 1, 1),))),
        Row(b"m", 1, encode((Mark(1, 1, 1),))),
        Row(seen_key("a", 1, 9), 1, encode(SeenRow([(1, 5)], 1, 2, 3, 4))),
        Row(seen_key("a", 1, 1), 1, encode(SeenRow([(5, 1)], 1, 2, 3, 4))),
        Row(b"s\xc1", 1, encode(SeenRow([(1, 5)], 1, 2, 3, 4))),
        Row(prepared_key(TxId("", 1, 1, 1)), 1, encode(PreparedRow(b"", (), ()))),
        Row(prepared_key(TxId("a", 1, 1, 1)), 1, encode(PreparedRow(b"", (PreparedSend(1, 2, 0, 4, 0, b"x"),), ()))),
        Row(b"u", 1, b"?"),
    ]
    assert parse(rows) == ([], [], [], [], [])
