"""Subscriptions: a reader is served when every item knows what it wants; what ends is forgotten by all of them."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.events import ClientMessage
from causeway.core.machine import Turn
from causeway.core.mail.courier import may_begin
from causeway.core.messages import (
    Attach,
    Attached,
    Deliver,
    Deposit,
    Domains,
    EndMailbox,
    Interest,
    MailboxEnded,
    Message,
    Moved,
    Published,
    Register,
    Registered,
    SeatEntry,
)
from causeway.core.topics.rows import SUBSCRIPTION
from causeway.errors import Code
from causeway.names import private_name, seat_name
from causeway.topics import ALL_ITEMS, item_of
from causeway.topics.critical import WAYS
from causeway.types import SEAT_PREFIX, SECOND, Flag, Overflow, half_of, key_of
from causeway.wire.body import join
from tests.unit.core.mail.neighbours import ME, OTHER, config_of
from tests.unit.core.topics.newsroom import APP, CONN, ITEM, ORDERED, TOPIC, WATCH, Newsroom

RAILS = item_of("rails/x")
SECONDS = 10 * SECOND
PRIVATE = private_name("app/1", 9)
RETIRED = ("retire", key_of(WATCH))


def room_of(mailbox: str = WATCH, **settings: object) -> Newsroom:
    """The owner of a mailbox; all items are another broker's."""
    room = Newsroom(**settings)
    for item in (*ALL_ITEMS, *WAYS[0], *WAYS[1]):
        room.groups.know(item, OTHER)
    room.own(mailbox)
    return room


def begun(interest: Interest | str = "roads/#", mailbox: str = WATCH) -> Newsroom:
    """A subscription that every item knows, with a reader."""
    room = room_of(mailbox)
    room.subscribe(interest, mailbox)
    room.commit()
    room.answer_all(room.sent(Register))
    room.commit()
    assert len(room.heard(Attached)) == 1
    return room


def forwarded(first: int, text: bytes = b"news", mailbox: str = WATCH, follows: int = 0) -> tuple[Deposit, bytes]:
    """What an item forwards."""
    flags = int(Flag.RELIABLE)
    published = Published(TOPIC, *APP, ORDERED, first)
    return Deposit(ITEM, 3, mailbox, ORDERED, first, 1, follows, flags, 4, 0, OTHER.id, published), join([text])


# Beginning ------------------------------------------------------------------------------------------------------
def test_items_are_told_when_the_wish_is_on_all_copies() -> None:
    room = room_of()
    room.subscribe("roads/#")
    assert room.sent(Register) == []
    room.commit()
    (head,) = room.sent(Register)
    assert (head.item, head.mailbox, head.interest) == (ITEM, WATCH, Interest("roads/#"))
    assert room.heard(Attached) == []


def test_reader_is_served_when_every_item_has_answered() -> None:
    room = room_of()
    room.subscribe("#")
    room.commit()
    registers = room.sent(Register)
    assert [head.item for head in registers] == [*ALL_ITEMS, *WAYS[half_of(key_of(WATCH))]]
    room.answer_all(registers[1:])
    assert room.heard(Attached) == []
    room.answer_all(registers[:1])
    assert room.heard(Attached) == [Attached(WATCH, 1, fresh=True, twinned=True)]


def test_item_that_does_not_answer_is_asked_again() -> None:
    room = room_of()
    room.subscribe()
    room.commit()
    room.sent(Register)
    room.pass_time(SECOND)
    assert len(room.sent(Register)) >= 1


def test_answer_to_another_version_or_of_another_item_does_not_count() -> None:
    room = room_of()
    room.subscribe()
    room.commit()
    (head,) = room.sent(Register)
    room.broker(Registered(ITEM, WATCH, head.version - 1))
    room.broker(Registered(RAILS, WATCH, head.version))
    room.broker(Registered(ITEM, "nobody", head.version))
    assert room.heard(Attached) == []


def test_reader_that_comes_again_is_served_at_once() -> None:
    room = begun()
    room.subscribe(consumer=2)
    assert room.heard(Attached) == [Attached(WATCH, 2, twinned=True)]
    assert room.sent(Register) == []


