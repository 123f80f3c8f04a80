"""What an application was shown at other seats goes with what it sends next."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.core.messages import Browse, Browsed, BrowsedBatch, Causal, Deposit, Published, Rejected
from causeway.domains.limits import MARKS_MAX
from causeway.errors import Code
from causeway.names import seat_name
from causeway.types import SECOND, ServiceClass
from causeway.wire import body as bodies
from tests.unit.client.seats import ELSEWHERE, SEAT, causal_of, give_seat, hand_on, home_of
from tests.unit.client.stage import INCARNATION, Stage


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


def test_marks_of_a_batch_that_was_given_up_go_with_what_was_sent_before_that_was_known(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    hand_on(seated, reader, 4)
    seated.shown(reader)
    seated.session.send("bob", b"b", causal=True, timeout=SECOND)
    seated.turn()
    seated.take_sent()
    for dest in ("carol", "dave"):  # carol's batch is full when dave's begins, and marked
        seated.session.send(dest, b"c", causal=True)
    seated.sleep(SECOND)
    assert causal_of(seated) == [Causal("carol", 1, ((ELSEWHERE, 4),)), Causal("dave", 1)]


def test_marks_of_a_batch_that_was_refused_go_with_the_one_behind_it(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    hand_on(seated, reader, 4)
    seated.shown(reader)
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    hand_on(seated, reader, 9)
    seated.shown(reader)
    seated.session.send("carol", b"c", causal=True)
    seated.turn()
    seated.take_sent()
    seated.receive(home_of(seated), Rejected("billing", INCARNATION, SEAT, 2, 2, 2, int(Code.NO_ROUTE), "no way"))
    assert [(one.first, one.follows) for one in seated.said(Deposit)] == [(3, 0)]
    assert causal_of(seated) == [Causal("carol", 1, ((ELSEWHERE, 9),))], "the later of both"


def test_marks_of_what_failed_for_want_of_a_seat_wait_for_the_next_one(stage: Stage, home: str) -> None:
    reader = stage.consume(home, "queue")
    hand_on(stage, reader, 4)
    stage.shown(reader)
    stage.session.send("bob", b"b", causal=True)
    stage.turn()
    give_seat(stage, code=Code.NO_SEAT)
    stage.session.send("bob", b"c", causal=True)
    stage.turn()
    give_seat(stage)
    assert causal_of(stage) == [Causal("bob", 1, ((ELSEWHERE, 4),))]


def test_unreliable_sends_carry_marks_and_leave_them_to_the_next_when_they_are_lost(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "queue")
    hand_on(seated, reader, 4)
    seated.shown(reader)
    how: dict[str, Any] = {"service": ServiceClass.EXPRESS, "reliable": False, "causal": True}
    ticket = seated.session.send("bob", b"b", **how)
    seated.turn()
    assert ticket.done
    assert causal_of(seated) == [Causal("bob", 0, ((ELSEWHERE, 4),))]
    seated.take_sent()
    seated.receive(home_of(seated), Rejected("billing", INCARNATION, SEAT, 2, 2, 2, int(Code.ORDER_LOST), "given up"))
    seated.session.send("bob", b"c", **how)
    seated.turn()
    assert causal_of(seated) == [Causal("bob", 0, ((ELSEWHERE, 4),))]


def test_what_any_consumer_was_shown_counts(seated: Stage) -> None:
    home = home_of(seated)
    one, other, third = (seated.consume(home, mailbox) for mailbox in ("queue", "jobs", "tasks"))
    hand_on(seated, one, 9)
    hand_on(seated, other, 4)
    hand_on(seated, third, 5, seat=seat_name("b3"))
    for reader in (one, third, other):
        seated.shown(reader)
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    assert causal_of(seated) == [Causal("bob", 1, ((ELSEWHERE, 9), (seat_name("b3"), 5)))]


def test_marks_stay_when_the_consumer_and_the_link_are_gone(seated: Stage) -> None:
    home = home_of(seated)
    reader = seated.consume(home, "queue")
    hand_on(seated, reader, 4)
    seated.shown(reader)
    seated.session.detach(reader)
    seated.turn()
    seated.cut(home)
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    other = seated.open()
    marked = [Causal("bob", 1, ((ELSEWHERE, 4),))]
    assert [deposit.causal for deposit in seated.said(Deposit, other)] == marked
    seated.cut(other)
    third = seated.open()
    assert [deposit.causal for deposit in seated.said(Deposit, third)] == marked, "repeated as it was said"


def test_what_was_lost_before_it_was_shown_does_not_count(seated: Stage) -> None:
    home = home_of(seated)
    reader = seated.consume(home, "queue")
    hand_on(seated, reader, 4, 3)
    seated.shown(reader, 1)
    seated.cut(home)
    other = seated.open()
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    assert [deposit.causal for deposit in seated.said(Deposit, other)] == [Causal("bob", 1, ((ELSEWHERE, 4),))]


def test_pages_that_were_browsed_count_up_to_their_last_message(seated: Stage) -> None:
    page = seated.session.browse("queue", limit=2)
    seated.turn()
    body, published = bodies.join([b"x", b"y"]), Published("", "shop", 5, 1, 7, 3, (), 1)
    found = [
        BrowsedBatch(seq, seat, 3, 2, first, 2, 1, 4, 0, len(body), 1, 0, published)
        for seq, seat, first in ((1, ELSEWHERE, 4), (3, SEAT, 8), (5, "shop", 11))
    ]
    answer = Browsed("queue", seated.said(Browse)[-1].token, tuple(found), True)
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    seated.receive(home_of(seated), answer, 3 * body)
    assert page.done
    seated.session.send("bob", b"c", causal=True)
    seated.turn()
    assert causal_of(seated) == [Causal("bob", 1), Causal("bob", 1, ((ELSEWHERE, 5),))], "our seat and others need none"


@pytest.mark.parametrize("expires_in", ["this life", "the next one"])
def test_marks_of_a_kept_batch_that_expired_go_with_the_one_behind_it_in_the_next_life(expires_in: str) -> None:
    rows: dict[bytes, bytes] = {}
    earlier, later = Stage(rows, keep=True), Stage(rows, keep=True)
    earlier.turn()
    earlier.store()
    earlier.open()
    reader = earlier.consume(home_of(earlier), "queue")
    hand_on(earlier, reader, 4)
    earlier.shown(reader)
    earlier.session.send("bob", b"b", causal=True, ttl=SECOND)
    earlier.session.send("bob", b"c", causal=True)
    earlier.turn()
    earlier.store()
    if expires_in == "this life":
        earlier.sleep(SECOND)
        earlier.store()
    kept = [key for key in rows if key[:1] == b"b"]
    assert len(kept) == (1 if expires_in == "this life" else 2), "a batch that changed has the row it had"
    later.now = earlier.now + SECOND
    later.turn()
    later.store()
    later.open()
    give_seat(later)
    assert [(one.first, one.causal) for one in later.said(Deposit)] == [(2, Causal("bob", 1, ((ELSEWHERE, 4),)))]


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
