"""Decisions read back: oldest first, and only those that make sense."""

from __future__ import annotations

import msgspec

from causeway.core.mail.decisions import Decision, decisions_in, row_key
from causeway.store.base import Row
from causeway.types import key_of

HOME = key_of("app")


def row(incarnation: int, number: int, decision: Decision) -> Row:
    return Row(row_key((HOME, incarnation, number)), 1, msgspec.msgpack.encode(decision))


def test_decisions_come_oldest_first() -> None:
    old, new = Decision(1, ("x",), 5), Decision(2, (), 6)
    assert decisions_in(HOME, [row(1, 9, new), row(2, 3, old)]) == [((HOME, 2, 3), old), ((HOME, 1, 9), new)]


def test_decisions_that_make_no_sense_and_other_rows_are_left_out() -> None:
    rows = [
        Row(b"b" + bytes(8), 1, b"a batch"),
        Row(b"d" + bytes(3), 1, msgspec.msgpack.encode(Decision(1, ()))),
        Row(b"d" + bytes(16), 1, b"?"),
        row(1, 1, Decision(-1, ())),
        row(1, 2, Decision(1, ("",))),
        row(1, 3, Decision(1, ("x",) * 2_000)),
    ]
    assert decisions_in(HOME, rows) == []
