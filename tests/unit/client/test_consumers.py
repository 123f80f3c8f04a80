"""Receiving: attaching, following the mailbox, settling, and nothing shown twice."""

from __future__ import annotations

import pytest

from causeway.client.late import LATE
from causeway.client.outcomes import ConsumerAttached, MessagesArrived
from causeway.client.reader import MailReader
from causeway.core.messages import (
    Attach,
    Attached,
    Credit,
    Deliver,
    Detach,
    EndMailbox,
    MailboxEnded,
    Moved,
    Return,
    Settle,
    Settled,
)
from causeway.errors import Code, ConfigError, Refused
from causeway.types import MILLISECOND, SECOND, VOLATILE_FROM
from tests.unit.client.stage import Stage, peer

EXPRESS = 0


def settled(stage: Stage, broker: str | None = None) -> list[tuple[int, int]]:
    return [span for head in stage.said(Settle, broker) for span in head.spans]


# Attaching ------------------------------------------------------------------------------------------------------
def test_consumer_is_attached_at_home_and_known(stage: Stage, home: str) -> None:
    consumer = stage.consume(home, "orders", credit=50)
    assert stage.said(Attach, home) == [Attach("orders", consumer.number, 50)]
    assert stage.outcomes(ConsumerAttached)
    stage.sleep(900 * MILLISECOND)
    assert len(stage.said(Attach)) == 1


def test_broker_that_knows_no_windows_gives_the_whole_credit(stage: Stage, home: str) -> None:
    consumer = stage.session.attach("orders", None)
    stage.turn()
    assert stage.said(Attach, home) == [Attach("orders", consumer.number, 1024, window=16)]
    stage.receive(home, Attached("orders", consumer.number))
    stage.deliver(home, consumer, 1, 1, 16)
    assert len(stage.shown(consumer)) == 16
    stage.shown(consumer)
    stage.turn()
    assert stage.said(Credit) == []


def sharing(stage: Stage, home: str) -> MailReader:
    """A consumer that did not say how much it takes ahead."""
    consumer = stage.session.attach("orders", None)
    stage.turn()
    stage.receive(home, Attached("orders", consumer.number, window=16))
    return consumer


def use_window(stage: Stage, home: str, consumer: MailReader, first: int, seconds: float = 0) -> list[int]:
    """As many messages as its window holds come, are handed out, acknowledged and waited for again; what it asked."""
    stage.deliver(home, consumer, first, first, consumer.window)
    for message in stage.shown(consumer):
        stage.session.accept(message._lot, message._index, message._index)
    if seconds:
        stage.sleep(round(seconds * SECOND))
    stage.shown(consumer)
    stage.turn()
    asked = [head.credit for head in stage.said(Credit, home)]
    stage.take_sent()
    return asked


def test_window_doubles_for_who_took_it_at_once_and_waits(stage: Stage, home: str) -> None:
    consumer, first, asked = sharing(stage, home), 1, list[int]()
    for _ in range(8):
        used = consumer.window
        asked += use_window(stage, home, consumer, first)
        first += used
    assert asked == [32, 64, 128, 256, 512, 1024]


def test_window_stays_for_who_takes_it_slowly(stage: Stage, home: str) -> None:
    consumer = sharing(stage, home)
    assert use_window(stage, home, consumer, 1) == [32]
    assert use_window(stage, home, consumer, 17, seconds=1.5) == []
    assert use_window(stage, home, consumer, 49) == [64], "it has become quick"


def test_window_stays_for_who_waits_for_the_sender(stage: Stage, home: str) -> None:
    consumer = sharing(stage, home)
    for number in range(1, 16):
        stage.deliver(home, consumer, number, number)
        (message,) = stage.shown(consumer)
        stage.session.accept(message._lot, message._index, message._index)
        stage.shown(consumer)
        stage.turn()
    assert stage.said(Credit) == []


def test_window_doubles_for_who_holds_all_of_it_however_slowly(stage: Stage, home: str) -> None:
    consumer, first = sharing(stage, home), 1
    for window in (16, 32, 64):
        stage.deliver(home, consumer, first, first, window - first + 1)
        first = window + 1
        stage.shown(consumer)
        stage.sleep(1500 * MILLISECOND)
        stage.shown(consumer)
        stage.turn()
    assert [head.credit for head in stage.said(Credit)] == [32, 64, 128]


