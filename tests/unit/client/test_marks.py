"""What an application was shown at other seats goes with what it sends next."""

from __future__ import annotations

from causeway.core.messages import Causal, Deposit
from causeway.domains.limits import MARKS_MAX
from causeway.names import seat_name
from causeway.types import SECOND
from tests.unit.client.seats import ELSEWHERE, SEAT, causal_of, give_seat, hand_on, home_of
from tests.unit.client.stage import Stage


def test_what_was_shown_elsewhere_goes_with_the_next_batch_once(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    hand_on(seated, reader, 4, 3)
    seated.shown(reader, 2)
    for text in (b"b", b"c"):
        seated.session.send("bob", text, causal=True)
        seated.turn()
    assert causal_of(seated) == [Causal("bob", 1, ((ELSEWHERE, 5),)), Causal("bob", 1)]


def test_what_was_not_shown_does_not_count(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    hand_on(seated, reader, 4)
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    assert causal_of(seated) == [Causal("bob", 1)]


def test_our_own_seat_knows_what_it_handed_on(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "billing")
    hand_on(seated, reader, 4, seat=SEAT)
    seated.shown(reader)
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    assert causal_of(seated) == [Causal("bob", 1)]


def test_marks_read_before_the_seat_is_known_leave_out_our_own(stage: Stage, home: str) -> None:
    reader = stage.consume(home, "billing")
    hand_on(stage, reader, 4, seat=SEAT)
    hand_on(stage, reader, 9, seat=ELSEWHERE)
    stage.shown(reader)
    stage.session.send("bob", b"b", causal=True)
    stage.turn()
    give_seat(stage)
    assert causal_of(stage) == [Causal("bob", 1, ((ELSEWHERE, 9),))]


def test_what_was_shown_between_two_sends_of_one_batch_counts(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    hand_on(seated, reader, 4)
    seated.session.send("bob", b"b", causal=True)
    seated.shown(reader)
    seated.session.send("bob", b"c", causal=True)
    seated.turn()
    assert causal_of(seated) == [Causal("bob", 1, ((ELSEWHERE, 4),))]


def test_marks_of_a_batch_that_was_given_up_go_with_the_one_behind_it(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    hand_on(seated, reader, 4)
    seated.shown(reader)
    seated.session.send("bob", b"b", causal=True, timeout=SECOND)
    seated.session.send("bob", b"c", causal=True)
    seated.turn()
    seated.take_sent()
    seated.sleep(SECOND)
    assert [(one.first, one.follows) for one in seated.said(Deposit)] == [(3, 0)]
    assert causal_of(seated) == [Causal("bob", 1, ((ELSEWHERE, 4),))]


def test_marks_of_a_batch_that_was_given_up_wait_for_the_next_one(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    hand_on(seated, reader, 4)
    seated.shown(reader)
    seated.session.send("bob", b"b", causal=True, timeout=SECOND)
    seated.turn()
    seated.sleep(SECOND)
    hand_on(seated, reader, 5, seat=seat_name("b3"))
    seated.shown(reader)
    seated.take_sent()
    seated.session.send("bob", b"c", causal=True)
    seated.turn()
    assert causal_of(seated) == [Causal("bob", 1, ((seat_name("b3"), 5), (ELSEWHERE, 4)))]


def test_the_latest_marks_are_kept_when_there_are_too_many(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    for number in range(1, MARKS_MAX + 2):
        hand_on(seated, reader, number, seat=seat_name(f"s{number}"))
    seated.shown(reader)
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    (causal,) = causal_of(seated)
    assert causal is not None
    assert causal.after == tuple((seat_name(f"s{number}"), number) for number in range(MARKS_MAX + 1, 1, -1))