def test_all_readers_of_one_connection_are_served() -> None:
    room = room_of()
    room.subscribe(consumer=1)
    room.subscribe(consumer=2)
    room.subscribe(consumer=2)
    room.commit()
    room.answer_all(room.sent(Register)[:1])
    assert [head.consumer for head in room.heard(Attached)] == [1, 2]


def test_reader_that_went_is_not_served() -> None:
    room = room_of()
    room.subscribe()
    room.commit()
    del room.links.clients[CONN]
    room.answer_all(room.sent(Register))
    assert room.heard(Attached) == []


def test_refusal_of_an_item_reaches_the_reader() -> None:
    room = room_of()
    room.subscribe()
    room.commit()
    (head,) = room.sent(Register)
    room.broker(Registered(ITEM, WATCH, head.version, 0, "", int(Code.OVERLOADED), "too many"))
    assert room.heard(Moved) == [Moved(WATCH, None, Code.OVERLOADED, "too many")]


def test_too_many_readers_at_once_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.topics.subscriptions.SUBSCRIBING_MAX", 1)
    room = room_of()
    room.subscribe(consumer=1)
    room.subscribe(consumer=2)
    assert [head.code for head in room.heard(Moved)] == [Code.OVERLOADED]


@pytest.mark.parametrize(
    "interest",
    [
        Interest(""),
        Interest("roads//x"),
        Interest("a/" * 200 + "b"),
        Interest("roads/#", "colour ="),
        Interest("roads/#", overflow=3),
        Interest("roads/#", overflow=-1),
        Interest("roads/#", bytes_max=-1),
        Interest("roads/#", bytes_max=2**64 - 1),
        Interest("roads/#", keep=2**64 - 1),
        Interest("roads/#", no_local="n" * 1000),
    ],
    ids=range(10),
)
def test_interest_that_makes_no_sense_is_refused(interest: Interest) -> None:
    room = room_of()
    room.subscribe(interest)
    room.commit()
    assert [head.code for head in room.heard(Moved)] == [Code.BAD_FIELD]
    assert room.sent(Register) == []
    assert room.kept(WATCH, SUBSCRIPTION) == []


# Take-over ------------------------------------------------------------------------------------------------------
def test_new_owner_of_a_registered_subscription_serves_at_once() -> None:
    room = begun()
    room.take_over(WATCH)
    assert room.sent(Register) == []
    room.subscribe()
    assert len(room.heard(Attached)) == 1


def test_new_owner_registers_what_may_not_be_known() -> None:
    room = room_of()
    room.subscribe()
    room.commit()
    (head,) = room.sent(Register)
    room.take_over(WATCH)
    assert room.sent(Register) == [head]


def test_wish_that_was_not_on_all_copies_is_forgotten() -> None:
    room = room_of()
    room.subscribe()
    room.take_over(WATCH)
    assert room.sent(Register) == []
    assert room.topics._subscriptions.all == {}


# Changing -------------------------------------------------------------------------------------------------------
def test_other_wish_takes_the_place_of_the_first() -> None:
    room = begun()
    room.subscribe("roads/b7")
    room.commit()
    (head,) = room.sent(Register)
    assert head.interest == Interest("roads/b7")
    room.answer_all([head])
    assert len(room.heard(Attached)) == 1


def test_item_that_is_not_concerned_any_more_is_told_until_it_has_answered() -> None:
    room = begun("roads/#")
    room.subscribe("rails/#")
    assert room.sent(Register) == [], "a next owner would take the old wish for registered"
    room.commit()
    told = {head.item: head.interest for head in room.sent(Register)}
    assert told == {ITEM: None, RAILS: Interest("rails/#")}
    room.pass_time(SECONDS)
    again = [head for head in room.sent(Register) if head.item == ITEM]
    assert again
    room.answer_all(again[:1])
    room.pass_time(SECONDS)
    assert {head.item for head in room.sent(Register)} == {RAILS}


def test_reader_does_not_wait_for_items_that_are_not_concerned_any_more() -> None:
    room = begun("roads/#")
    room.subscribe("rails/#")
    room.commit()
    room.answer_all([head for head in room.sent(Register) if head.item == RAILS])
    assert len(room.heard(Attached)) == 1
    room.commit()
    room.take_over(WATCH)
    assert [(head.item, head.interest) for head in room.sent(Register)] == [(ITEM, None)]


