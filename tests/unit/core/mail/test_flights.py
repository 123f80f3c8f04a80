"""Express messages on the short way: nobody can tell them from those on the ordinary one."""

from __future__ import annotations

import pytest

from causeway.core.mail.browser import BrowseRange
from causeway.core.messages import Deliver
from causeway.types import VOLATILE_FROM, Flag
from tests.unit.core.mail.postroom import EXPRESS, Postroom, body_of, deposit, seen, transaction


def express(first: int, count: int = 1, **fields: object) -> object:
    return deposit(first, count, stream=EXPRESS, flags=0, **fields)


@pytest.fixture
def room() -> Postroom:
    """A consumer that has had one message the ordinary way: its sender is known."""
    room = Postroom()
    room.attach(credit=4)
    room.hold(express(1))
    (first,) = room.pump()
    room.settle((first.seq, first.seq))
    return room


def relay(room: Postroom, first: int, count: int = 1) -> Deliver:
    found = room.relay(express(first, count))
    assert found is not None
    conn, head = found
    assert conn == 2
    return head


def test_the_next_batch_of_a_known_sender_goes_to_the_only_consumer_at_once(room: Postroom) -> None:
    head = relay(room, 2, 3)
    assert (head.seq, head.first, head.count, head.flags) == (VOLATILE_FROM + 1, 2, 3, 0)
    assert room.pump() == []
    assert room.mailbox.statistics().unsettled == 3
    assert room.settle((head.seq, head.seq + 2)).writes == []
    assert room.mailbox.empty()
    assert room.mailbox.statistics().volatile_bytes == 0


def test_each_reason_for_the_ordinary_way(room: Postroom) -> None:
    assert room.relay(express(1)) is None, "seen before"
    assert room.relay(express(2, 5)) is None, "more than its credit"
    assert room.relay(express(2, ttl=5)) is None, "somebody must watch its time"
    assert room.relay(deposit(2, stream=EXPRESS)) is None, "its sender waits for an answer"
    assert room.relay(express(1, source="stranger")) is None, "nothing was seen of its sender"
    assert room.mailbox.relay(express(2), body_of(express(2)), room.now, lambda conn: True) is None, "clogged"
    room.attach(conn=4)
    assert room.relay(express(2)) is None, "two consumers share"
    room.detach(conn=4)
    room.detach()
    assert room.relay(express(2)) is None, "nobody is there"
    room.hold(express(2))
    room.attach()
    assert room.relay(express(3)) is None, "something waits before it"


def test_no_way_past_the_bound_of_memory_or_what_lies_on_disk(room: Postroom) -> None:
    small = Postroom(volatile_bytes_max=100)
    small.attach(credit=100)
    small.hold(express(1))
    small.pump()
    assert small.relay(express(2), size=200) is None, "memory is full"
    room.hold(express(1, source="other"))
    room.pump()
    assert room.relay(express(2)) is None, "somebody else sent last"
    room.hold(express(2))
    room.pump()
    assert room.relay(express(3)) is not None


def test_overlapping_spans_settle_once(room: Postroom) -> None:
    one, two = relay(room, 2).seq, relay(room, 3, 2).seq
    room.settle((one, one), (one, one), (two, two + 1), (two + 1, two + 1))
    assert room.mailbox.empty()
    assert room.mailbox.statistics().unsettled == 0


def test_duplicates_of_relayed_messages_are_known(room: Postroom) -> None:
    relay(room, 2, 3)
    assert room.hold(express(3)) == 0
    assert room.relay(express(3)) is None


def test_what_a_lost_consumer_had_goes_to_the_next_one(room: Postroom) -> None:
    sent = relay(room, 2, 2)
    room.detach()
    room.attach(conn=4)
    (again,) = room.pump()
    assert (again.seq, again.first, again.count, again.deliveries) == (sent.seq, 2, 2, 0)
    assert again.flags & Flag.REDELIVERED


def test_given_back_and_settled_in_part(room: Postroom) -> None:
    sent = relay(room, 2, 3)
    room.give_back((sent.seq + 1, sent.seq + 1))
    room.settle((sent.seq, sent.seq))
    (again,) = room.pump()
    assert (again.seq, again.count, again.deliveries) == (sent.seq + 1, 1, 1)
    room.settle((sent.seq, sent.seq + 2))
    assert room.mailbox.empty()


def test_seen_by_browsers_and_locked_by_transactions(room: Postroom) -> None:
    sent = relay(room, 2)
    assert seen(room.mailbox.browser.browse(BrowseRange(-1, 10), room.now).shown) == [sent.seq]
    other = relay(room, 3)
    assert room.mailbox.participant.obstacle(transaction(settles=[(other.seq, other.seq)]), 0) is None
    room.prepare(transaction(settles=[(other.seq, other.seq)]))
    assert room.settle((other.seq, other.seq)).locked == [(other.seq, other.seq)]


def test_settling_what_is_not_there_changes_nothing(room: Postroom) -> None:
    sent = relay(room, 2)
    room.settle((sent.seq + 1, sent.seq + 5), (VOLATILE_FROM, VOLATILE_FROM))
    assert room.mailbox.statistics().unsettled == 1
    room.settle((VOLATILE_FROM, sent.seq + 5))
    assert room.mailbox.empty()
