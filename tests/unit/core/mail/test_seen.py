"""What a stream counts as seen, what of it is safe to write; how many senders a mailbox remembers (ADR 0006)."""

from __future__ import annotations

from unittest.mock import ANY

import pytest

from causeway.core.mail import seen as seen_module
from causeway.core.mail.answers import Verdict
from causeway.core.mail.rows import SeenRow, TxId, decode_seen, seen_key, stream_of
from causeway.core.mail.seen import ORDERED, AdmittedStream, Seen
from causeway.errors import Code
from causeway.limits import SEEN_INCARNATIONS_MAX, SEEN_RANGES_MAX, SEEN_SECONDS_MIN, SEEN_SECONDS_MIN_CROWDED
from causeway.types import SECOND
from tests.unit.core.mail.postroom import COMMITTED, EXPRESS, Postroom, deposit, transaction


def test_unordered_stream_keeps_a_bounded_number_of_runs_and_never_invents_an_id() -> None:
    stream = AdmittedStream("a", 1, 1)
    for n in range(SEEN_RANGES_MAX + 10):
        stream.admit(2 * n + 1, 2 * n + 1)
    assert len(stream.ids) == SEEN_RANGES_MAX
    assert stream.missing(2, 2) == [(2, 2)]
    assert stream.missing(2 * SEEN_RANGES_MAX + 1, 2 * SEEN_RANGES_MAX + 1) == []


def test_ordered_stream_counts_everything_below_as_seen() -> None:
    stream = AdmittedStream("a", 1, ORDERED)
    stream.admit(10, 12)
    assert stream.ids.spans() == [(1, 12)]


def test_row_leaves_out_what_is_passing() -> None:
    stream = AdmittedStream("a", 1, 1)
    stream.admit(1, 20)
    assert stream.safe_row((0, 0), [(5, 9), (15, 20)]).spans == [(1, 4), (10, 14)]


def test_row_of_an_ordered_stream_stops_below_the_first_passing_id() -> None:
    stream = AdmittedStream("a", 1, ORDERED)
    stream.admit(1, 30)
    assert stream.safe_row((0, 0), [(11, 20)]).spans == [(1, 10)]
    assert stream.safe_row((0, 0), [(1, 20)]).spans == []


def test_duplicate_waits_for_the_latest_unsafe_batch_of_its_stream_that_overlaps() -> None:
    room = Postroom()
    room.send(deposit(1, 5))
    second = room.position
    room.send(deposit(6, 4))
    room.send(deposit(1, 9, source="b"))
    room.send(deposit(10, 3))
    assert room.send(deposit(4, 4)).seq == second
    room.commit(2)
    assert not room.send(deposit(4, 4)).pending
    assert room.send(deposit(4, 4, source="b")).pending


def test_seen_forgets_the_least_recently_used_incarnation_but_none_that_is_busy() -> None:
    seen = Seen()
    for incarnation in range(SEEN_INCARNATIONS_MAX):
        seen.use("a", incarnation, 1)[0].written = True
    seen.use("b", 0, 1)
    seen.use("a", 0, 1)
    _, new = seen.use("a", 1_000, 1)
    assert new
    assert seen.forget("a", lambda stream: stream.incarnation == 1) == [seen_key("a", 2, 1)]
    assert seen.find("a", 2, 1) is None
    assert all(seen.find("a", kept, 1) is not None for kept in (0, 1, 3, 1_000))
    assert seen.find("b", 0, 1) is not None
    assert seen.forget("a", lambda stream: False) == []


def test_seen_never_forgets_the_incarnation_just_used() -> None:
    seen = Seen()
    for incarnation in range(SEEN_INCARNATIONS_MAX + 1):
        seen.use("a", incarnation, 1)
    assert seen.forget("a", lambda stream: stream.incarnation != SEEN_INCARNATIONS_MAX) == []
    assert seen.find("a", SEEN_INCARNATIONS_MAX, 1) is not None


def test_seen_restores_the_order_of_use() -> None:
    seen = Seen()
    rows = [(seen_key("a", n, 1), SeenRow([(1, n)], SEEN_INCARNATIONS_MAX - n, n, 0, 0)) for n in range(1, 65)]
    seen.restore(rows)
    seen.use("a", 99, 1)
    assert seen.forget("a", lambda stream: False) == [seen_key("a", 64, 1)]
    found = seen.find("a", 5, 1)
    assert found is not None
    assert found.ids.spans() == [(1, 5)]
    assert found.last == 5


