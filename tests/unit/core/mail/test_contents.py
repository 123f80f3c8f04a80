"""The window and what lies behind it: bounded memory, unbroken order, nothing settled comes back."""

from __future__ import annotations

import pytest

from causeway.core.mail.answers import Verdict
from causeway.core.mail.batches import BATCH_OVERHEAD_BYTES, Batch, Shelf
from causeway.core.mail.rows import encode
from causeway.core.messages import Deliver
from causeway.types import SECOND, Flag
from tests.unit.core.mail.postroom import EXPRESS, TRANSACTIONAL, Postroom, deposit, ids, numbers, scan, transaction

WINDOW = 10 * (BATCH_OVERHEAD_BYTES + 12)
"""Ten batches of one message."""


def filled(count: int = 30, **settings: object) -> Postroom:
    """More than the window holds, one message per batch."""
    room = Postroom(window_bytes=WINDOW, **settings)
    for first in range(1, count + 1):
        room.stored(first, stream=TRANSACTIONAL, follows=first - 1)
    return room


def take_all(room: Postroom) -> list[Deliver]:
    """Everything the mailbox hands out while nothing is settled."""
    got = room.pump()
    while room.page():
        got += room.pump()
    return got


def drain(room: Postroom, bytes_max: int = 1 << 30) -> list[int]:
    """Everything the mailbox delivers to one consumer that settles at once."""
    got: list[int] = []
    for _ in range(1000):
        room.page(bytes_max)
        heads = room.pump()
        if not heads:
            return got
        got += ids(heads)
        room.settle(*((head.seq, head.seq + head.count - 1) for head in heads))
        room.commit()
    raise AssertionError("the mailbox never ends")


def test_memory_is_bounded_by_the_window() -> None:
    room = filled(500)
    found = room.mailbox.statistics()
    assert found.memory_bytes <= WINDOW
    assert found.stored_count == 500
    assert room.mailbox.page_wanted() is None


def test_paged_messages_are_delivered_in_order_with_newer_ones_behind() -> None:
    room = filled(25)
    room.attach(credit=3)
    assert ids(room.pump()) == [1, 2, 3]
    room.settle((1, 3))
    room.stored(26, stream=TRANSACTIONAL, follows=25)
    room.commit()
    assert [1, 2, 3, *drain(room, 200)] == list(range(1, 27))
    assert room.mailbox.empty()
    found = room.mailbox.statistics()
    assert (found.stored_count, found.stored_bytes, found.memory_bytes) == (0, 0, 0)


def test_page_is_wanted_when_the_window_has_drained_below_half_and_only_once() -> None:
    room = filled()
    room.attach(credit=5)
    room.settle(*((head.seq, head.seq) for head in room.pump()))
    assert room.mailbox.page_wanted() is None
    room.settle(*((head.seq, head.seq) for head in room.pump()))
    wanted = room.mailbox.page_wanted()
    assert wanted is not None
    assert room.mailbox.page_wanted() is None
    room.mailbox.page_in(*scan(room.disk, *wanted, 1 << 30))
    assert room.mailbox.page_wanted() is None


def test_consumer_that_holds_the_whole_window_gets_more() -> None:
    room = filled()
    room.attach(credit=100)
    assert ids(take_all(room)) == list(range(1, 31))


def test_what_is_not_committed_is_not_paged_in() -> None:
    room = filled(12)
    room.attach(credit=100)
    room.send(deposit(13, stream=TRANSACTIONAL, follows=12))
    assert drain(room) == [*range(1, 13), 13]
    assert room.mailbox.empty()


def test_uncommitted_rows_found_by_a_page_are_left_alone() -> None:
    room = filled(12)
    room.attach(credit=100)
    room.pump()
    room.settle((1, 10))
    wanted = room.mailbox.page_wanted()
    assert wanted is not None
    room.commit()
    room.send(deposit(13, stream=TRANSACTIONAL, follows=12))
    rows, _ = scan(room.disk, wanted[0], b"c", 1 << 30)
    room.mailbox.page_in(rows, None)
    assert ids(room.pump()) == [11, 12]
    room.commit()
    assert ids(room.pump()) == [13]


def test_commits_during_a_load_keep_their_place() -> None:
    room = filled(12)
    room.attach(credit=100)
    room.pump()
    room.settle((1, 10))
    wanted = room.mailbox.page_wanted()
    assert wanted is not None
    room.commit()
    room.stored(13, stream=TRANSACTIONAL, follows=12)
    room.mailbox.page_in(*scan(room.disk, *wanted, 1 << 30))
    assert ids(room.pump()) == [11, 12]
    assert drain(room) == [13]


