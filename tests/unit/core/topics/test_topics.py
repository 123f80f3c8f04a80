"""Topics as the desk knows them: which part a message is for, who is served, and when something is due."""

from __future__ import annotations

from causeway.core.machine import Turn
from causeway.core.messages import Accepted, Attached, Deliver, Deposit, Interest, Register, Registered, Settle
from causeway.core.topics.publishing import PATIENCE
from causeway.types import SECOND, key_of
from tests.unit.core.mail.neighbours import OTHER
from tests.unit.core.topics.newsroom import AWAY, CONN, ITEM, WATCH, Newsroom, bodies, publication


def test_message_goes_all_the_way_when_one_broker_owns_everything() -> None:
    room = Newsroom()
    room.own(ITEM)
    room.own(WATCH)
    room.subscribe()
    room.commit()
    assert len(room.heard(Attached)) == 1
    room.client(publication(1, 2), bodies(2))
    room.commit()
    assert [(head.first, head.unwanted) for head in room.heard(Accepted)] == [(1, False)]
    (delivery,) = room.heard(Deliver)
    assert (delivery.mailbox, delivery.source, delivery.count) == (WATCH, ITEM, 2)
    assert delivery.published is not None
    assert delivery.published.source == "app"
    room.commit()
    assert room.kept(ITEM, b"b") == []
    room.client(Settle(WATCH, 1, ((delivery.seq, delivery.seq + 1),)))
    room.commit()
    assert room.kept(WATCH, b"b") == []


def test_reader_that_cannot_be_served_now_is_served_when_we_may_write() -> None:
    room = Newsroom()
    key = room.own(WATCH)
    room.groups.know(ITEM, OTHER)
    room.subscribe()
    room.commit()
    room.answer_all(room.sent(Register))
    room.commit()
    room.heard(Attached)
    wanted = Interest("roads/#", "JMSPriority > 1")
    room.subscribe(wanted)
    room.commit()
    (head,) = room.sent(Register)
    room.groups.mine[key] = False
    room.answer_all([head])
    assert room.heard(Attached) == [], "it reads already: what it holds must be given back first"
    room.groups.mine[key] = True
    room.pass_time(SECOND)
    room.commit()
    assert len(room.heard(Attached)) == 1


def test_item_waits_until_it_may_be_written() -> None:
    room = Newsroom()
    key = room.own(ITEM)
    room.register()
    room.publish(1)
    (head,) = room.sent(Deposit)
    room.groups.mine[key] = False
    room.accept(head)
    room.broker(Register(ITEM, AWAY, 2, None, OTHER.id))
    assert room.sent(Registered) == []
    room.groups.mine[key] = True
    room.pass_time(SECOND)
    room.commit()
    assert len(room.sent(Registered)) == 1
    assert room.kept(ITEM, b"b") == []


def test_mailbox_that_is_lost_is_neither_item_nor_subscription() -> None:
    room = Newsroom()
    room.own(ITEM)
    room.own(WATCH)
    room.subscribe()
    room.commit()
    room.lose(ITEM)
    room.lose(WATCH)
    assert room.topics.statistics()["items"] == 0
    assert room.topics._subscriptions.all == {}
    assert room.topics._leases._outlooks == {}


def test_next_deadline_is_the_earliest_of_all_parts() -> None:
    room = Newsroom()
    room.groups.know(ITEM, OTHER)
    assert room.topics.next_deadline() is None
    room.client(publication(1), bodies())
    assert room.topics.next_deadline() == room.now + PATIENCE
    room.own(WATCH)
    room.subscribe()
    room.commit()
    due = room.topics.next_deadline()
    assert due is not None
    assert due <= room.now + PATIENCE


def test_client_that_is_gone_is_forgotten() -> None:
    room = Newsroom()
    room.groups.know(ITEM, OTHER)
    room.client(publication(1), bodies())
    turn = Turn(room.now)
    room.desk.on_client_gone(turn, CONN)
    room.end(turn)
    room.pass_time(SECOND)
    assert room.sent(Deposit) == []
    assert key_of(ITEM) not in room.groups.mine