# In a mailbox -----------------------------------------------------------------------------------------------------
@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few streams are many."""
    monkeypatch.setattr(seen_module, "SEEN_STREAMS_MAX", 4)
    monkeypatch.setattr(seen_module, "SEEN_FORGOTTEN_MAX", 2)


def seen_rows(room: Postroom) -> list[str]:
    return [stream_of(key)[0] for key in room.rows if key[:1] == b"s"]


@pytest.mark.usefixtures("small")
def test_streams_not_used_for_long_are_forgotten_with_their_rows_when_others_begin() -> None:
    room = Postroom()
    for source in ("old", "older", "used"):
        room.stored(1, source=source)
    room.now += SEEN_SECONDS_MIN * SECOND
    room.stored(2, source="used")
    room.stored(1, source="new")
    assert seen_rows(room) == ["used", "new"]
    assert room.send(deposit(2, source="used")).verdict == Verdict.DUPLICATE
    assert room.send(deposit(1, source="old")).verdict == Verdict.NEW, "nobody remembers it"


@pytest.mark.usefixtures("small")
def test_streams_used_within_a_week_are_kept_as_long_as_the_mailbox_is_not_crowded() -> None:
    room = Postroom()
    for source in ("a", "b", "c"):
        room.stored(1, source=source)
        room.now += SEEN_SECONDS_MIN // 4 * SECOND
    assert seen_rows(room) == ["a", "b", "c"]


@pytest.mark.usefixtures("small")
def test_crowded_mailbox_refuses_new_streams_and_serves_those_it_knows() -> None:
    room = Postroom()
    for number in range(4):
        room.stored(1, source=f"s{number}")
    part = transaction(sends=[deposit(1, stream=COMMITTED)])
    for _ in range(3):
        assert room.send(deposit(1, source="new")).verdict == Verdict.CROWDED
        assert room.mailbox.participant.obstacle(part, 0, room.now) == (Code.OVERLOADED, ANY)
    assert room.send(deposit(1, source="s0")).verdict == Verdict.DUPLICATE
    assert room.send(deposit(2, source="s0")).verdict == Verdict.NEW
    assert len(seen_rows(room)) == 4


@pytest.mark.usefixtures("small")
def test_crowded_mailbox_forgets_whoever_rested_for_some_minutes_oldest_first() -> None:
    room = Postroom()
    for number in range(5):
        room.stored(1, source=f"s{number}")
        room.now += SECOND
    room.now += SEEN_SECONDS_MIN_CROWDED * SECOND
    room.stored(1, source="new")
    assert seen_rows(room) == ["s2", "s3", "s4", "new"]


@pytest.mark.usefixtures("small")
def test_counters_of_a_mailbox_outlive_the_streams_that_carried_them() -> None:
    room = Postroom(window_bytes=1)
    for number in range(5):
        room.stored(1, source=f"s{number}")
        room.now += SEEN_SECONDS_MIN * SECOND
    room.crash()
    assert room.mailbox.statistics().stored_count == 5
    assert len(seen_rows(room)) < 5


@pytest.mark.usefixtures("small")
def test_time_to_live_of_messages_is_known_after_their_stream_is_forgotten() -> None:
    room = Postroom(window_bytes=1)
    room.stored(1, source="timed", ttl=SEEN_SECONDS_MIN * SECOND * 9)
    room.now += SEEN_SECONDS_MIN * SECOND
    room.stored(1, source="new")
    assert seen_rows(room) == ["new"]
    assert decode_seen(room.rows[seen_key("new", 1, 1)].value).timed


@pytest.mark.usefixtures("small")
def test_express_streams_are_forgotten_and_refused_the_same_way_but_no_row_is() -> None:
    room = Postroom()
    room.stored(1, source="row")
    for number in range(3):
        assert room.hold(deposit(1, source=f"s{number}", stream=EXPRESS))
    assert room.hold(deposit(1, source="new", stream=EXPRESS)) is None
    assert room.mailbox.is_crowded(room.now)
    assert room.hold(deposit(2, source="s0", stream=EXPRESS))
    room.now += SEEN_SECONDS_MIN_CROWDED * SECOND
    assert room.hold(deposit(1, source="new", stream=EXPRESS))
    assert room.hold(deposit(1, source="s0", stream=EXPRESS)) != 0, "it was forgotten"
    assert room.send(deposit(1, source="row")).verdict == Verdict.DUPLICATE


def test_transaction_that_only_settles_begins_no_stream() -> None:
    room = Postroom()
    seq = room.stored(1, source="b")
    room.prepare(transaction(settles=[(seq, seq)]))
    room.commit()
    room.decide(TxId("a", 1, 1, 1), committed=True)
    room.commit()
    assert room.mailbox.empty()
    assert seen_rows(room) == ["b"]
