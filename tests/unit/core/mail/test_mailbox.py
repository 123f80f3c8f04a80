"""Consumers and a mailbox: order, credit, settlement, returns, dead letters, expiry, browsing."""

from __future__ import annotations

from causeway.core.mail.answers import Returned
from causeway.core.mail.consumers import ALONE_MAX, SUSPECT
from causeway.types import SECOND, VOLATILE_FROM, Flag
from causeway.wire.body import split
from tests.unit.core.mail.postroom import (
    CONFIRM,
    EXPRESS,
    RELIABLE,
    TRANSACTIONAL,
    Postroom,
    deposit,
    ids,
    never,
    numbers,
    payload,
)


# Delivery -------------------------------------------------------------------------------------------------------
def test_whole_batch_goes_out_as_it_came_in() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 5, priority=7)
    ((conn, head, body),) = room.mailbox.pump(room.now, never)
    assert conn == 2
    assert (head.seq, head.first, head.count, head.priority, head.deliveries) == (seq, 1, 5, 7, 0)
    assert head.flags == RELIABLE
    assert split(body, 5) == [payload("a", 1, n) for n in range(1, 6)]
    assert room.pump() == []


def test_credit_is_never_exceeded_and_comes_back_with_settlement() -> None:
    room = Postroom()
    room.attach(credit=3)
    seq = room.stored(1, 5)
    assert ids(room.pump()) == [1, 2, 3]
    assert room.pump() == []
    room.settle((seq + 1, seq + 1))
    assert ids(room.pump()) == [4]
    room.settle((seq, seq + 3))
    assert ids(room.pump()) == [5]


def test_higher_priority_is_delivered_first_in_the_window() -> None:
    room = Postroom()
    for first, priority in ((1, 0), (2, 4), (3, 9), (4, 4)):
        room.stored(first, priority=priority)
    room.attach(credit=2)
    assert ids(room.pump()) == [3, 2]
    room.stored(5, priority=5)
    room.attach(credit=10)
    assert ids(room.pump()) == [5, 4, 1]


def test_clogged_connection_gets_nothing() -> None:
    room = Postroom()
    room.attach(2)
    room.stored(1)
    assert room.mailbox.pump(room.now, lambda conn: True) == []
    assert ids(room.pump()) == [1]


def test_consumers_share_a_single_batch() -> None:
    room = Postroom()
    for conn in (2, 4, 6):
        room.attach(conn)
    room.stored(1, 10)
    assert [(conn, head.count) for conn, head in room.pump_to()] == [(2, 4), (4, 2), (6, 2), (2, 1), (4, 1)]


def test_consumers_take_whole_batches_in_turn_when_there_are_enough() -> None:
    room = Postroom()
    for conn in (2, 4):
        room.attach(conn)
    for first in (1, 11, 21, 31):
        room.stored(first, 10)
    sent = room.pump_to()
    assert [(conn, head.count) for conn, head in sent[:3]] == [(2, 10), (4, 10), (2, 10)]
    assert sorted(ids([head for _, head in sent])) == list(range(1, 41))


def test_turns_go_on_across_pumps() -> None:
    room = Postroom()
    for conn in (2, 4):
        room.attach(conn)
    served = []
    for first in range(1, 5):
        room.stored(first)
        served += [conn for conn, _ in room.pump_to()]
    assert served == [2, 4, 2, 4]


def test_several_consumers_on_one_connection_are_told_apart() -> None:
    room = Postroom()
    room.attach(2, 1, 1)
    room.attach(2, 2, 1)
    room.stored(1, 3)
    assert [head.consumer for head in room.pump()] == [1, 2]
    assert room.mailbox.consumers() == [(2, 1), (2, 2)]
    room.append(room.mailbox.lose(2).writes)
    assert room.mailbox.consumers() == []
    assert room.mailbox.statistics().unsettled == 0


