"""Sending in causal order: one stream to the application's seat, whatever it sends and to whom."""

from __future__ import annotations

import pytest

from causeway.client.outcomes import SendDone
from causeway.core.messages import (
    Accepted,
    AskSeat,
    Causal,
    Deposit,
    Rejected,
)
from causeway.errors import Code, ConfigError, DeadlineExceeded, Refused
from causeway.types import SECOND, Flag, ServiceClass
from causeway.wire import body as bodies
from tests.unit.client.seats import SEAT, give_seat, home_of
from tests.unit.client.stage import INCARNATION, Stage

EXPRESS, TRANSACTIONAL = ServiceClass.EXPRESS, ServiceClass.TRANSACTIONAL


# The seat -------------------------------------------------------------------------------------------------------
def test_the_first_send_asks_for_the_seat_and_waits_for_it(stage: Stage, home: str) -> None:
    ticket = stage.session.send("bob", b"a", service=TRANSACTIONAL, causal=True)
    stage.turn()
    (asked,) = stage.said(AskSeat)
    assert asked.name == "billing"
    assert stage.said(Deposit) == []
    give_seat(stage)
    (deposit,) = stage.said(Deposit)
    assert deposit == Deposit(
        "billing", INCARNATION, SEAT, 2, 1, 1, 0, int(Flag.RELIABLE), 4, 0, causal=Causal("bob", 2)
    )
    stage.accept(home, deposit)
    assert ticket.done
    assert ticket.error is None


def test_nobody_asks_for_a_seat_without_need(stage: Stage, home: str) -> None:
    stage.session.send("bob", b"a")
    stage.turn()
    assert stage.said(AskSeat) == []


def test_the_seat_is_asked_for_once_and_kept(seated: Stage) -> None:
    seated.session.send("carol", b"b", causal=True)
    seated.turn()
    assert seated.said(AskSeat) == []
    assert [(deposit.dest, deposit.first) for deposit in seated.said(Deposit)] == [(SEAT, 2)]


def test_what_waits_for_the_seat_is_one_stream_in_the_order_of_its_sends(stage: Stage, home: str) -> None:
    session = stage.session
    session.send("bob", b"1", causal=True)
    session.send("bob", b"2", causal=True)
    session.send("carol", b"3", service=EXPRESS, causal=True)
    session.send("news/a", b"4", published=True, causal=True)
    session.send("news/b", b"5", published=True, causal=True)
    session.send("bob", b"6", causal=True, ttl=SECOND)
    session.send("bob", b"7", causal=True)
    stage.turn()
    session.send("bob", b"8", causal=True)
    stage.turn()
    give_seat(stage)
    frames = [(frame.head, frame.body) for frame in stage.sent if isinstance(frame.head, Deposit)]
    assert [(d.dest, d.stream, d.first, d.follows) for d, _ in frames] == [
        (SEAT, 2, first, follows) for first, follows in [(1, 0), (3, 2), (4, 3), (5, 4), (6, 5), (7, 6), (8, 7)]
    ]
    assert [d.causal for d, _ in frames] == [
        Causal("bob", 1), Causal("carol", 0), Causal("", 1), Causal("", 1), Causal("bob", 1), Causal("bob", 1),
        Causal("bob", 1),
    ]  # fmt: skip
    assert [d.published and d.published.topic for d, _ in frames] == [None, None, "news/a", "news/b", None, None, None]
    assert [text for d, body in frames for text in bodies.split(body, d.count)] == [b"%d" % n for n in range(1, 9)]