def test_restore_with_a_backlog_pages_the_rest_and_knows_its_size() -> None:
    room = filled(40)
    room.crash()
    assert room.mailbox.statistics().stored_count == 40
    assert room.mailbox.statistics().memory_bytes <= WINDOW
    room.stored(41, stream=TRANSACTIONAL, follows=40)
    assert room.send(deposit(40, stream=TRANSACTIONAL)).verdict == Verdict.DUPLICATE
    room.attach(credit=4)
    heads = room.pump()
    assert all(head.flags & Flag.REDELIVERED for head in heads)
    assert ids(heads) == [1, 2, 3, 4]
    room.settle((1, 4))
    assert drain(room, 100) == list(range(5, 42))
    assert room.mailbox.empty()
    assert {key[:1] for key in room.rows} == {b"s"}


def test_only_what_an_earlier_owner_may_have_delivered_is_flagged() -> None:
    room = filled(40)
    room.crash()
    for first in range(41, 61):
        room.stored(first, stream=TRANSACTIONAL, follows=first - 1)
    room.attach(credit=1000)
    flagged: dict[int, bool] = {}
    for _ in range(100):
        room.page(500)
        for head in room.pump():
            flagged[head.first] = bool(head.flags & Flag.REDELIVERED)
    assert flagged == {n: n <= 40 for n in range(1, 61)}


def test_settling_ahead_of_the_window_is_durable_and_never_comes_back() -> None:
    room = filled(40)
    room.crash()
    room.attach(credit=1000)
    room.settle((25, 27), (33, 33))
    room.commit()
    room.crash()
    room.attach(credit=1000)
    assert drain(room, 300) == [n for n in range(1, 41) if n not in (25, 26, 27, 33)]
    room.append(room.mailbox.expire(room.now).writes)
    room.commit()
    assert {key[:1] for key in room.rows} == {b"s"}


def test_settling_ahead_cuts_through_batches_and_gaps() -> None:
    room = Postroom(window_bytes=WINDOW)
    for n in range(20):
        room.stored(1 + 10 * n, 10)
        room.append([], 1)
        room.position += 3  # numbers taken by operations that store nothing
    room.crash()
    starts = [1 + 13 * n for n in range(20)]
    room.settle((starts[15] + 4, starts[17] + 5))
    room.commit()
    got: list[int] = []
    for _ in range(3):
        room.crash()
        room.attach(credit=1000)
        for _ in range(6):
            room.page(700)
            heads = room.pump()
            got += ids(heads)
            room.settle(*((head.seq, head.seq + head.count - 1) for head in heads))
        room.commit()
    assert not [n for n in got if 155 <= n <= 176]
    assert sorted(set(got) | set(range(155, 177))) == list(range(1, 201))


def test_settling_ahead_over_a_gap_stays_durable_while_it_is_paged_in() -> None:
    room = Postroom(window_bytes=1)
    for n in range(4):
        room.stored(1 + 10 * n, 10)
        room.position += 3
    room.settle((20, 31))  # the second batch is at 14..23, the third at 27..36
    room.commit()
    room.attach(credit=1000)
    got = []
    for _ in range(10):
        got += ids(room.pump())
        room.page(1)
        room.expire()
        room.commit()
    assert got == [*range(1, 17), *range(26, 41)]
    room.settle((14, 19))  # ends the second batch, and with it the row that told of the third one too
    room.commit()
    room.crash()
    room.attach(credit=1000)
    assert ids(take_all(room)) == [*range(1, 11), *range(26, 41)]


def test_duplicates_struck_from_a_batch_stay_struck_when_it_is_paged_in() -> None:
    room = Postroom(window_bytes=1)
    room.stored(4, 2)
    room.stored(3, 4)
    room.attach(credit=1000)
    assert ids(take_all(room)) == [4, 5, 3, 6]


def test_settling_ahead_never_reaches_messages_of_the_future() -> None:
    room = filled(40)
    room.crash()
    room.settle((0, 1 << 61))
    room.commit()
    for first in range(41, 71):
        room.stored(first, stream=TRANSACTIONAL, follows=first - 1)
    room.attach(credit=1000)
    assert drain(room) == list(range(41, 71))


