"""Admission: new, seen, too early, too much; and what the group must have before a batch counts."""

from __future__ import annotations

import pytest

from causeway.core.mail.answers import Verdict
from causeway.core.mail.rows import decode_seen, seen_key
from causeway.limits import SEEN_INCARNATIONS_MAX
from causeway.store.base import Put
from causeway.types import SECOND, VOLATILE_FROM
from tests.unit.core.mail.postroom import (
    EXPRESS,
    NAME,
    RECOVERABLE,
    TRANSACTIONAL,
    Postroom,
    body_of,
    deposit,
    ids,
    numbers,
)


# Ordered streams ------------------------------------------------------------------------------------------------
def test_ordered_duplicate_is_recognised_even_when_the_mailbox_is_empty() -> None:
    room = Postroom()
    seq = room.stored(1, 5, stream=TRANSACTIONAL)
    room.attach()
    room.pump()
    room.settle((seq, seq + 4))
    room.commit()
    assert room.mailbox.empty()
    assert room.send(deposit(1, 5, stream=TRANSACTIONAL)).verdict == Verdict.DUPLICATE
    assert room.send(deposit(2, 2, stream=TRANSACTIONAL)).verdict == Verdict.DUPLICATE


def test_ordered_gap_names_the_last_id_that_is_here() -> None:
    room = Postroom()
    assert room.send(deposit(4, 2, stream=TRANSACTIONAL, follows=3)).after == 0
    room.stored(1, 3, stream=TRANSACTIONAL)
    admission = room.send(deposit(8, 2, stream=TRANSACTIONAL, follows=7))
    assert (admission.verdict, admission.after) == (Verdict.GAP, 3)
    assert room.send(deposit(5, stream=TRANSACTIONAL, follows=4)).verdict == Verdict.GAP
    assert room.send(deposit(4, 4, stream=TRANSACTIONAL, follows=3)).verdict == Verdict.NEW
    assert room.send(deposit(8, 2, stream=TRANSACTIONAL, follows=7)).verdict == Verdict.NEW


def test_ordered_stream_goes_on_over_ids_that_were_given_up() -> None:
    room = Postroom()
    room.stored(1, 3, stream=TRANSACTIONAL)
    assert room.send(deposit(9, 1, stream=TRANSACTIONAL, follows=3)).verdict == Verdict.NEW
    assert room.send(deposit(20, 1, stream=TRANSACTIONAL, follows=0)).verdict == Verdict.NEW
    assert room.send(deposit(5, 1, stream=TRANSACTIONAL)).verdict == Verdict.DUPLICATE


def test_ordered_overlap_stores_only_what_is_new() -> None:
    room = Postroom()
    room.stored(1, 5, stream=TRANSACTIONAL)
    admission = room.send(deposit(3, 6, stream=TRANSACTIONAL))
    assert (admission.verdict, admission.skip) == (Verdict.NEW, 3)
    room.commit()
    room.attach()
    assert ids(room.pump()) == [1, 2, 3, 4, 5, 6, 7, 8]


# Unordered streams ----------------------------------------------------------------------------------------------
def test_unordered_batches_may_come_in_any_order_once() -> None:
    room = Postroom()
    room.stored(11, 5, follows=10)
    room.stored(1, 5)
    assert room.send(deposit(11, 5)).verdict == Verdict.DUPLICATE
    assert room.send(deposit(2, 3)).verdict == Verdict.DUPLICATE
    assert room.send(deposit(6, 5, follows=5)).verdict == Verdict.NEW


def test_unordered_overlap_in_the_middle_is_delivered_once() -> None:
    room = Postroom()
    room.stored(4, 2)
    room.stored(8, 1)
    seq = room.position
    assert room.send(deposit(3, 7)).skip == 0
    room.commit()
    room.attach()
    assert sorted(ids(room.pump())) == [3, 4, 5, 6, 7, 8, 9]
    room.crash()
    room.attach()
    assert sorted(ids(room.pump())) == [3, 4, 5, 6, 7, 8, 9]
    room.settle((0, seq + 7))
    room.commit()
    assert room.mailbox.empty()
    assert [key for key in room.rows if key[:1] != b"s"] == []


def test_unordered_overlap_in_front_is_skipped() -> None:
    room = Postroom()
    room.stored(1, 4)
    seq = room.position
    assert room.send(deposit(3, 4)).skip == 2
    assert room.position == seq + 2
    room.commit()
    assert (room.acknowledged[-1].first, room.acknowledged[-1].last) == (5, 6)


def test_streams_incarnations_and_sources_do_not_hide_each_other() -> None:
    room = Postroom()
    room.stored(1)
    for fields in ({"stream": TRANSACTIONAL}, {"incarnation": 2}, {"source": "b"}):
        assert room.send(deposit(1, **fields)).verdict == Verdict.NEW


# Before and after the commit ------------------------------------------------------------------------------------
def test_duplicate_of_a_batch_on_its_way_names_the_operation_to_wait_for() -> None:
    room = Postroom()
    room.send(deposit(1, 2))
    seq = room.position
    room.send(deposit(3, 2, follows=2))
    admission = room.send(deposit(1, 4))
    assert (admission.verdict, admission.pending, admission.seq) == (Verdict.DUPLICATE, True, seq)
    room.commit()
    assert room.send(deposit(1, 4)).pending is False


