"""Delayed messages: stored, acknowledged and seen like others, but nobody gets them before their time."""

from __future__ import annotations

import pytest

from causeway.core.mail.faults import deposit_fault
from causeway.core.mail.rows import TxId
from causeway.limits import TTL_NS_MAX
from causeway.types import SECOND
from tests.unit.core.mail import owned
from tests.unit.core.mail.postroom import (
    COMMITTED,
    EXPRESS,
    Postroom,
    body_of,
    deposit,
    ids,
    seen,
    transaction,
)


def test_a_delayed_message_comes_when_its_time_has_come_and_holds_nobody_up() -> None:
    room = Postroom()
    room.attach()
    room.stored(1, 2, delay=SECOND)
    room.stored(3)
    assert len(room.acknowledged) == 2, "stored is stored"
    assert ids(room.pump()) == [3]
    assert room.mailbox.next_delivery() == room.now + SECOND
    room.now += SECOND - 1
    assert room.pump() == []
    room.now += 1
    assert ids(room.pump()) == [1, 2]
    assert room.mailbox.next_delivery() is None


def test_delayed_messages_come_in_the_order_of_their_times() -> None:
    room = Postroom()
    room.attach()
    room.stored(1, delay=2 * SECOND)
    room.stored(2, delay=SECOND)
    room.now += SECOND
    assert ids(room.pump()) == [2]
    room.now += SECOND
    assert ids(room.pump()) == [1]


def test_a_delay_outlives_its_owner() -> None:
    room = Postroom()
    room.stored(1, delay=SECOND)
    room.now += SECOND // 2
    room.crash()
    room.attach()
    assert room.pump() == []
    room.now += SECOND // 2
    assert ids(room.pump()) == [1]


def test_a_new_owner_whose_clock_is_behind_still_takes_the_settlement() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, delay=SECOND)
    room.now += SECOND
    room.pump()
    room.crash()
    room.now -= SECOND
    room.settle((seq, seq))
    assert room.mailbox.empty()
    assert room.mailbox.next_delivery() is None


def test_a_delayed_message_expires_from_its_send_on() -> None:
    room = Postroom()
    room.attach()
    room.stored(1, delay=2 * SECOND, ttl=SECOND)
    assert room.mailbox.next_expiry() == room.now + SECOND
    room.now += SECOND
    assert [(piece.first, piece.last) for piece in room.expire().pieces] == [(1, 1)]
    room.now += SECOND
    assert room.pump() == []
    assert room.mailbox.empty()


def test_a_delayed_message_can_be_seen() -> None:
    room = Postroom()
    seq = room.stored(1, 2, delay=SECOND)
    assert seen(room.browse()) == [seq, seq + 1]


def test_a_transaction_may_send_later() -> None:
    room = Postroom()
    room.attach()
    head = deposit(1, 2, stream=COMMITTED, delay=SECOND)
    room.prepare(transaction(sends=[head]), body_of(head))
    room.crash(arrived=1)
    room.attach()
    room.now += SECOND // 2
    room.decide(TxId("a", 1, 1, 1), True)
    room.commit()
    assert room.pump() == []
    room.now += SECOND // 2
    assert ids(room.pump()) == [1, 2]


def test_a_lock_on_a_delayed_message_that_is_given_up_does_not_make_it_early() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, delay=SECOND)
    room.prepare(transaction(settles=[(seq, seq)]))
    room.commit()
    room.decide(TxId("a", 1, 1, 1), False)
    room.commit()
    assert room.pump() == []
    room.now += SECOND
    assert ids(room.pump()) == [1]


def test_what_is_delayed_goes_no_short_way() -> None:
    room = Postroom()
    room.attach()
    room.hold(deposit(1, stream=EXPRESS, flags=0))
    room.pump()
    assert room.relay(deposit(2, stream=EXPRESS, flags=0, delay=1)) is None
    assert room.relay(deposit(2, stream=EXPRESS, flags=0)) is not None
    room.hold(deposit(3, stream=EXPRESS, flags=0, delay=SECOND))
    assert room.pump() == []
    room.now += SECOND
    assert ids(room.pump()) == [3]


def test_timers_of_settled_batches_are_not_kept() -> None:
    room = Postroom()
    for first in range(1, 1001):
        seq = room.stored(first, delay=1000 * SECOND)
        room.settle((seq, seq))
    assert room.mailbox.next_delivery() is None
    assert len(room.mailbox._contents.delays) < 200


def test_messages_behind_a_window_of_delayed_ones_are_reached_up_to_a_bound() -> None:
    room = Postroom(window_bytes=3000)
    room.attach()
    for first in range(1, 8):
        room.stored(first, delay=SECOND)
    room.stored(8)
    room.page()
    assert ids(room.pump()) == [8]
    assert not room.mailbox.statistics().starved
    for first in range(9, 40):
        room.stored(first, delay=SECOND)
    room.stored(40)
    room.page()
    assert room.pump() == []
    assert room.mailbox.statistics().starved, "so that somebody can see why"
    assert room.mailbox.statistics().memory_bytes < 6 * 3000
    room.now += SECOND
    got = []
    while more := room.pump():
        got += ids(more)
        room.settle(*((head.seq, head.seq + head.count - 1) for head in more))
        room.page()
    assert got == [first for first in range(1, 41) if first != 8]


@pytest.mark.parametrize(("delay", "good"), [(-1, False), (0, True), (TTL_NS_MAX, True), (TTL_NS_MAX + 1, False)])
def test_a_delay_has_bounds(delay: int, good: bool) -> None:
    head = deposit(1, delay=delay)
    fault = deposit_fault(head, body_of(head))
    assert fault is None if good else fault is not None and fault.startswith(f"delay={delay}:")


# At the office --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("durability", ["disk", "memory"])
def test_the_office_wakes_up_for_a_delayed_message(durability: str) -> None:
    stage = owned.Stage(durability=durability)
    owned.attach(stage.office)
    stage.deposit(deposit(1, delay=SECOND), now=5)
    assert owned.delivered(stage.commit(5)) == []
    turn = stage.fire()
    assert turn.now == SECOND + 5
    assert owned.delivered(turn) == [1]


def test_a_delivery_says_when_a_message_was_taken_and_when_it_ends() -> None:
    room = Postroom()
    room.attach()
    room.stored(1, ttl=SECOND)
    (head,) = room.pump()
    assert (head.at, head.expires) == (room.now, room.now + SECOND)
    room.stored(2)
    room.now += 1
    (head,) = room.pump()
    assert (head.at, head.expires) == (room.now - 1, 0)