# Settlement -----------------------------------------------------------------------------------------------------
def test_settled_batch_leaves_no_rows_but_what_was_seen() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 5)
    room.pump()
    room.settle((seq, seq + 4))
    room.commit()
    assert {key[:1] for key in room.rows} == {b"s"}
    assert room.mailbox.empty()


def test_partly_settled_batch_comes_back_without_the_settled_part_after_a_crash() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 10)
    room.pump()
    room.settle((seq + 2, seq + 3), (seq + 7, seq + 7))
    room.commit()
    room.crash()
    room.attach()
    heads = room.pump()
    assert ids(heads) == [1, 2, 5, 6, 7, 9, 10]
    assert numbers(heads) == [seq + n for n in (0, 1, 4, 5, 6, 8, 9)]
    assert all(head.flags & Flag.REDELIVERED for head in heads)
    room.settle((seq, seq + 9))
    room.commit()
    assert {key[:1] for key in room.rows} == {b"s"}


def test_settlement_is_idempotent_and_ignores_what_it_does_not_know() -> None:
    room = Postroom()
    room.attach(credit=4)
    seq = room.stored(1, 4)
    room.pump()
    assert room.settle((seq, seq + 1)).writes
    for span in ((seq, seq + 1), (seq + 100, seq + 200), (5, 3), (-7, -1), (VOLATILE_FROM, VOLATILE_FROM + 9)):
        assert room.settle(span).writes == []
    assert room.mailbox.statistics().unsettled == 2
    room.stored(5, 4)
    assert ids(room.pump()) == [5, 6]


def test_a_huge_span_settles_everything_once() -> None:
    room = Postroom()
    room.attach()
    for first in (1, 4, 7):
        room.stored(first, 3)
    room.hold(deposit(1, 3, stream=EXPRESS))
    room.pump()
    room.settle((0, (1 << 64) - 1))
    assert room.mailbox.statistics().stored_count == 0
    assert room.mailbox.statistics().volatile_count == 3
    room.settle((VOLATILE_FROM, (1 << 64) - 1))
    assert room.mailbox.empty()
    assert room.mailbox.statistics().unsettled == 0


def test_settlement_sent_again_after_a_takeover_still_counts() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 5)
    room.pump()
    room.crash()
    room.attach(4)
    room.settle((seq + 1, seq + 2), conn=4)
    assert ids(room.pump()) == [1, 4, 5]


def test_settlement_by_a_former_holder_frees_the_credit_of_the_present_one() -> None:
    room = Postroom()
    room.attach(2)
    seq = room.stored(1, 2)
    room.pump()
    room.detach(2)
    room.attach(4, credit=2)
    room.pump()
    room.settle((seq, seq + 1), conn=2)
    assert room.mailbox.statistics().unsettled == 0
    room.stored(3, 2)
    assert ids(room.pump()) == [3, 4]


def test_adjacent_rows_go_in_one_deletion() -> None:
    room = Postroom()
    room.attach()
    for first in range(1, 6):
        room.send(deposit(first))
    room.commit()
    heads = room.pump()
    settlement = room.settle(*((head.seq, head.seq) for head in heads))
    assert len(settlement.writes) == 1
    room.commit()
    assert {key[:1] for key in room.rows} == {b"s"}


def test_all_that_is_settled_is_reported_with_what_its_sender_asked_for() -> None:
    room = Postroom()
    room.attach()
    quiet = room.stored(1, 2)
    asked = room.stored(3, 3, flags=RELIABLE | CONFIRM)
    express = room.hold(deposit(1, 2, stream=EXPRESS))
    silent = room.hold(deposit(3, 2, stream=EXPRESS, flags=0))
    assert express is not None
    assert silent is not None
    room.pump()
    assert [piece.flags for piece in room.settle((quiet, quiet + 1), (silent, silent + 1)).confirm] == [RELIABLE, 0]
    (piece,) = room.settle((asked, asked + 1)).confirm
    assert (piece.source, piece.first, piece.last, piece.stored, piece.seq) == ("a", 3, 4, True, asked)
    (piece,) = room.settle((express, express + 1)).confirm
    assert (piece.stream, piece.first, piece.last, piece.stored) == (EXPRESS, 1, 2, False)
    assert piece.origin == deposit(1).origin