def test_bound_of_a_former_wish_does_not_last() -> None:
    room = begun(Interest("roads/#", bytes_max=100))
    mailbox = room.desk.office.boxes[key_of(WATCH)].mailbox
    assert mailbox._intake.stored_bytes_max == 100
    room.subscribe("roads/#")
    assert mailbox._intake.stored_bytes_max == mailbox.config.stored_bytes_max


# Replay ---------------------------------------------------------------------------------------------------------
def test_replay_tells_from_which_numbers_on_and_which_history_has_the_rest() -> None:
    room = room_of()
    wanted = Interest("roads/#", replay=True)
    room.subscribe(wanted)
    room.commit()
    room.answer_all(room.sent(Register), 42, "history/roads")
    assert room.heard(Attached) == [Attached(WATCH, 1, ((ITEM, 42),), "history/roads", True, twinned=True)]
    room.commit()
    room.subscribe(wanted)
    assert room.heard(Attached) == [Attached(WATCH, 1, ((ITEM, 42),), "history/roads", twinned=True)]


def test_new_owner_asks_for_the_numbers_of_a_replay_again() -> None:
    room = room_of()
    wanted = Interest("roads/#", replay=True)
    room.subscribe(wanted)
    room.commit()
    room.answer_all(room.sent(Register), 42, "history/roads")
    room.commit()
    room.heard(Attached)
    room.take_over(WATCH)
    room.subscribe(wanted)
    assert room.heard(Attached) == []
    room.answer_all(room.sent(Register), 42, "history/roads")
    assert room.heard(Attached) == [Attached(WATCH, 1, ((ITEM, 42),), "history/roads", twinned=True)]


def test_histories_that_differ_are_none() -> None:
    room = room_of()
    room.subscribe(Interest("#", replay=True))
    room.commit()
    for at, head in enumerate(room.sent(Register)):
        room.broker(Registered(head.item, WATCH, head.version, at, "history/all" if at else ""))
    (attached,) = room.heard(Attached)
    assert attached.history == ""
    assert len(attached.numbers) == len(ALL_ITEMS) + len(WAYS[0])


def test_nobody_consumes_from_a_history() -> None:
    room = begun(Interest("roads/#", keep=60 * SECOND), "history/roads")
    room.broker(*forwarded(8, mailbox="history/roads"))
    room.commit()
    assert room.heard(Deliver) == []


# Ending ---------------------------------------------------------------------------------------------------------
def test_subscription_of_which_nothing_was_written_can_be_ended() -> None:
    room = room_of()
    room.client(EndMailbox(WATCH, 77))
    room.commit()
    assert room.heard(MailboxEnded) == [MailboxEnded(WATCH, 77)]
    assert RETIRED in room.groups.asked


def test_subscription_ends_when_every_item_has_forgotten_it() -> None:
    room = begun()
    room.client(EndMailbox(WATCH, 77))
    room.commit()
    (head,) = room.sent(Register)
    assert head.interest is None
    assert room.heard(MailboxEnded) == []
    room.answer_all([head])
    assert RETIRED in room.groups.asked
    assert room.heard(MailboxEnded) == [MailboxEnded(WATCH, 77)]
    assert [moved.code for moved in room.heard(Moved)] == [Code.NO_MAILBOX]


@pytest.mark.parametrize("taken_over", [False, True])
def test_subscription_ends_when_items_of_a_former_wish_have_forgotten_it_too(taken_over: bool) -> None:
    room = begun()
    room.subscribe("rails/#")
    room.commit()
    room.answer_all([head for head in room.sent(Register) if head.interest is not None])
    room.client(EndMailbox(WATCH, 77))
    room.commit()
    if taken_over:
        room.take_over(WATCH)
    last = {head.item: head for head in room.sent(Register) if head.interest is None}
    former = last.pop(ITEM)
    room.answer_all([*last.values()])
    assert RETIRED not in room.groups.asked, "nobody would tell it later"
    room.answer_all([former])
    assert RETIRED in room.groups.asked
    room.groups.asked.clear()
    room.answer_all([former])
    assert room.groups.asked == []


