"""Records of many brokers become one timeline, and the last word about each mailbox."""

from __future__ import annotations

import pytest

from causeway.cli.story import timeline
from causeway.cli.whereabouts import where_now
from causeway.trace import MEMBERS_APART, Step, TraceRecord


def _record(
    at: int, broker: str, step: Step, *, note: str = "", mailbox: str = "billing", peer: str = ""
) -> TraceRecord:
    return TraceRecord(at, broker, step, "orders", 1, "billing", 2, 1, 4, note, mailbox=mailbox, peer=peer)


def test_timeline_is_in_order_of_time_across_brokers() -> None:
    rows = timeline([_record(5_000_000, "b", Step.STORED), _record(1_000_000, "a", Step.SENT)])
    assert [(row["broker"], row["step"], row["after_ms"]) for row in rows] == [("a", "sent", 0.0), ("b", "stored", 4.0)]


def test_timeline_keeps_the_order_of_one_broker_at_equal_times() -> None:
    lived = (Step.TAKEN, Step.DELIVERED, Step.RETURNED, Step.DELIVERED, Step.SETTLED)
    records = [_record(1, "b", step, peer=str(at)) for at, step in enumerate(lived)]
    assert [row["step"] for row in timeline(records)] == [step.name.lower() for step in lived]


def test_timeline_tells_a_record_once_that_two_brokers_gave() -> None:
    assert len(timeline([_record(1, "a", Step.SENT), _record(1, "a", Step.SENT)])) == 1


def test_timeline_names_every_broker_that_stored_it() -> None:
    (row,) = timeline([_record(1, "a", Step.STORED, peer=MEMBERS_APART.join(("a", "b", "c")))])
    assert row["peers"] == ["a", "b", "c"]


def test_timeline_of_nothing_is_empty() -> None:
    assert timeline([]) == []
    assert where_now([]) == []


def test_step_of_a_newer_release_has_a_name_and_moves_nothing() -> None:
    strange = TraceRecord(2, "a", 99, "orders", 1, "billing", 2, 1, 4, mailbox="billing")
    assert strange.step_name == "step-99"
    assert [place.state for place in where_now([_record(1, "a", Step.SENT), strange])] == ["on its way"]


LIFE = [
    _record(1, "a", Step.SENT),
    _record(2, "a", Step.FORWARDED, peer="b"),
    _record(3, "b", Step.STORED, peer=MEMBERS_APART.join(("b", "c"))),
    _record(4, "a", Step.ACKNOWLEDGED),
    _record(5, "b", Step.DELIVERED, peer="clerk"),
    _record(6, "b", Step.SETTLED),
]


@pytest.mark.parametrize(
    ("steps", "state", "text"),
    [
        (2, "on its way", "on its way to billing, last seen at a"),
        (3, "waiting", "waits in billing, stored on b, c"),
        (4, "waiting", "waits in billing, stored on b, c"),
        (5, "in hand", "clerk has it from billing, and has not acknowledged it"),
        (6, "acknowledged", "clerk has acknowledged it; it is no longer in billing"),
    ],
)
def test_last_word_says_where_it_is_now(steps: int, state: str, text: str) -> None:
    (place,) = where_now(LIFE[:steps])
    assert (place.state, place.text) == (state, text)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Step.RETURNED, "waits in billing again: clerk gave it back"),
        (Step.DEAD, "in the dead-letter mailbox dead/billing"),
        (Step.EXPIRED, "expired in billing: nobody took it within its time to live"),
        (Step.STORED, "clerk has it from billing, and has not acknowledged it"),
    ],
)
def test_what_became_of_a_message_that_a_reader_had(step: Step, text: str) -> None:
    (place,) = where_now([*LIFE[:5], _record(6, "b", step)])
    assert place.text == text


def test_end_stays_the_end_though_a_slow_clock_writes_later() -> None:
    (place,) = where_now([*LIFE, _record(9, "a", Step.FORWARDED, peer="b")])
    assert place.state == "acknowledged"


def test_each_subscription_has_a_last_word_of_its_own() -> None:
    published = [
        _record(1, "a", Step.STORED, mailbox="billing", peer="a"),
        _record(2, "b", Step.STORED, mailbox="sub/one", peer="b"),
        _record(3, "c", Step.STORED, mailbox="sub/two", peer="c"),
        _record(4, "b", Step.SETTLED, mailbox="sub/one"),
    ]
    assert {place.mailbox: place.state for place in where_now(published)} == {
        "billing": "waiting",
        "sub/one": "acknowledged",
        "sub/two": "waiting",
    }