# Returns --------------------------------------------------------------------------------------------------------
def test_returned_messages_come_back_in_front_and_in_order() -> None:
    room = Postroom()
    room.attach(credit=6)
    seq = room.stored(1, 4)
    room.stored(5, 4)
    assert ids(room.pump()) == [1, 2, 3, 4, 5, 6]
    room.give_back((seq + 4, seq + 5), (seq + 1, seq + 2))
    heads = room.pump()
    assert ids(heads) == [2, 3, 5, 6]
    assert all(head.deliveries == 1 and head.flags & Flag.REDELIVERED for head in heads)


def test_only_the_holder_can_give_back() -> None:
    room = Postroom()
    room.attach(2)
    room.attach(4)
    seq = room.stored(1, 2)
    assert [conn for conn, _ in room.pump_to()] == [2, 4]
    assert room.give_back((seq, seq + 1), conn=2, consumer=9).writes == []
    room.give_back((seq, seq + 1), conn=4)
    assert [(conn, head.first) for conn, head in room.pump_to()] == [(2, 2)]
    room.append(room.mailbox.lose(2).writes)
    assert [(conn, head.first) for conn, head in room.pump_to()] == [(4, 1), (4, 2)]


def test_what_a_vanished_consumer_held_comes_again_and_is_not_counted() -> None:
    room = Postroom()
    room.attach(credit=2)
    room.stored(1, 3)
    room.pump()
    room.detach()
    room.commit()
    room.crash()
    room.attach()
    (head,) = room.pump()
    assert (head.first, head.count, head.deliveries) == (1, 3, 0)
    assert head.flags & Flag.REDELIVERED


def test_detaching_who_never_attached_changes_nothing() -> None:
    room = Postroom()
    room.stored(1)
    assert room.mailbox.detach(2, 1) == []
    assert room.mailbox.lose(2).writes == []


def test_message_given_back_too_often_is_condemned_and_reserved_until_it_is_buried() -> None:
    room = Postroom(deliveries_max=2)
    room.attach()
    seq = room.stored(1, 3)
    room.pump()
    assert room.give_back((seq, seq + 2)).dead == []
    room.pump()
    (dead,) = room.give_back((seq + 1, seq + 1)).dead
    assert (dead.seq, dead.first, dead.count) == (seq + 1, 2, 1)
    assert split(dead.body, 1) == [payload("a", 1, 2)]
    assert room.pump() == []
    assert room.settle((seq + 1, seq + 1)).writes == []
    assert room.mailbox.settle_numbers([(seq, seq)]).writes == []
    room.commit()
    room.crash()
    assert [batch.first for batch in room.mailbox.condemned()] == [2]
    room.attach()
    assert ids(room.pump()) == [1, 3]
    room.append(room.mailbox.settle_numbers([(seq + 1, seq + 1)]).writes)
    room.settle((seq, seq), (seq + 2, seq + 2))
    room.commit()
    assert {key[:1] for key in room.rows} == {b"s", b"u"}


def test_vanishing_condemns_nothing_and_does_not_count() -> None:
    room = Postroom(deliveries_max=2)
    seq = room.stored(1)
    for _ in range(3):
        room.attach()
        room.pump()
        room.detach()
    room.attach()
    (head,) = room.pump()
    assert head.deliveries == 0
    assert head.flags & Flag.REDELIVERED
    assert room.give_back((seq, seq)).dead == []


def test_condemned_volatile_message_is_reported_when_buried() -> None:
    room = Postroom(deliveries_max=1)
    room.attach()
    number = room.hold(deposit(1))
    assert number is not None
    room.pump()
    (dead,) = room.give_back((number, number)).dead
    assert dead.seq == number
    settlement = room.mailbox.settle_numbers([(number, number)])
    assert [(p.first, p.stored) for p in settlement.confirm] == [(1, False)]
    assert room.mailbox.passing() is None


