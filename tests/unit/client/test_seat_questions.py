"""Reading in causal order: what a message shows, and readers that need a seat to begin."""

from __future__ import annotations

from causeway.client.message import Delivery
from causeway.client.outcomes import ConsumerRefused
from causeway.core.messages import (
    AskSeat,
    Attach,
    Attached,
    Browse,
    Browsed,
    BrowsedBatch,
    Causal,
    Deposit,
    Interest,
    Published,
    SeatGiven,
)
from causeway.errors import Code, Refused
from causeway.wire import body as bodies
from tests.unit.client.seats import ELSEWHERE, SEAT, causal_of, give_seat, hand_on, home_of
from tests.unit.client.stage import Stage


# Reading --------------------------------------------------------------------------------------------------------
def test_a_message_shows_who_really_sent_it(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "billing")
    hand_on(seated, reader, 4, 2)
    _, second = seated.shown(reader)
    assert (second.source, second.service, second.order, second.topic, second.offset, second.sent_at) == (
        "shop", "express", "causal", None, None, 9.0,
    )  # fmt: skip
    assert second.id == "shop:5:causeway%2Fseats:t:75"


def test_a_message_of_a_topic_in_causal_order_says_which(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "billing")
    hand_on(seated, reader, 4, topic="news/a")
    (message,) = seated.shown(reader)
    assert (message.topic, message.order, message.offset) == ("news/a", "causal", None)


def test_other_messages_have_no_causal_order(seated: Stage) -> None:
    reader = seated.consume(home_of(seated), "orders")
    seated.deliver(home_of(seated), reader, 1, 1)
    assert [message.order for message in seated.shown(reader)] == [None]


def test_browsing_shows_the_order_too(seated: Stage) -> None:
    page = seated.session.browse("billing")
    seated.turn()
    (asked,) = seated.said(Browse)
    body = bodies.join([b"x"])
    published = Published("", "shop", 5, 1, 7, 3, (), 1)
    found = BrowsedBatch(1, ELSEWHERE, 3, 2, 4, 1, 1, 4, 0, len(body), 1, 0, published)
    seated.receive(home_of(seated), Browsed("billing", asked.token, (found,), True), body)
    (lot,) = page.result
    assert (Delivery(lot, 0).order, Delivery(lot, 0).source) == ("causal", "shop")
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    assert causal_of(seated) == [Causal("bob", 1, ((ELSEWHERE, 4),))], "who looks knows"


# Subscriptions and consumers with topics -------------------------------------------------------------------------
def test_an_interest_in_causal_order_waits_for_the_seat(stage: Stage, home: str) -> None:
    reader = stage.session.attach("billing", 10, interest=Interest("news/#"), seat_of="billing")
    stage.turn()
    assert stage.said(Attach) == []
    give_seat(stage)
    (attach,) = stage.said(Attach)
    assert attach.interest == Interest("news/#", seat=SEAT)
    stage.receive(home, Attached("billing", reader.number))
    assert reader.answered
    more = stage.session.attach("billing", 10, interest=Interest("a"), seat_of="billing")
    stage.session.send("bob", b"a", causal=True)
    stage.turn()
    assert len(stage.said(AskSeat)) == 1, "it is known"
    assert stage.said(Attach)[-1].consumer == more.number
    assert [deposit.dest for deposit in stage.said(Deposit)] == [SEAT]


def test_a_shared_subscription_has_a_seat_of_its_own(seated: Stage) -> None:
    for number in range(2):
        seated.session.attach("shared/jobs", 10 + number, interest=Interest("news/#"), seat_of="shared/jobs")
    seated.turn()
    (asked,) = seated.said(AskSeat)
    assert asked.name == "shared/jobs"
    give_seat(seated, ELSEWHERE)
    assert [attach.interest for attach in seated.said(Attach)] == 2 * [Interest("news/#", seat=ELSEWHERE)]


def test_a_reader_without_a_seat_is_told(stage: Stage, home: str) -> None:
    reader = stage.session.attach("billing", 10, interest=Interest("news/#"), seat_of="billing")
    stage.turn()
    give_seat(stage, code=Code.NO_SEAT)
    assert stage.outcomes(ConsumerRefused) == [ConsumerRefused(reader)]
    assert isinstance(reader.error, Refused)
    assert reader not in stage.session.consumers()


def test_a_reader_that_waits_for_a_seat_can_be_closed(stage: Stage, home: str) -> None:
    reader = stage.session.attach("billing", 10, interest=Interest("news/#"), seat_of="billing")
    stage.turn()
    stage.session.detach(reader)
    assert reader not in stage.session.consumers()
    give_seat(stage)
    assert stage.said(Attach) == []


def test_an_answer_that_nobody_waits_for_changes_nothing(seated: Stage) -> None:
    seated.receive(home_of(seated), SeatGiven(999, ELSEWHERE))
    seated.session.send("bob", b"b", causal=True)
    seated.turn()
    assert [deposit.dest for deposit in seated.said(Deposit)] == [SEAT]