def test_consumer_made_before_the_first_connection_is_attached_by_it(stage: Stage) -> None:
    stage.session.attach("orders", 10)
    stage.turn()
    stage.open()
    assert len(stage.said(Attach)) == 1


def test_consumer_follows_the_mailbox_to_its_owner_over_a_shared_link(stage: Stage, home: str) -> None:
    first, second = stage.session.attach("orders", 10), stage.session.attach("orders", 10)
    stage.turn()
    stage.receive(home, Moved("orders", peer("b9")))
    assert [dial.host for dial in stage.dials.values()] == ["b9"]
    stage.open("b9")
    assert [head.consumer for head in stage.said(Attach, "b9")] == [first.number, second.number]


def test_consumer_that_was_served_says_so_when_it_asks_elsewhere(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.receive(home, Moved("orders", None, int(Code.NOT_OWNER), "the mailbox has moved"))
    stage.sleep(SECOND)
    assert [attach.again for attach in stage.said(Attach, home)] == [False, True]
    assert {attach.consumer for attach in stage.said(Attach, home)} == {consumer.number}


def test_session_that_is_closed_gives_back_what_it_holds_before_it_says_goodbye(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.session.close()
    stage.turn()
    assert stage.said(Detach) == [Detach("orders", consumer.number)]


def test_consumer_asks_again_soon_while_nobody_owns_the_mailbox(stage: Stage, home: str) -> None:
    consumer = stage.session.attach("orders", 10)
    stage.turn()
    for _ in range(5):
        stage.take_sent()
        stage.receive(home, Moved("orders", None, int(Code.NO_QUORUM), "two copies are missing"))
        assert stage.said(Attach) == []
        stage.sleep(200 * MILLISECOND)
        assert len(stage.said(Attach, home)) == 1
    assert consumer.trouble == "two copies are missing"


def test_consumer_asks_at_home_again_when_the_owner_cannot_be_reached(stage: Stage, home: str) -> None:
    stage.session.attach("orders", 10)
    stage.turn()
    stage.receive(home, Moved("orders", peer("b9")))
    stage.take_sent()
    stage.refuse("b9")
    stage.sleep(200 * MILLISECOND)
    assert len(stage.said(Attach, home)) == 1


def test_consumer_survives_the_loss_of_its_broker(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.cut(home)
    other = stage.open()
    assert [head.consumer for head in stage.said(Attach, other)] == [consumer.number]


def test_mailbox_that_moves_later_is_followed(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 3)
    assert stage.bodies_shown(consumer, 1) == [b"1"]
    stage.receive(home, Moved("orders", peer("b9")))
    stage.open("b9")
    stage.receive("b9", Attached("orders", consumer.number))
    stage.deliver("b9", consumer, 10, 1, 3)
    assert stage.bodies_shown(consumer) == [b"2", b"3"]


def test_unanswered_attach_is_repeated(stage: Stage, home: str) -> None:
    stage.session.attach("orders", 10)
    stage.turn()
    for _ in range(6):
        stage.sleep(1 * SECOND)
        stage.receive(home, Attached("other", 99))
    assert len(stage.said(Attach, home)) == 2


def test_consumer_says_what_it_selects_and_that_it_is_to_be_alone(stage: Stage, home: str) -> None:
    consumer = stage.session.attach("orders", 10, selector="n > 1", exclusive=True)
    stage.turn()
    assert stage.said(Attach, home) == [Attach("orders", consumer.number, 10, "n > 1", True)]


@pytest.mark.parametrize("selector", ["n >", "", 7])
def test_bad_selector_is_refused_at_once(stage: Stage, selector: str) -> None:
    with pytest.raises(ConfigError, match="selector"):
        stage.session.attach("orders", 10, selector=selector)
    assert stage.said(Attach) == []


def test_a_refused_consumer_does_not_unsettle_the_one_that_keeps_it_out(
    stage: Stage, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causeway.client.reader.FORMER_LIFE", 0)
    first = stage.consume(home, "orders")
    second = stage.session.attach("orders", 10)
    stage.turn()
    stage.receive(home, Moved("orders", None, Code.IN_USE, "'app' (incarnation 1) consumes from this mailbox alone"))
    assert first.answered
    assert not second.answered
    assert isinstance(second.error, Refused)
    assert second.error.code == Code.IN_USE
    assert stage.said(Detach, home) == []


@pytest.mark.parametrize(("mailbox", "credit"), [("", 1), ("x" * 300, 1), ("orders", 0), ("orders", 10**9)])
def test_bad_consumer_is_refused(stage: Stage, mailbox: str, credit: int) -> None:
    with pytest.raises(ConfigError):
        stage.session.attach(mailbox, credit)


def test_settlement_that_came_too_late_is_not_said_again_and_not_taken_for_confirmed(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 3)
    for message in stage.shown(consumer):
        stage.session.accept(message._lot, message._index, message._index)
    stage.turn()
    stage.take_sent()
    stage.receive(home, Settled("orders", consumer.number, ((10, 10), (12, 12)), ((11, 11),)))
    assert not consumer.unconfirmed
    assert [number in consumer.dead for number in (10, 11, 12)] == [False, True, False]
    stage.sleep(60 * SECOND)
    assert stage.said(Settle) == []


# Delivering and settling ----------------------------------------------------------------------------------------
def test_messages_are_shown_in_order_and_settled_as_ranges(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 3)
    stage.deliver(home, consumer, 13, 4, 2)
    assert stage.outcomes(MessagesArrived)
    messages = stage.shown(consumer)
    assert [message.body for message in messages] == [b"1", b"2", b"3", b"4", b"5"]
    for message in messages:
        stage.session.accept(message._lot, message._index, message._index)
    stage.turn()
    assert stage.said(Settle) == [Settle("orders", consumer.number, ((10, 14),))]


def test_messages_can_be_settled_in_any_order(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 5)
    messages = stage.shown(consumer)
    for index in (4, 1, 3):
        stage.session.accept(messages[index]._lot, index, index)
    stage.turn()
    stage.session.accept(messages[0]._lot, 0, 0)
    stage.session.accept(messages[0]._lot, 2, 2)
    stage.turn()
    assert settled(stage) == [(11, 11), (13, 14), (10, 10), (12, 12)]


def test_cumulative_settlement_covers_every_earlier_message_of_the_consumer(stage: Stage, home: str) -> None:
    consumer, other = stage.consume(home), stage.consume(home, "other")
    stage.deliver(home, consumer, 10, 1, 3)
    stage.deliver(home, other, 10, 1, 1)
    stage.deliver(home, consumer, 20, 4, 3)
    messages = stage.shown(consumer)
    stage.shown(other)
    stage.session.accept_through(messages[4]._lot, messages[4]._index)
    stage.turn()
    assert settled(stage) == [(10, 12), (20, 21)]


def test_given_back_message_is_returned_and_shown_again_when_it_comes(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    messages = stage.shown(consumer)
    stage.session.give_back(messages[0]._lot, 0, 0)
    stage.session.accept(messages[1]._lot, 1, 1)
    stage.turn()
    assert stage.said(Return) == [Return("orders", consumer.number, ((10, 10),))]
    assert settled(stage) == [(11, 11)]
    stage.deliver(home, consumer, 10, 1, 2, deliveries=1)
    (again,) = stage.shown(consumer)
    assert (again.body, again.deliveries) == (b"1", 1)
    assert settled(stage) == [(11, 11), (11, 11)]


def test_broken_batch_costs_the_link_and_nothing_else(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.receive(home, Deliver("orders", consumer.number, 10, "shop", 5, 2, 1, 3, 1, 4, 0), b"garbage")
    assert len(stage.closes) == 1
    other = stage.open()
    assert stage.said(Attach, other)


def test_broker_we_left_that_still_delivers_is_told_to_give_the_messages_to_others(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.receive(home, Moved("orders", peer("b9")))
    assert stage.said(Detach, home) == [Detach("orders", consumer.number)]
    stage.deliver(home, consumer, 10, 1, 1)
    assert stage.bodies_shown(consumer) == []
    assert stage.said(Detach, home) == [Detach("orders", consumer.number)] * 2


def test_consumer_stays_when_somebody_asks_where_its_mailbox_is(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    inquiry = stage.session.find("orders")
    stage.turn()
    stage.receive(home, Moved("orders", peer(home)))
    assert inquiry.result == peer(home)
    assert stage.bodies_shown(consumer) == [b"1", b"2"]
    assert stage.said(Detach) == []


def test_broker_that_sent_us_away_and_serves_us_after_all_is_followed(stage: Stage, home: str) -> None:
    """It took the mailbox over while our question waited there."""
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    (message,) = stage.shown(consumer, 1)
    stage.receive(home, Moved("orders", peer("b9")))
    stage.session.accept(message._lot, 0, 0)
    stage.turn()
    stage.take_sent()
    stage.receive(home, Attached("orders", consumer.number))
    assert settled(stage, home) == [(10, 10)]
    stage.deliver(home, consumer, 10, 1, 2)
    assert stage.bodies_shown(consumer) == [b"2"]
    stage.open("b9")
    assert stage.said(Attach) == []


def test_second_broker_that_serves_a_consumer_is_told_to_stop(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.receive(home, Moved("orders", peer("b9")))
    stage.open("b9")
    stage.receive("b9", Attached("orders", consumer.number))
    stage.take_sent()
    stage.receive(home, Attached("orders", consumer.number))
    assert stage.said(Detach, home) == [Detach("orders", consumer.number)]
    assert stage.said(Detach, "b9") == []


def test_broker_that_serves_a_consumer_that_has_ended_is_told_to_stop(stage: Stage, home: str) -> None:
    stage.receive(home, Attached("orders", 77))
    stage.receive(home, Deliver("orders", 77, 10, "shop", 5, 2, 1, 1, 1, 4, 0), b"\0\0\0\0")
    assert stage.said(Detach, home) == [Detach("orders", 77)] * 2


# Nothing twice --------------------------------------------------------------------------------------------------
def test_accepted_message_that_comes_again_is_settled_and_not_shown(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    for message in stage.shown(consumer):
        stage.session.accept(message._lot, message._index, message._index)
    stage.turn()
    stage.take_sent()
    stage.deliver(home, consumer, 10, 1, 3)
    assert stage.bodies_shown(consumer) == [b"3"]
    assert settled(stage) == [(10, 11)]


def test_streams_are_told_apart_by_source_class_and_mailbox(stage: Stage, home: str) -> None:
    consumer, other = stage.consume(home), stage.consume(home, "other")
    stage.deliver(home, consumer, 10, 1, source="shop")
    stage.deliver(home, consumer, 11, 1, source="kiosk")
    stage.deliver(home, consumer, 12, 1, source="shop", stream=1)
    stage.deliver(home, other, 10, 1, source="shop")
    for one in (consumer, other):
        for message in stage.shown(one):
            stage.session.accept(message._lot, 0, 0)
    stage.turn()
    assert settled(stage) == [(10, 12), (10, 10)]


def test_settlements_are_repeated_on_reconnect_until_they_are_confirmed(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 4)
    messages = stage.shown(consumer)
    for message in messages[:3]:
        stage.session.accept(message._lot, message._index, message._index)
    stage.turn()
    stage.receive(home, Settled("orders", consumer.number, ((10, 10),)))
    stage.cut(home)
    stage.take_sent()
    other = stage.open()
    stage.receive(other, Attached("orders", consumer.number))
    kinds = [type(frame.head).__name__ for frame in stage.sent if frame.conn == stage.conns[other]]
    assert kinds == ["Hello", "Attach", "Settle"]
    assert settled(stage) == [(11, 12)]
    stage.receive(other, Settled("orders", consumer.number, ((11, 12),)))
    assert stage.session.idle


def test_unconfirmed_settlement_is_repeated_on_a_living_link(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    for _ in range(7):
        stage.sleep(1 * SECOND)
        stage.receive(home, Attached("other", 99))
    assert settled(stage) == [(10, 10), (10, 10)]
    assert len(stage.said(Attach)) == 1


def test_message_in_hand_is_not_shown_again_after_a_reconnect_and_settles_under_its_number(
    stage: Stage, home: str
) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 4)
    held = stage.shown(consumer, 2)
    stage.cut(home)
    other = stage.open()
    stage.receive(other, Attached("orders", consumer.number))
    stage.deliver(other, consumer, 10, 1, 4)
    assert stage.bodies_shown(consumer) == [b"3", b"4"]
    stage.take_sent()
    for message in held:
        stage.session.accept(message._lot, message._index, message._index)
    stage.turn()
    assert settled(stage) == [(10, 11)]


def test_message_settled_between_two_links_is_settled_at_the_next_owner(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    held = stage.shown(consumer)
    stage.cut(home)
    stage.session.accept(held[0]._lot, 0, 0)
    stage.turn()
    other = stage.open()
    assert settled(stage, other) == []
    stage.receive(other, Attached("orders", consumer.number))
    assert settled(stage, other) == [(10, 10)]
    stage.deliver(other, consumer, 10, 1, 2)
    assert stage.bodies_shown(consumer) == []
    assert settled(stage, other) == [(10, 10), (10, 10)]


def test_express_message_in_hand_settles_under_the_number_it_came_again_with(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, VOLATILE_FROM + 5, 1, 2, stream=EXPRESS)
    held = stage.shown(consumer)
    stage.cut(home)
    other = stage.open()
    stage.receive(other, Attached("orders", consumer.number))
    stage.deliver(other, consumer, VOLATILE_FROM + 900, 1, 1, stream=EXPRESS)
    assert stage.bodies_shown(consumer) == []
    stage.take_sent()
    for message in held:
        stage.session.accept(message._lot, message._index, message._index)
    stage.turn()
    stage.turn(after=LATE)
    # The second one did not come again: its number died with its link.
    assert settled(stage) == [(VOLATILE_FROM + 900, VOLATILE_FROM + 900)]


def test_message_that_arrived_again_while_in_hand_is_given_back_under_its_new_number(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, VOLATILE_FROM + 5, 1, stream=EXPRESS)
    (held,) = stage.shown(consumer)
    stage.cut(home)
    other = stage.open()
    stage.receive(other, Attached("orders", consumer.number))
    stage.deliver(other, consumer, VOLATILE_FROM + 900, 1, stream=EXPRESS)
    assert stage.shown(consumer) == []
    stage.session.give_back(held._lot, held._index, held._index)
    stage.turn()
    assert stage.said(Return) == [Return("orders", consumer.number, ((VOLATILE_FROM + 900, VOLATILE_FROM + 900),))]


def test_express_settlements_are_never_repeated(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, VOLATILE_FROM, 1, stream=EXPRESS)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    stage.turn()
    stage.cut(home)
    stage.take_sent()
    stage.open()
    assert settled(stage) == []
    assert stage.session.idle


def test_message_queued_and_not_handed_out_is_dropped_with_its_link(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    stage.cut(home)
    assert stage.bodies_shown(consumer) == []
    other = stage.open()
    stage.receive(other, Attached("orders", consumer.number))
    # The first one went to a competitor meanwhile.
    stage.deliver(other, consumer, 11, 2, 1)
    assert stage.bodies_shown(consumer) == [b"2"]


def test_message_in_one_consumers_hands_is_not_shown_to_another_of_the_same_session(stage: Stage, home: str) -> None:
    first, second = stage.consume(home), stage.consume(home)
    stage.deliver(home, first, 10, 1)
    (message,) = stage.shown(first)
    stage.deliver(home, second, 10, 1)
    assert stage.bodies_shown(second) == []
    stage.session.accept(message._lot, 0, 0)
    stage.turn()
    assert sorted(head.consumer for head in stage.said(Settle)) == [first.number, second.number]


def test_message_of_an_ended_consumer_is_shown_to_the_next_one(stage: Stage, home: str) -> None:
    first, second = stage.consume(home), stage.consume(home)
    stage.deliver(home, first, 10, 1)
    stage.shown(first)
    stage.session.detach(first)
    stage.turn()
    assert stage.said(Detach) == [Detach("orders", first.number)]
    stage.deliver(home, second, 10, 1)
    assert stage.bodies_shown(second) == [b"1"]


def test_accepted_ids_are_bounded_and_the_oldest_are_forgotten(
    stage: Stage, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causeway.client.seen.SEEN_RANGES_MAX", 3)
    consumer = stage.consume(home)
    for number in range(1, 11, 2):
        stage.deliver(home, consumer, number, number)
        (message,) = stage.shown(consumer)
        stage.session.accept(message._lot, 0, 0)
        stage.turn()
    stage.deliver(home, consumer, 9, 9)
    assert stage.bodies_shown(consumer) == []
    stage.deliver(home, consumer, 1, 1)
    assert stage.bodies_shown(consumer) == [b"1"]


def test_remembered_streams_are_bounded(stage: Stage, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.client.seen.STREAMS_SEEN_MAX", 4)
    consumer = stage.consume(home)
    for number in range(1, 20):
        stage.deliver(home, consumer, number, 1, source=f"s{number}")
        (message,) = stage.shown(consumer)
        stage.session.accept(message._lot, 0, 0)
        stage.turn()
    stage.deliver(home, consumer, 19, 1, source="s19")
    assert stage.bodies_shown(consumer) == []
    assert len(stage.session._consumers.seen._streams["orders"]) <= 4


# Ending ---------------------------------------------------------------------------------------------------------
def test_ended_consumer_is_detached_once_its_settlements_are_confirmed(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    stage.session.detach(consumer)
    stage.turn()
    assert settled(stage) == [(10, 10)]
    assert stage.said(Detach) == []
    stage.receive(home, Settled("orders", consumer.number, ((10, 10),)))
    assert stage.said(Detach) == [Detach("orders", consumer.number)]
    assert stage.session.consumers() == []


def test_consumer_ended_while_its_link_is_lost_comes_back_only_to_settle(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    stage.session.detach(consumer)
    stage.turn()
    stage.cut(home)
    stage.take_sent()
    other = stage.open()
    assert stage.said(Attach) == []
    assert settled(stage, other) == [(10, 10)]
    stage.receive(other, Settled("orders", consumer.number, ((10, 10),)))
    assert stage.session.consumers() == []


def test_ended_consumer_has_nothing_to_settle_once_its_subscription_has_ended(stage: Stage, home: str) -> None:
    consumer = stage.consume(home, "sub/app/all")
    stage.deliver(home, consumer, 10, 1)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    stage.session.detach(consumer)
    stage.session.end_mailbox("sub/app/all")
    stage.turn()
    for mailbox in ("twin/sub/app/all", "sub/app/all"):
        asked = stage.said(EndMailbox)[-1]
        assert (asked.mailbox, stage.session.consumers()) == (mailbox, [consumer])
        stage.receive(home, MailboxEnded(mailbox, asked.token))
    assert stage.session.consumers() == [], "nobody could confirm it, and the next one of that name would misunderstand"


def test_ended_consumer_settles_in_a_mailbox_that_only_forgot_its_topics(stage: Stage, home: str) -> None:
    consumer = stage.consume(home, "orders")
    stage.deliver(home, consumer, 10, 1)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    stage.session.detach(consumer)
    stage.session.forget_topics("orders")
    stage.turn()
    (asked,) = stage.said(EndMailbox)
    stage.receive(home, MailboxEnded("orders", asked.token))
    assert stage.session.consumers() == [consumer], "the mailbox is still there, and would bring it again"


def test_consumer_ended_before_it_began_says_nothing(stage: Stage, home: str) -> None:
    consumer = stage.session.attach("orders", 10)
    stage.session.detach(consumer)
    stage.turn()
    assert stage.said(Attach) == []
    assert stage.session.consumers() == []


def test_ended_consumer_shows_nothing_more(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    stage.session.detach(consumer)
    stage.turn()
    assert stage.bodies_shown(consumer) == []