# Time -----------------------------------------------------------------------------------------------------------
def test_expired_messages_are_skipped_and_reported_once() -> None:
    room = Postroom()
    room.stored(1, 2, ttl=SECOND)
    room.stored(3)
    room.now += SECOND
    room.attach()
    assert ids(room.pump()) == [3]
    assert room.mailbox.next_expiry() == room.now
    expired = room.expire()
    assert [(p.first, p.last) for p in expired.pieces] == [(1, 2)]
    assert room.expire().pieces == []
    assert room.mailbox.next_expiry() is None
    room.commit()
    assert len([key for key in room.rows if key[:1] == b"b"]) == 1


def test_a_message_with_a_consumer_does_not_expire_until_it_comes_back() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 2, ttl=SECOND)
    room.pump()
    room.now += SECOND
    assert room.expire().pieces == []
    assert room.mailbox.next_expiry() is None
    room.give_back((seq, seq))
    assert room.mailbox.next_expiry() == room.now
    assert room.pump() == []
    assert [(p.first, p.last) for p in room.expire().pieces] == [(1, 1)]
    room.settle((seq + 1, seq + 1))
    assert room.mailbox.empty()


def test_expiries_of_settled_batches_are_not_kept() -> None:
    room = Postroom()
    room.attach()
    for first in range(1, 1001):
        seq = room.stored(first, ttl=1000 * SECOND)
        room.pump()
        room.settle((seq, seq))
    assert room.mailbox.next_expiry() is None
    assert len(room.mailbox._contents._expiries) < 200


# Looking --------------------------------------------------------------------------------------------------------
def test_statistics_count_what_there_is() -> None:
    room = Postroom()
    room.attach(credit=2)
    room.stored(1, 5)
    room.send(deposit(6, 2, stream=TRANSACTIONAL))
    room.now += 7
    room.hold(deposit(1, 3, stream=EXPRESS))
    room.pump()
    found = room.mailbox.statistics()
    assert (found.stored_count, found.volatile_count, found.unsettled, found.consumers) == (7, 3, 2, 1)
    assert found.oldest == room.now - 7
    assert found.memory_bytes > found.volatile_bytes > 0
    room.settle((0, 1 << 61), (VOLATILE_FROM, VOLATILE_FROM + 2))
    room.commit()
    room.settle((0, 1 << 61))
    found = room.mailbox.statistics()
    assert (found.stored_count, found.stored_bytes, found.volatile_count, found.volatile_bytes) == (0, 0, 0, 0)
    assert found.oldest is None


# Lost readers ---------------------------------------------------------------------------------------------------
ANYBODY = ("", 0)
"""Whose readers are in this postroom."""


def lose(room: Postroom, conn: int = 2) -> Returned:
    lost = room.mailbox.lose(conn)
    room.append(lost.writes)
    room.commit()
    return lost


def come_back(room: Postroom, conn: int = 2, *, again: bool = False) -> list[int]:
    """The reader attaches; what it is handed."""
    room.append(room.mailbox.forgive(ANYBODY, 1, again=again))
    room.attach(conn)
    return ids(room.pump())


def suspects(room: Postroom, count: int = 4) -> list[int]:
    """As many readers were lost with all messages of the mailbox as make them suspects; what the next one is handed."""
    room.stored(1, count)
    for _ in range(SUSPECT):
        assert come_back(room) == list(range(1, count + 1))
        assert not lose(room).dead
    return come_back(room)


def deliveries(room: Postroom) -> list[int]:
    return [head.deliveries for head in room.pump()]


def test_one_lost_reader_changes_nothing() -> None:
    room = Postroom()
    room.attach()
    room.stored(1, 4)
    room.pump()
    lost = lose(room)
    assert (lost.writes, lost.dead) == ([], [])
    room.attach()
    (head,) = room.pump()
    assert (head.first, head.count, head.deliveries) == (1, 4, 0)