def test_the_seat_is_asked_for_again_when_nobody_answers(stage: Stage, home: str) -> None:
    stage.session.send("bob", b"a", causal=True)
    stage.turn()
    stage.sleep(stage.config.repeat_after // 2)
    assert len(stage.said(AskSeat)) == 1
    conn = stage.conns[home]
    stage.cut(home)
    other = stage.open()
    assert stage.conns[other] != conn
    assert [asked.name for asked in stage.said(AskSeat, other)] == ["billing"]
    give_seat(stage)
    assert [deposit.first for deposit in stage.said(Deposit, other)] == [1]


def test_who_has_no_seat_is_told_and_may_ask_again(stage: Stage, home: str) -> None:
    ticket = stage.session.send("bob", b"a", causal=True)
    stage.turn()
    give_seat(stage, code=Code.NO_SEAT)
    assert isinstance(ticket.error, Refused)
    assert ticket.error.code == Code.NO_SEAT
    assert "as the test wants it" in str(ticket.error)
    again = stage.session.send("bob", b"b", causal=True)
    stage.turn()
    assert len(stage.said(AskSeat)) == 2
    give_seat(stage)
    (deposit,) = stage.said(Deposit)
    assert (deposit.first, deposit.follows) == (2, 0)
    stage.accept(home, deposit)
    assert again.done
    assert again.error is None


def test_a_broker_that_cannot_say_yet_is_asked_again(stage: Stage, home: str) -> None:
    ticket = stage.session.send("bob", b"a", causal=True, timeout=2 * SECOND)
    stage.turn()
    give_seat(stage, code=Code.NOT_READY)
    assert not ticket.done
    stage.sleep(SECOND)
    assert len(stage.said(AskSeat)) == 2
    stage.sleep(2 * SECOND)
    assert isinstance(ticket.error, Refused), "what a broker said last is why"
    assert ticket.error.code == Code.NOT_READY


def test_a_send_whose_seat_nobody_knows_runs_out_of_time(stage: Stage, home: str) -> None:
    ticket = stage.session.send("bob", b"a", causal=True, timeout=SECOND)
    stage.turn()
    stage.sleep(2 * SECOND)
    assert isinstance(ticket.error, DeadlineExceeded)
    assert "'bob'" in str(ticket.error)


# Sending --------------------------------------------------------------------------------------------------------
def test_receipts_name_the_stream_of_all_causal_sends(seated: Stage) -> None:
    ticket = seated.session.send("bob", b"b", service=EXPRESS, causal=True)
    seated.turn()
    assert str(ticket.message_id) == f"billing:{INCARNATION:x}:causeway%2Fseats:t:2"


def test_a_place_that_was_lost_fails_and_what_follows_goes_on(seated: Stage) -> None:
    lost = seated.session.send("bob", b"b", causal=True)
    seated.turn()
    seated.receive(home_of(seated), Rejected("billing", INCARNATION, SEAT, 2, 2, 2, int(Code.ORDER_LOST), "given up"))
    assert isinstance(lost.error, Refused)
    assert lost.error.code == Code.ORDER_LOST
    seated.take_sent()
    seated.session.send("bob", b"c", causal=True)
    seated.turn()
    assert [(one.first, one.follows) for one in seated.said(Deposit)] == [(3, 0)]


def test_unreliable_is_over_when_it_has_left_and_kept_underneath(seated: Stage) -> None:
    home = home_of(seated)
    ticket = seated.session.send("bob", b"b", service=EXPRESS, reliable=False, causal=True)
    seated.turn()
    assert ticket.done
    assert [outcome.batch for outcome in seated.outcomes(SendDone)] == [ticket.batch]
    assert seated.session.unresolved == 1
    seated.cut(home)
    other = seated.open()
    (again,) = seated.said(Deposit, other)
    assert (again.first, again.stream, again.causal) == (2, 2, Causal("bob", 0))
    seated.accept(other, again)
    assert seated.session.unresolved == 0


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("priority", {"priority": 5}),
        ("delay", {"delay": SECOND}),
        ("confirm", {"confirm": True}),
        ("retain", {"published": True, "retain": True}),
        ("dest", {"dest": "sub/a/b"}),
        ("reliable", {"service": TRANSACTIONAL, "reliable": False}),
    ],
)
def test_what_causal_order_cannot_keep_is_refused_by_name(stage: Stage, field: str, options: dict[str, object]) -> None:
    arguments = {"dest": "news/a", "body": b"x", "causal": True, **options}
    with pytest.raises(ConfigError) as caught:
        stage.session.send(**arguments)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_seats_are_no_destinations(stage: Stage) -> None:
    with pytest.raises(ConfigError, match="reserved"):
        stage.session.send(SEAT, b"x", causal=True)


# Kept state -----------------------------------------------------------------------------------------------------
def test_what_an_earlier_life_left_is_sent_again_to_the_seat(home: str) -> None:
    rows: dict[bytes, bytes] = {}
    earlier = Stage(rows, keep=True)
    earlier.turn()
    earlier.store()
    earlier.open()
    earlier.session.send("bob", b"1", service=EXPRESS, causal=True)
    earlier.session.send("news/a", b"2", published=True, causal=True)
    earlier.turn()
    give_seat(earlier)
    earlier.store()
    assert len(earlier.said(Deposit)) == 2
    later = Stage(rows, keep=True)
    later.turn()
    later.store()
    later.open()
    (asked,) = later.said(AskSeat)
    assert asked.name == "billing"
    give_seat(later)
    assert [(d.dest, d.first, d.follows, d.causal) for d in later.said(Deposit)] == [
        (d.dest, d.first, d.follows, d.causal) for d in earlier.said(Deposit)
    ]
    assert [d.published and d.published.topic for d in later.said(Deposit)] == [None, "news/a"]
    for deposit in later.said(Deposit):
        last = deposit.first + deposit.count - 1
        later.receive(home_of(later), Accepted("billing", INCARNATION, SEAT, 2, deposit.first, last))
    assert later.session.idle or later.session.unresolved == 0