def test_nothing_is_delivered_before_it_is_committed() -> None:
    room = Postroom()
    room.attach()
    room.send(deposit(1, 2))
    assert room.pump() == []
    room.commit()
    assert ids(room.pump()) == [1, 2]
    assert [(b.first, b.last, b.origin) for b in room.acknowledged] == [(1, 2, deposit(1).origin)]


def test_committed_answers_none_for_operations_that_store_nothing() -> None:
    assert Postroom().mailbox.committed(77) is None


def test_seen_is_known_after_a_crash_and_what_never_arrived_is_not() -> None:
    room = Postroom()
    room.stored(1, 3)
    room.send(deposit(4, 3, follows=3))
    room.crash()
    assert room.send(deposit(1, 3)).verdict == Verdict.DUPLICATE
    assert room.send(deposit(4, 3, follows=3)).verdict == Verdict.NEW


def test_full_mailbox_refuses_new_batches_but_knows_duplicates() -> None:
    head = deposit(1, 4)
    room = Postroom(stored_bytes_max=2 * len(body_of(head)))
    room.send(head)
    room.send(deposit(5, 4))
    assert room.send(deposit(9, 4)).verdict == Verdict.FULL
    assert room.mailbox.admit(deposit(9, 1)).verdict == Verdict.FULL
    assert room.send(deposit(5, 4)).verdict == Verdict.DUPLICATE
    room.commit()
    assert room.send(deposit(9, 4)).verdict == Verdict.FULL
    room.settle((1, 4))
    assert room.send(deposit(9, 4)).verdict == Verdict.NEW


# Incarnations ---------------------------------------------------------------------------------------------------
def test_oldest_incarnation_is_forgotten_with_its_row_once_its_batches_are_gone() -> None:
    room = Postroom()
    stuck = room.stored(1, incarnation=1)
    others = []
    for incarnation in range(2, SEEN_INCARNATIONS_MAX + 1):
        others.append(room.stored(1, incarnation=incarnation))
    room.settle(*((seq, seq) for seq in others))
    # The first one still has its batch, and so (as far as numbers tell) has every later one.
    newest = room.stored(1, incarnation=999)
    assert room.send(deposit(1, incarnation=1)).verdict == Verdict.DUPLICATE
    room.settle((stuck, stuck), (newest, newest))
    room.stored(1, incarnation=1000)
    room.commit()
    keys = {key for key in room.rows if key[:1] == b"s"}
    assert len(keys) == SEEN_INCARNATIONS_MAX
    assert seen_key("a", 2, RECOVERABLE) not in keys
    assert seen_key("a", 1000, RECOVERABLE) in keys


# Express --------------------------------------------------------------------------------------------------------
def test_express_gets_volatile_numbers_and_no_rows() -> None:
    room = Postroom()
    assert room.hold(deposit(1, 3, stream=EXPRESS)) == VOLATILE_FROM
    assert room.hold(deposit(4, 1, stream=EXPRESS)) == VOLATILE_FROM + 3
    room.attach()
    assert numbers(room.pump()) == [VOLATILE_FROM + n for n in range(4)]
    room.crash()
    assert room.mailbox.empty()


def test_express_duplicates_are_suppressed_even_after_settlement() -> None:
    room = Postroom()
    room.attach()
    number = room.hold(deposit(1, 3, stream=EXPRESS))
    assert number is not None
    room.pump()
    room.settle((number, number + 2))
    assert room.hold(deposit(1, 3, stream=EXPRESS)) == 0
    room.hold(deposit(2, 4, stream=EXPRESS))
    assert ids(room.pump()) == [4, 5]


def test_express_is_refused_when_memory_is_full_and_admitted_later() -> None:
    head = deposit(1, 4, stream=EXPRESS)
    room = Postroom(volatile_bytes_max=len(body_of(head)))
    number = room.hold(head)
    assert number is not None
    assert room.hold(deposit(5, 1, stream=EXPRESS)) is None
    assert room.hold(head) == 0
    room.settle((number, number + 3))
    assert room.hold(deposit(5, 1, stream=EXPRESS)) is not None


def test_express_incarnations_are_bounded_without_touching_rows() -> None:
    room = Postroom()
    room.attach(credit=10_000)
    room.stored(1, incarnation=1)
    for incarnation in range(2, 3 * SEEN_INCARNATIONS_MAX):
        room.hold(deposit(1, stream=EXPRESS, incarnation=incarnation))
        room.settle(*((number, number) for number in numbers(room.pump())))
    assert room.send(deposit(1, incarnation=1)).verdict == Verdict.DUPLICATE
    assert room.hold(deposit(1, stream=EXPRESS, incarnation=2)) != 0