def test_end_is_said_again_until_the_mailbox_is_lost() -> None:
    room = begun()
    room.client(EndMailbox(WATCH, 77))
    room.commit()
    room.answer_all(room.sent(Register))
    room.groups.asked.clear()
    room.pass_time(SECONDS)
    assert RETIRED in room.groups.asked, "another epoch may have come first, which forgets that it was to be the last"
    room.lose(WATCH)
    room.groups.asked.clear()
    room.pass_time(SECONDS)
    assert room.groups.asked == []


def test_no_item_is_told_to_forget_before_the_end_is_on_all_copies() -> None:
    room = begun()
    room.client(EndMailbox(WATCH, 77))
    assert room.sent(Register) == []


def test_new_owner_goes_on_ending() -> None:
    room = begun()
    room.client(EndMailbox(WATCH, 77))
    room.commit()
    (head,) = room.sent(Register)
    room.take_over(WATCH)
    assert room.sent(Register) == [head], "some items may have forgotten it: it must not count as registered"
    room.subscribe()
    assert [moved.code for moved in room.heard(Moved)[-1:]] == [Code.NOT_READY]
    room.answer_all([head])
    assert RETIRED in room.groups.asked


def test_end_that_is_asked_for_twice_is_answered_twice() -> None:
    room = begun()
    room.client(EndMailbox(WATCH, 1))
    room.client(EndMailbox(WATCH, 2))
    room.commit()
    room.answer_all(room.sent(Register))
    assert [head.token for head in room.heard(MailboxEnded)] == [1, 2]


def test_mailbox_of_an_application_cannot_be_ended() -> None:
    room = room_of("app")
    room.client(EndMailbox("app", 1))
    assert [head.code for head in room.heard(Moved)] == [Code.BAD_FIELD]
    assert room.groups.asked == []


def test_private_mailbox_that_is_no_subscription_ends_at_once() -> None:
    room = room_of(PRIVATE)
    room.client(EndMailbox(PRIVATE, 1))
    assert room.heard(MailboxEnded) == [MailboxEnded(PRIVATE, 1)]
    assert ("retire", key_of(PRIVATE)) in room.groups.asked


def test_private_subscription_without_reader_withdraws_and_then_ends() -> None:
    room = begun(mailbox=PRIVATE)
    turn = Turn(room.now)
    room.desk.on_client_gone(turn, CONN)
    room.end(turn)
    room.pass_time(61 * SECOND)
    room.commit()
    (head,) = room.sent(Register)
    assert head.interest is None
    assert ("retire", key_of(PRIVATE)) not in room.groups.asked
    room.answer_all([head])
    assert ("retire", key_of(PRIVATE)) in room.groups.asked


# Overflow -------------------------------------------------------------------------------------------------------
def flood(room: Newsroom, count: int = 20) -> None:
    room.client(Attach(WATCH, 1, 1))
    for first in range(8, 8 + count):
        room.broker(*forwarded(first, bytes(100), follows=first - 1 if first > 8 else 0))
        room.commit()


def test_subscription_that_would_rather_end_than_wait_ends_when_it_is_full() -> None:
    room = begun(Interest("roads/#", overflow=int(Overflow.DISCONNECT), bytes_max=500))
    flood(room)
    assert [moved.code for moved in room.heard(Moved)] == [Code.OVERFLOWED]
    (head,) = room.sent(Register)
    assert head.interest is None
    room.answer_all([head])
    assert RETIRED in room.groups.asked


def test_subscription_that_drops_its_oldest_messages_has_the_newest() -> None:
    room = begun(Interest("roads/#", overflow=int(Overflow.DROP_OLDEST), bytes_max=500))
    flood(room)
    box = room.desk.office.boxes[key_of(WATCH)]
    assert box.dropped > 10
    assert 0 < len(room.kept(WATCH, b"b")) <= 5
    assert room.heard(Moved) == []


