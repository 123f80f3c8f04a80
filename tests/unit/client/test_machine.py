"""A session and topics: batches of topics, subscriptions, refusals, mailboxes that end."""

from __future__ import annotations

import pytest

from causeway.client.outcomes import ConsumerRefused, InquiryDone
from causeway.client.reader import CONTEST
from causeway.client.transactions import Parcel
from causeway.core.messages import (
    Attach,
    Attached,
    Commit,
    Deliver,
    Deposit,
    Detach,
    EndMailbox,
    Interest,
    MailboxEnded,
    Moved,
    Pong,
    Published,
    Settle,
    Settled,
)
from causeway.errors import Code, ConfigError, Refused, SelectorError
from causeway.topics import item_of
from causeway.types import SECOND, Flag, ServiceClass
from causeway.wire import body as bodies
from tests.unit.client.stage import INCARNATION, Stage, peer

SPEED, NOISE = "roads/a1/speed", "roads/a1/noise"
ITEM = item_of(SPEED)
INTEREST = Interest("roads/*/speed")


def publish(stage: Stage, *topics: str, **options: object) -> None:
    """One message on each, in one turn; its body is the topic."""
    for topic in topics:
        stage.session.send(topic, topic.encode(), published=True, **options)  # type: ignore[arg-type]
    stage.turn()


def refuse(stage: Stage, home: str, mailbox: str, code: Code) -> None:
    stage.receive(home, Moved(mailbox, None, int(code), "why"))


# Publishing -----------------------------------------------------------------------------------------------------
def test_topic_travels_to_its_item_and_says_which_it_is(stage: Stage, home: str) -> None:
    publish(stage, SPEED, SPEED, service=ServiceClass.TRANSACTIONAL)
    (sent,) = stage.said(Deposit)
    flags = int(Flag.RELIABLE)
    assert sent == Deposit("billing", INCARNATION, ITEM, 2, 1, 2, 0, flags, 4, 0, b"", Published(SPEED))


def test_topics_of_an_item_share_ids_and_never_a_batch(stage: Stage, home: str) -> None:
    assert item_of(NOISE) == ITEM
    publish(stage, SPEED, SPEED, NOISE, SPEED, service=ServiceClass.TRANSACTIONAL)
    sent = [(head.published.topic, head.first, head.follows) for head in stage.said(Deposit) if head.published]
    assert sent == [(SPEED, 1, 0), (NOISE, 3, 2), (SPEED, 4, 3)]


def test_mailbox_of_the_same_name_as_a_topic_is_another_destination(stage: Stage, home: str) -> None:
    stage.session.send("news", b"to the mailbox")
    stage.session.send("news", b"on the topic", published=True)
    stage.turn()
    assert [(head.dest, head.published) for head in stage.said(Deposit)] == [
        ("news", None),
        (item_of("news"), Published("news")),
    ]


def test_item_is_no_destination_of_a_send(stage: Stage, home: str) -> None:
    with pytest.raises(ConfigError, match="reserved"):
        stage.session.send(ITEM, b"x")


def test_retained_message_is_flagged(stage: Stage, home: str) -> None:
    publish(stage, SPEED, retain=True)
    publish(stage, SPEED)
    assert [bool(head.flags & Flag.RETAIN) for head in stage.said(Deposit)] == [True, False]


def test_delay_counts_from_the_send_also_when_it_leaves_later(stage: Stage, home: str) -> None:
    stage.clog(home)
    stage.session.send("orders", b"x", delay=3 * SECOND)
    stage.turn()
    stage.now += 2 * SECOND
    stage.drain(home)
    assert [head.delay for head in stage.said(Deposit, home)] == [1 * SECOND]
    stage.now += 2 * SECOND
    stage.cut(home)
    stage.open()
    assert stage.said(Deposit)[-1].delay == 0