def test_what_several_readers_were_lost_with_is_handed_out_one_by_one() -> None:
    room = Postroom()
    assert suspects(room) == [1]
    for number in (1, 2, 3):
        assert room.pump() == []
        room.settle((number, number))
        assert ids(room.pump()) == [number + 1]
    room.settle((4, 4))
    room.stored(5, 2)
    room.stored(7)
    assert ids(room.pump()) == [5, 6, 7], "the others are not under suspicion"


def test_message_that_kills_whoever_has_it_alone_is_condemned_and_no_other_one() -> None:
    room = Postroom(deliveries_max=3)
    assert suspects(room) == [1]
    room.settle((1, 1))
    assert ids(room.pump()) == [2]
    counts = []
    for _ in range(2):
        assert lose(room).dead == []
        room.append(room.mailbox.forgive(ANYBODY, 1, again=False))
        room.attach()
        counts += deliveries(room)
    assert counts == [1, 2]
    (dead,) = lose(room).dead
    assert (dead.first, dead.count) == (2, 1)
    assert come_back(room) == [3]


def test_count_of_killed_readers_survives_the_owner() -> None:
    room = Postroom(deliveries_max=3)
    assert suspects(room) == [1]
    lose(room)
    room.crash()
    room.attach()
    assert deliveries(room) == [1, 0]


def test_reader_that_comes_back_alive_was_killed_by_nothing() -> None:
    room = Postroom(deliveries_max=2)
    assert suspects(room) == [1]
    for _ in range(5):
        assert lose(room).dead == []
        assert come_back(room, again=True) == [1]
    room.settle((1, 1))
    assert deliveries(room) == [0]


def test_reader_that_loses_its_connections_and_lives_makes_nothing_suspicious() -> None:
    room = Postroom()
    room.stored(1, 4)
    for _ in range(5):
        room.append(room.mailbox.forgive(ANYBODY, 1, again=True))
        room.attach()
        (head,) = room.pump()
        assert head.count == 4
        lose(room)


def test_no_message_is_condemned_for_the_first_reader_it_may_have_killed() -> None:
    room = Postroom(deliveries_max=1)
    assert suspects(room) == [1]
    assert lose(room).dead == []
    assert come_back(room) == [1]
    assert len(lose(room).dead) == 1


def test_reader_that_does_not_settle_its_one_message_for_long_gets_others_beside_it() -> None:
    room = Postroom()
    assert suspects(room) == [1]
    assert room.mailbox.timed
    due = room.mailbox.next_delivery()
    assert due == room.now + ALONE_MAX
    room.now = due - 1
    assert room.pump() == []
    room.now = due
    assert ids(room.pump()) == [2, 3, 4]
    assert room.mailbox.next_delivery() is None
    assert not room.mailbox.timed


def test_several_readers_get_what_is_suspicious_one_by_one_too() -> None:
    room = Postroom()
    room.stored(1, 4)
    for _ in range(SUSPECT):
        come_back(room)
        lose(room)
    room.attach(4)
    room.attach(6, selector="JMSPriority < 9")
    room.attach(8)
    handed = room.pump_to()
    assert sorted(conn for conn, _ in handed) == [4, 6, 8]
    assert [(head.first, head.count) for _, head in handed] == [(1, 1), (2, 1), (3, 1)]
    assert room.pump() == []
    room.settle((1, 1), conn=handed[0][0])
    assert [(conn, head.first) for conn, head in room.pump_to()] == [(handed[0][0], 4)]


def test_what_a_transaction_holds_is_not_counted() -> None:
    room = Postroom(deliveries_max=2)
    assert suspects(room, 2) == [1]
    room.mailbox.participant._contents.lock(1, 1)
    assert lose(room).writes == []
    room.now += SECOND
    room.mailbox.participant._contents.unlock(1, 1)
    room.attach()
    assert deliveries(room) == [0]