# Mailboxes that must not begin again ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mailbox", "head", "begins"),
    [
        (PRIVATE, Attach(PRIVATE, 1, 1), True),
        (PRIVATE, forwarded(1, mailbox=PRIVATE)[0], False),
        (PRIVATE, msgspec.structs.replace(forwarded(1, mailbox=PRIVATE)[0], source="a", published=None), False),
        (WATCH, Attach(WATCH, 1, 1, interest=Interest("#")), True),
        (WATCH, forwarded(1)[0], False),
        (WATCH, msgspec.structs.replace(forwarded(1)[0], source="a", published=None), True),
        (WATCH, EndMailbox(WATCH, 1), False),
    ],
    ids=["reader", "forward", "letter", "subscriber", "forward to subscription", "letter to subscription", "end"],
)
def test_only_readers_begin_private_mailboxes_and_forwards_begin_nothing(
    mailbox: str, head: Attach | Deposit | EndMailbox, begins: bool
) -> None:
    assert may_begin(mailbox, head) is begins


# Whose a subscription is ----------------------------------------------------------------------------------------
OTHER_CONN = 4


def with_other(name: str = "app", incarnation: int = 10) -> Newsroom:
    """A subscription in use, and another client."""
    room = begun()
    room.links.clients[OTHER_CONN] = (name, incarnation)
    return room


def told(room: Newsroom, head: Message) -> list[Code]:
    """Why the other client is refused what it says."""
    turn = Turn(room.now)
    room.desk.on_client_message(turn, ClientMessage(OTHER_CONN, head, b""))
    room.end(turn)
    return [Code(s.head.code) for s in turn.effects.sends if s.conn == OTHER_CONN and isinstance(s.head, Moved)]


def test_reader_that_is_refused_changes_nothing_for_the_one_that_is_there() -> None:
    room = with_other()
    assert told(room, Attach(WATCH, 1, 10, "", True, Interest("rails/#"))) == [Code.IN_USE]
    room.commit()
    assert room.sent(Register) == []


def test_reader_beside_others_wants_what_they_want() -> None:
    shared = "shared/news"
    room = begun(mailbox=shared)
    room.links.clients[OTHER_CONN] = ("other", 1)
    assert told(room, Attach(shared, 1, 10, "", False, Interest("rails/#"))) == [Code.IN_USE]
    assert told(room, Attach(shared, 1, 10, "", False, Interest("roads/#"))) == []


@pytest.mark.parametrize(
    "head",
    [
        Attach(WATCH, 1, 10, "", True, Interest("roads/#")),
        Attach("orders", 1, 10, "", False, Interest("roads/#")),
        Attach("shared/news", 1, 10, "", False, Interest("roads/#", keep=1)),
        Attach("history/roads", 1, 10, "", False, Interest("roads/#")),
        Attach("history/roads", 1, 10),
        Attach(PRIVATE, 1, 10),
        EndMailbox(WATCH, 1),
        EndMailbox(PRIVATE, 1),
    ],
    ids=["others", "queue", "keep", "history", "consumed", "private", "end", "end-private"],
)
def test_mailbox_of_somebody_else_is_neither_read_nor_changed_nor_ended(head: Message) -> None:
    assert told(with_other("other"), head) == [Code.BAD_FIELD]


def test_mailbox_that_is_born_again_is_not_taken_for_its_former_life() -> None:
    room = room_of()
    room.subscribe()
    room.commit()
    (first,) = room.sent(Register)
    assert first.version > config_of(WATCH, ME).born << 10


# Causal order ---------------------------------------------------------------------------------------------------
SEAT, NEXT_SEAT = seat_name("b1"), seat_name("b2")
QUEUE = "orders"
BOTH = Interest("roads/#", seat=SEAT)


def with_seats(room: Newsroom) -> None:
    """Both seats are on the map, and another broker's."""
    on_map = []
    for number, seat in enumerate((SEAT, NEXT_SEAT)):
        room.groups.know(seat, OTHER)
        on_map.append(SeatEntry(seat.removeprefix(SEAT_PREFIX), number, ("main",)))
    room.causal.answered(Turn(room.now), Domains(1, tuple(on_map)))