@pytest.mark.parametrize(("delay", "ttl"), [(-1, 0), (5, 5), (6, 5), (1 << 63, 0)])
def test_delay_that_makes_no_sense_is_refused(stage: Stage, home: str, delay: int, ttl: int) -> None:
    with pytest.raises(ConfigError) as caught:
        stage.session.send("orders", b"x", delay=delay * SECOND, ttl=ttl * SECOND)
    assert caught.value.field == "delay"


def test_transaction_keeps_topics_apart_and_in_order(stage: Stage, home: str) -> None:
    parcels = [Parcel(ITEM, b"1", published=Published(SPEED)), Parcel(ITEM, b"2", published=Published(NOISE))]
    parcels += [Parcel(ITEM, b"3", published=Published(NOISE)), Parcel(ITEM, b"4", published=Published(NOISE), delay=7)]
    stage.session.commit(parcels, [])
    stage.turn()
    (head,) = stage.said(Commit)
    assert [(part.first, part.count, part.published, part.delay) for part in head.sends] == [
        (1, 1, Published(SPEED), 0),
        (2, 2, Published(NOISE), 0),
        (4, 1, Published(NOISE), 7),
    ]


def test_unanswered_message_of_a_topic_survives_a_restart_with_its_topic_and_its_delay() -> None:
    rows: dict[bytes, bytes] = {}
    stage = Stage(rows, keep=True)
    stage.turn()
    stage.store()
    publish(stage, SPEED, delay=10 * SECOND)
    stage.store()
    again = Stage(rows, keep=True)
    again.turn()
    again.store()
    home = again.open()
    again.store()
    (head,) = again.said(Deposit, home)
    assert (head.dest, head.published, head.delay) == (ITEM, Published(SPEED), 10 * SECOND)


# Subscribing ----------------------------------------------------------------------------------------------------
def test_subscription_attaches_with_its_interest_and_again_elsewhere(stage: Stage, home: str) -> None:
    reader = stage.session.attach("sub/billing/board", 100, exclusive=True, interest=INTEREST)
    stage.turn()
    wanted = Attach("sub/billing/board", reader.number, 100, "", True, INTEREST)
    assert stage.said(Attach, home) == [wanted]
    stage.receive(home, Moved("sub/billing/board", peer("b3")))
    stage.open("b3")
    assert stage.said(Attach, "b3") == [wanted]


def test_selector_is_checked_before_it_is_sent(stage: Stage, home: str) -> None:
    with pytest.raises(SelectorError):
        stage.session.attach("orders", 1, selector="amount >")
    reader = stage.session.attach("orders", 1, selector="amount > 3")
    stage.turn()
    assert stage.said(Attach) == [Attach("orders", reader.number, 1, "amount > 3")]


def test_first_answer_says_where_a_subscription_begins(stage: Stage, home: str) -> None:
    mailbox = stage.session.private_mailbox()
    reader = stage.session.attach(mailbox, 10, interest=INTEREST)
    stage.turn()
    stage.receive(home, Attached(mailbox, reader.number, ((ITEM, 7),), "history/roads/#"))
    stage.receive(home, Attached(mailbox, reader.number, ((ITEM, 9),), ""))
    assert (reader.numbers, reader.history) == ({ITEM: 7}, "history/roads/#")


def test_published_message_shows_who_published_it_and_its_place(stage: Stage, home: str) -> None:
    reader = stage.consume(home, "sub/billing/board")
    published = Published(SPEED, "radar", 0x1F, 0, 41, 100, (), 2 * SECOND)
    times = (3 * SECOND, 9 * SECOND)
    head = Deliver("sub/billing/board", reader.number, 5, ITEM, 1, 2, 101, 3, 1, 4, 0, *times, published)
    stage.receive(home, head, bodies.join([b"a", b"b", b"c"]))
    message = stage.shown(reader)[1]
    assert (message.source, message.service, message.topic) == ("radar", "express", SPEED)
    assert message.id == f"radar:1f:{ITEM.replace('/', '%2F')}:e:42"
    assert (message.offset, message.sent_at, message.expires_at) == (101, 2.0, 9.0)
    assert (message.reply_to, message.correlation_id) == (None, None)