def test_marks_of_batches_behind_the_window_are_applied_when_they_come_in() -> None:
    room = Postroom(window_bytes=WINDOW)
    room.attach(credit=1000)
    for n in range(30):
        room.stored(1 + 10 * n, 10)
        room.page()
        room.pump()
    seqs = [1 + 10 * n for n in range(30)]
    room.settle(*((seq + 2, seq + 3) for seq in seqs))
    room.detach()
    room.commit()
    room.crash()
    room.attach(credit=1000)
    heads = take_all(room)
    assert ids(heads) == [n for n in range(1, 301) if n % 10 not in (3, 4)]
    assert all(head.flags & Flag.REDELIVERED for head in heads)


def test_messages_that_expired_on_disk_are_reported_when_they_are_read() -> None:
    room = Postroom(window_bytes=WINDOW)
    for first in range(1, 31):
        room.stored(first, ttl=SECOND if first > 20 else 0)
    room.now += SECOND
    room.attach(credit=1000)
    assert drain(room) == list(range(1, 21))
    expired = []
    while room.mailbox.next_expiry() is not None:
        expired += [piece.first for piece in room.expire().pieces]
        room.page()
    assert expired == list(range(21, 31))
    room.commit()
    assert room.mailbox.empty()


def test_express_is_not_held_up_by_what_is_on_disk_but_nothing_passes() -> None:
    room = filled()
    room.attach(credit=15)
    room.pump()
    assert not room.mailbox.can_pass()
    room.hold(deposit(1, stream=EXPRESS))
    assert [head.stream for head in room.pump()] == [EXPRESS]


def test_condemned_messages_behind_the_window_are_named_when_they_come_in() -> None:
    room = filled(30, deliveries_max=1)
    room.attach(credit=1000)
    take_all(room)
    assert [b.first for b in room.give_back((29, 29)).dead] == [29]
    room.commit()
    room.crash()
    assert room.mailbox.condemned() == []
    room.attach(credit=1000)
    room.pump()
    named = []
    while (wanted := room.mailbox.page_wanted()) is not None:
        named += room.mailbox.page_in(*scan(room.disk, *wanted, 500))
        room.pump()
    assert [batch.first for batch in named] == [29]


def test_locks_of_messages_behind_the_window_hold_when_they_come_in() -> None:
    room = filled(30)
    room.attach(credit=1000)
    take_all(room)
    room.prepare(transaction(settles=[(28, 29)]))
    room.commit()
    room.crash()
    room.attach(credit=1000)
    assert drain(room) == [*range(1, 28)]
    (txid,) = room.mailbox.participant.names()
    room.decide(txid, False)
    assert numbers(room.pump()) == [28, 29, 30]


def test_a_decision_about_messages_behind_the_window_is_not_forgotten() -> None:
    room = filled(30)
    room.attach(credit=1000)
    take_all(room)
    room.prepare(transaction(settles=[(28, 29)]))
    room.commit()
    room.crash()
    (txid,) = room.mailbox.participant.names()
    room.decide(txid, True)
    room.commit()
    room.crash()
    room.attach(credit=1000)
    assert drain(room) == [*range(1, 28), 30]


def test_a_batch_larger_than_the_window_is_delivered() -> None:
    room = Postroom(window_bytes=100)
    room.stored(1, 100)
    room.stored(101, 100)
    room.attach(credit=1000)
    assert drain(room) == list(range(1, 201))


# Many spans at once ---------------------------------------------------------------------------------------------
def test_settling_behind_the_window_writes_each_number_once_however_often_it_is_named() -> None:
    room = Postroom(window_bytes=1)
    room.stored(1)
    seq = room.stored(2, 3_000)
    spans = [(seq, seq)] * 1_000 + [(seq + n, seq + 2_999) for n in range(1_000)]
    writes = room.settle(*spans).writes
    assert len(encode(writes)) < 200
    assert room.settle(*spans).writes == []
    room.crash(arrived=1)
    room.page()
    room.attach()
    assert ids(room.pump()) == [1]


def test_overlapping_spans_look_at_each_batch_in_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Postroom()
    seqs = [room.stored(number) for number in range(1, 9)]
    room.attach()
    room.pump()
    looked: list[int] = []

    def counted(shelf: Shelf, number: int) -> Batch | None:
        looked.append(number)
        return dict.get(shelf, number)

    monkeypatch.setattr(Shelf, "get", counted)
    room.give_back(*[(seqs[2], seqs[4])] * 100)
    assert len(looked) == 3
    looked.clear()
    room.settle(*[(seqs[2], seqs[-1])] * 100)
    assert len(looked) == 6
    looked.clear()
    room.prepare(transaction(settles=[(seqs[0], seqs[1])] * 100))
    assert len(looked) == 2
