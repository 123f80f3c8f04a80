"""Subscriptions of a seat: what counts is what each said last, in whatever order it arrives."""

from __future__ import annotations

from causeway.core.causal.subscribers import Subscribers
from causeway.core.messages import Interest, Register
from causeway.names import seat_name
from causeway.store.base import Put, Row
from causeway.types import key_of

SEAT = seat_name("b1")
WATCH = "sub/app/watch"


def said(version: int, pattern: str | None) -> Register:
    return Register(SEAT, WATCH, version, Interest(pattern) if pattern is not None else None, b"")


def test_registration_that_comes_after_its_withdrawal_changes_nothing_also_for_the_next_holder_of_the_seat() -> None:
    first, second = Subscribers("b1", key_of(SEAT)), Subscribers("b1", key_of(SEAT))
    first.register(said(1, "roads/#"), 1, 1)
    writes, _ = first.register(said(2, None), 2, 2)
    second.restore([Row(write.key, write.seq, write.value) for write in writes if isinstance(write, Put)])
    for seat in (first, second):
        late, answer = seat.register(said(1, "roads/#"), 3, 3)
        assert late == []
        assert answer.version == 1
        assert seat.wanting("roads/a1") == ()
        seat.register(said(3, "rails/#"), 4, 4)
        assert seat.wanting("rails/north") == (WATCH,)
        assert seat.register(said(2, "roads/#"), 5, 5)[0] == []
        assert seat.wanting("roads/a1") == ()