def test_part_of_a_published_batch_keeps_the_publishers_ids(stage: Stage, home: str) -> None:
    reader = stage.consume(home, "sub/billing/board")
    published = Published(SPEED, "radar", 0x1F, 1, 41, 100)
    head = Deliver("sub/billing/board", reader.number, 5, ITEM, 1, 2, 101, 1, 1, 4, 0, 0, 0, published)
    stage.receive(home, head, bodies.join([b"a"]))
    both = Deliver("sub/billing/board", reader.number, 5, ITEM, 1, 2, 101, 2, 1, 4, 0, 0, 0, published)
    stage.receive(home, both, bodies.join([b"a", b"b"]))
    assert [(m.body, m.message_id.number, m.offset) for m in stage.shown(reader)] == [(b"a", 41, 100), (b"b", 42, 101)]


def test_message_of_a_mailbox_has_no_topic(stage: Stage, home: str) -> None:
    reader = stage.consume(home)
    stage.deliver(home, reader, 1, 1)
    (message,) = stage.shown(reader)
    assert (message.topic, message.offset, message.sent_at, message.expires_at) == (None, None, None, None)


# Refusals -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("code", [Code.IN_USE, Code.BAD_FIELD, Code.OVERFLOWED], ids=lambda code: code.name)
def test_refused_consumer_is_told_why_and_does_not_ask_again(
    stage: Stage, home: str, code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causeway.client.reader.FORMER_LIFE", 0)
    reader = stage.session.attach("sub/billing/board", 10, exclusive=True, interest=INTEREST)
    stage.turn()
    refuse(stage, home, "sub/billing/board", code)
    assert stage.outcomes(ConsumerRefused) == [ConsumerRefused(reader)]
    assert isinstance(reader.error, Refused)
    assert reader.error.code == code
    assert reader not in stage.session.consumers()
    stage.take_sent()
    stage.sleep(20 * SECOND)
    assert stage.said(Attach) == []


def test_who_is_kept_out_asks_again_for_a_while(stage: Stage, home: str) -> None:
    reader = stage.session.attach("sub/billing/board", 10, exclusive=True, interest=INTEREST)
    stage.turn()
    refuse(stage, home, "sub/billing/board", Code.IN_USE)
    assert reader.error is None, "perhaps by its own former life"
    stage.said(Attach, home)
    stage.sleep(SECOND)
    assert stage.said(Attach, home) != []


def test_who_is_served_is_not_meant_when_another_is_refused(
    stage: Stage, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causeway.client.reader.FORMER_LIFE", 0)
    first = stage.consume(home, "sub/billing/board")
    second = stage.session.attach("sub/billing/board", 10, exclusive=True)
    stage.turn()
    refuse(stage, home, "sub/billing/board", Code.IN_USE)
    assert (first.answered, first.error) == (True, None)
    assert second.error is not None
    stage.deliver(home, first, 1, 1)
    assert stage.bodies_shown(first) == [b"1"]


def test_who_is_served_stays_when_there_is_no_room_for_another(stage: Stage, home: str) -> None:
    first = stage.consume(home, "orders")
    second = stage.session.attach("orders", 10, selector="lane = 2")
    stage.turn()
    refuse(stage, home, "orders", Code.OVERLOADED)
    assert (first.answered, second.answered, second.error) == (True, False, None)


def test_who_was_alone_before_its_link_broke_is_patient_with_its_own_shadow(stage: Stage, home: str) -> None:
    reader = stage.session.attach("sub/billing/board", 10, exclusive=True)
    stage.turn()
    stage.receive(home, Attached("sub/billing/board", reader.number))
    stage.cut(home)
    other = stage.open()
    refuse(stage, other, "sub/billing/board", Code.IN_USE)
    assert reader.error is None
    stage.take_sent()
    stage.sleep(1 * SECOND)
    assert stage.said(Attach)
    stage.receive(other, Attached("sub/billing/board", reader.number))
    assert reader.answered
    assert reader.contested_at is None


def test_patience_with_somebody_elses_hold_ends(stage: Stage, home: str) -> None:
    reader = stage.consume(home, "sub/billing/board")
    stage.receive(home, Moved("sub/billing/board", None, int(Code.NOT_READY), "taking over"))
    for _ in range(2):
        stage.sleep(1 * SECOND)
        refuse(stage, home, "sub/billing/board", Code.IN_USE)
        assert reader.error is None
    stage.now += CONTEST
    stage.receive(home, Pong(1))
    stage.sleep(1 * SECOND)
    refuse(stage, home, "sub/billing/board", Code.IN_USE)
    assert isinstance(reader.error, Refused)


def test_overflowed_subscription_still_shows_what_had_arrived(stage: Stage, home: str) -> None:
    reader = stage.consume(home, "sub/billing/board")
    stage.deliver(home, reader, 1, 1, 2)
    refuse(stage, home, "sub/billing/board", Code.OVERFLOWED)
    shown = stage.shown(reader)
    assert [message.body for message in shown] == [b"1", b"2"]
    stage.take_sent()
    stage.session.accept(shown[0]._lot, 0, 1)
    stage.turn()
    assert stage.said(Settle) == []
    assert stage.session.idle


def test_consumer_that_ends_does_not_wait_to_settle_in_a_mailbox_that_is_gone(stage: Stage, home: str) -> None:
    reader = stage.consume(home, "sub/billing/board")
    stage.deliver(home, reader, 1, 1)
    (message,) = stage.shown(reader)
    stage.session.accept(message._lot, 0, 0)
    stage.session.detach(reader)
    stage.turn()
    assert not stage.session.idle
    refuse(stage, home, "sub/billing/board", Code.NO_MAILBOX)
    assert stage.session.idle
    assert reader.error is None


def test_mailbox_that_another_broker_does_not_know_yet_is_asked_for_again(stage: Stage, home: str) -> None:
    reader = stage.session.attach(stage.session.private_mailbox(), 10)
    stage.turn()
    stage.take_sent()
    refuse(stage, home, reader.mailbox, Code.NO_MAILBOX)
    stage.sleep(1 * SECOND)
    assert stage.said(Attach)


# Ends -----------------------------------------------------------------------------------------------------------
def test_mailbox_is_ended_by_its_owner(stage: Stage, home: str) -> None:
    inquiry = stage.session.end_mailbox("sub/billing/board")
    stage.turn()
    assert stage.session.ending
    (first,) = stage.said(EndMailbox, home)
    assert first.mailbox == "twin/sub/billing/board"
    stage.receive(home, MailboxEnded(first.mailbox, first.token))
    assert stage.session.ending
    assert stage.outcomes(InquiryDone) == []
    stage.receive(home, Moved("sub/billing/board", peer("b3")))
    stage.open("b3")
    (asked,) = stage.said(EndMailbox, "b3")
    stage.receive("b3", MailboxEnded("sub/billing/board", asked.token))
    assert stage.outcomes(InquiryDone) == [InquiryDone(inquiry)]
    assert (inquiry.result, inquiry.error, stage.session.ending) == (True, None, False)


@pytest.mark.parametrize(("code", "fails"), [(Code.IN_USE, True), (Code.NO_MAILBOX, False)], ids=["in use", "gone"])
def test_owner_may_refuse_to_end_a_mailbox(stage: Stage, home: str, code: Code, fails: bool) -> None:
    inquiry = stage.session.end_mailbox("shared/board")
    stage.turn()
    refuse(stage, home, "shared/board", code)
    assert inquiry.done
    assert isinstance(inquiry.error, Refused) == fails


def test_who_ends_a_subscription_may_have_a_reader_of_it(stage: Stage, home: str) -> None:
    """The owner tells its readers first, over the same connection."""
    stage.consume(home, "shared/board")
    inquiry = stage.session.end_mailbox("shared/board")
    stage.turn()
    refuse(stage, home, "shared/board", Code.NO_MAILBOX)
    stage.receive(home, MailboxEnded("shared/board", inquiry.number))
    assert (inquiry.done, inquiry.result, inquiry.error) == (True, True, None)


def test_subscription_whose_twin_has_ended_was_there(stage: Stage, home: str) -> None:
    inquiry = stage.session.end_mailbox("sub/billing/board")
    stage.turn()
    for existed in (True, False):  # one of two that end it at once is late
        asked = stage.said(EndMailbox, home)[-1]
        stage.receive(home, MailboxEnded(asked.mailbox, asked.token, existed))
    assert (inquiry.done, inquiry.result) == (True, True)


def test_subscription_whose_twin_has_ended_was_there_also_if_its_readers_hear_of_the_end_first(
    stage: Stage, home: str
) -> None:
    inquiry = stage.session.end_mailbox("sub/billing/board")
    stage.turn()
    (first,) = stage.said(EndMailbox, home)
    stage.receive(home, MailboxEnded(first.mailbox, first.token))
    refuse(stage, home, "sub/billing/board", Code.NO_MAILBOX)
    assert (inquiry.done, inquiry.result) == (True, True)


def test_private_mailbox_ends_after_its_last_reader_settled(stage: Stage, home: str) -> None:
    mailbox = stage.session.private_mailbox()
    reader = stage.consume(home, mailbox)
    reader.ends = True
    stage.deliver(home, reader, 1, 1)
    (message,) = stage.shown(reader)
    stage.session.accept(message._lot, 0, 0)
    stage.session.detach(reader)
    stage.turn()
    assert stage.said(EndMailbox) == []
    stage.receive(home, Settled(mailbox, reader.number, ((1, 1),)))
    kinds = [type(send.head) for send in stage.sent if isinstance(send.head, Detach | EndMailbox)]
    assert kinds == [Detach, EndMailbox]


def test_private_mailboxes_have_names_of_their_own(stage: Stage, home: str) -> None:
    names = [stage.session.private_mailbox() for _ in range(2)]
    assert names == [f"billing/{number}~{INCARNATION:016x}" for number in (1, 2)]


def test_next_life_with_kept_state_uses_other_private_mailboxes() -> None:
    rows: dict[bytes, bytes] = {}
    names = []
    for _ in range(2):
        stage = Stage(rows, keep=True)
        stage.turn()
        stage.store()
        names.append(stage.session.private_mailbox())
    assert names == [f"billing/{life}.1~{INCARNATION:016x}" for life in (1, 2)]


def test_nothing_is_kept_of_a_private_mailbox_that_has_ended() -> None:
    rows: dict[bytes, bytes] = {}
    stage = Stage(rows, keep=True)
    stage.turn()
    stage.store()
    home = stage.open()
    reader = stage.consume(home, stage.session.private_mailbox())
    reader.ends = True
    stage.deliver(home, reader, 1, 1)
    (message,) = stage.shown(reader)
    stage.session.accept(message._lot, 0, 0)
    stage.turn()
    stage.store()
    assert [key[:1] for key in rows] == [b"i", b"s"]
    stage.receive(home, Settled(reader.mailbox, reader.number, ((1, 1),)))
    stage.session.detach(reader)
    stage.turn()
    stage.sleep(2 * SECOND)
    stage.store()
    assert [key[:1] for key in rows] == [b"i"]


def test_messages_that_a_selector_picked_keep_their_own_ids_and_places(stage: Stage, home: str) -> None:
    reader = stage.consume(home, "sub/billing/board")
    published = Published(SPEED, "radar", 0x1F, 1, 41, 100, ((1, 1), (3, 4)))
    head = Deliver("sub/billing/board", reader.number, 5, ITEM, 1, 2, 101, 3, 1, 4, 0, 0, 0, published)
    stage.receive(home, head, bodies.join([b"b", b"d", b"e"]))
    shown = [(m.body, m.message_id.number, m.offset) for m in stage.shown(reader)]
    assert shown == [(b"b", 42, 101), (b"d", 44, 103), (b"e", 45, 104)]
    assert published.without(2).picked == ((4, 4),)