def seated(interest: Interest = BOTH, mailbox: str = WATCH) -> Newsroom:
    """As `begun`; seats are another broker's too."""
    room = room_of(mailbox)
    with_seats(room)
    room.subscribe(interest, mailbox)
    room.commit()
    return room


@pytest.mark.parametrize("mailbox", [WATCH, QUEUE])
def test_what_wants_causal_order_is_registered_with_its_seat_alone(mailbox: str) -> None:
    room = seated(mailbox=mailbox)
    (head,) = room.sent(Register)
    assert (head.item, head.mailbox, head.interest) == (SEAT, mailbox, BOTH)
    room.answer_all([head])
    assert room.heard(Attached) == [Attached(mailbox, 1, fresh=True, twinned=mailbox == WATCH)]


def test_who_changes_to_causal_order_leaves_the_items_and_back() -> None:
    room = begun()
    with_seats(room)
    room.subscribe(BOTH)
    room.commit()
    assert [(head.item, head.interest) for head in room.sent(Register)] == [(SEAT, BOTH), (ITEM, None)]
    room.take_over(WATCH)
    assert [(head.item, head.interest) for head in room.sent(Register)] == [(SEAT, BOTH), (ITEM, None)]
    room.subscribe("roads/#")
    room.commit()
    heads = room.sent(Register)
    assert [(head.item, head.interest) for head in heads] == [(ITEM, Interest("roads/#")), (SEAT, None)]
    room.take_over(WATCH)
    assert [(head.item, head.interest) for head in room.sent(Register)] == [
        (ITEM, Interest("roads/#")),
        (SEAT, None),
    ], "a row may hold seats to leave"


def test_plain_reader_of_a_mailbox_with_topics_changes_nothing() -> None:
    room = seated(mailbox=QUEUE)
    room.answer_all(room.sent(Register))
    room.heard(Attached)
    room.client(Attach(QUEUE, 2, 10))
    assert room.heard(Attached) == [Attached(QUEUE, 2)]
    assert room.sent(Register) == []
    room.commit()
    room.take_over(QUEUE)
    room.subscribe(BOTH, QUEUE)
    assert room.heard(Attached) == [Attached(QUEUE, 1)], "what a former owner registered stays registered"


def test_topics_of_an_ordinary_mailbox_end_and_the_mailbox_stays() -> None:
    room = seated(mailbox=QUEUE)
    room.answer_all(room.sent(Register))
    room.commit()
    room.heard(Attached)
    room.client(EndMailbox(QUEUE, 5))
    room.commit()
    (head,) = room.sent(Register)
    assert (head.item, head.interest) == (SEAT, None)
    room.answer_all([head])
    room.commit()
    assert room.heard(MailboxEnded) == [MailboxEnded(QUEUE, 5)]
    assert ("retire", key_of(QUEUE)) not in room.groups.asked
    room.pass_time(SECONDS)
    assert ("retire", key_of(QUEUE)) not in room.groups.asked
    room.client(EndMailbox(QUEUE, 6))
    (moved,) = room.heard(Moved)
    assert moved.code == Code.BAD_FIELD
    assert "no topics" in moved.detail


@pytest.mark.parametrize("taken_over", [False, True])
def test_topics_of_an_ordinary_mailbox_begin_again_with_a_later_version(taken_over: bool) -> None:
    room = seated(mailbox=QUEUE)
    (first,) = room.sent(Register)
    room.answer_all([first])
    room.commit()
    room.client(EndMailbox(QUEUE, 5))
    room.commit()
    room.answer_all(room.sent(Register))
    room.commit()
    if taken_over:
        room.take_over(QUEUE)
        assert room.sent(Register) == []
    room.heard(Attached)
    room.subscribe(BOTH, QUEUE)
    room.commit()
    (again,) = room.sent(Register)
    assert (again.item, again.interest) == (SEAT, BOTH)
    assert again.version > first.version + 1
    room.answer_all([again])
    assert len(room.heard(Attached)) == 1


def test_an_ordinary_mailbox_has_topics_in_causal_order_only() -> None:
    room = room_of(QUEUE)
    room.subscribe("roads/#", QUEUE)
    (moved,) = room.heard(Moved)
    assert moved.code == Code.BAD_FIELD
    assert "no subscription" in moved.detail