# Passing --------------------------------------------------------------------------------------------------------
def test_batches_pass_only_when_nothing_waits_before_them() -> None:
    room = Postroom()
    assert not room.mailbox.can_pass()
    room.attach(credit=2)
    assert room.mailbox.can_pass()
    room.send(deposit(1))
    assert not room.mailbox.can_pass()
    room.commit()
    assert not room.mailbox.can_pass()
    handed = numbers(room.pump())
    assert not room.mailbox.can_pass(), "its reader is slow: it holds what had to be stored"
    room.settle(*((number, number) for number in handed))
    assert room.mailbox.can_pass()
    room.hold(deposit(2, 2, stream=TRANSACTIONAL))
    assert not room.mailbox.can_pass()


def test_passing_batch_is_reported_when_settled_and_stays_seen() -> None:
    room = Postroom()
    room.attach()
    number = room.hold(deposit(1, 3, stream=TRANSACTIONAL))
    assert number is not None
    assert room.mailbox.passing() == room.now
    admission = room.mailbox.admit(deposit(1, 3, stream=TRANSACTIONAL))
    assert (admission.verdict, admission.pending, admission.seq) == (Verdict.DUPLICATE, True, number)
    room.pump()
    settlement = room.settle((number, number + 2))
    assert settlement.writes == []
    assert [(p.first, p.last, p.stored) for p in settlement.confirm] == [(1, 3, False)]
    assert room.mailbox.passing() is None
    assert room.mailbox.admit(deposit(1, 3, stream=TRANSACTIONAL)).pending is False


def test_a_later_stored_batch_writes_what_passed_before_it() -> None:
    room = Postroom()
    room.attach()
    number = room.hold(deposit(1, 3))
    assert number is not None
    room.pump()
    room.settle((number, number + 2))
    room.stored(4, 2)
    room.crash()
    assert room.send(deposit(1, 3)).verdict == Verdict.DUPLICATE


def test_storing_behind_a_passing_batch_of_the_same_stream_is_a_bug_of_the_caller() -> None:
    room = Postroom()
    room.attach()
    room.hold(deposit(1, 3))
    with pytest.raises(AssertionError):
        room.mailbox.store(deposit(4), body_of(deposit(4)), 1, room.now)


def test_unpassed_batches_survive_a_crash_in_order() -> None:
    room = Postroom()
    room.attach()
    room.hold(deposit(1, 3, stream=TRANSACTIONAL))
    room.hold(deposit(4, 3, stream=TRANSACTIONAL, follows=3))
    room.pump()
    room.detach()
    room.store_passing()
    assert room.mailbox.passing() is None
    room.commit()
    assert [(b.first, b.last) for b in room.acknowledged] == [(1, 3), (4, 6)]
    room.crash()
    room.attach()
    heads = room.pump()
    assert ids(heads) == [1, 2, 3, 4, 5, 6]
    assert all(head.flags & 8 for head in heads)


def test_a_crash_between_two_unpassed_batches_does_not_hide_the_second() -> None:
    for stream in (RECOVERABLE, TRANSACTIONAL):
        room = Postroom()
        room.attach()
        room.hold(deposit(1, 3, stream=stream))
        room.hold(deposit(4, 3, stream=stream, follows=3))
        room.store_passing()
        room.crash(arrived=1)
        assert room.send(deposit(1, 3, stream=stream)).verdict == Verdict.DUPLICATE
        assert room.send(deposit(4, 3, stream=stream, follows=3)).verdict == Verdict.NEW


def test_a_consumer_settles_an_unpassed_batch_under_its_old_number() -> None:
    room = Postroom()
    room.attach()
    number = room.hold(deposit(1, 3, flags=3))
    assert number is not None
    room.pump()
    room.settle((number, number))
    room.store_passing()
    settlement = room.settle((number + 1, number + 2))
    assert [(p.first, p.last, p.stored) for p in settlement.confirm] == [(2, 3, True)]
    room.commit()
    assert [(b.first, b.last) for b in room.acknowledged] == [(1, 3)]
    assert room.mailbox.empty()
    room.crash()
    assert room.mailbox.empty()
    assert room.send(deposit(1, 3)).verdict == Verdict.DUPLICATE


def test_an_unpassed_batch_is_not_handed_out_under_its_new_number_before_it_commits() -> None:
    room = Postroom()
    room.attach(credit=1)
    room.hold(deposit(1, 3))
    assert ids(room.pump()) == [1]
    room.store_passing()
    room.detach()
    room.attach(4)
    assert room.pump() == []
    room.commit()
    heads = room.pump()
    assert ids(heads) == [1, 2, 3]
    assert numbers(heads) == [1, 2, 3]


def test_time_to_live_counts_from_the_arrival_at_the_owner() -> None:
    room = Postroom()
    room.stored(1, ttl=SECOND)
    assert room.mailbox.next_expiry() == room.now + SECOND


def test_seen_row_is_written_with_every_batch_and_names_its_mailbox_group() -> None:
    room = Postroom()
    head = deposit(1, 2)
    writes = room.mailbox.store(head, body_of(head), 5, room.now)
    puts = [write for write in writes if isinstance(write, Put)]
    assert [put.key[:1] for put in puts] == [b"b", b"s"]
    assert {put.group for put in puts} == {room.mailbox.key}
    assert decode_seen(puts[1].value).spans == [(1, 2)]
    assert room.mailbox.name == NAME
