"""What expires on disk is ended there, and no longer counted, although nobody consumes."""

from __future__ import annotations

from causeway.core.mail.answers import Verdict
from causeway.core.mail.batches import BATCH_OVERHEAD_BYTES
from causeway.core.mail.rows import MARK, batch_key, mark_key
from causeway.core.mail.sweeper import SWEEP_AGAIN, SWEEP_PAUSE
from causeway.store.base import Delete
from causeway.types import SECOND
from tests.unit.core.mail.postroom import GROUP, Postroom, body_of, deposit, scan, seen, transaction

WINDOW = 10 * (BATCH_OVERHEAD_BYTES + 12)
"""Ten batches of one message."""
SIZE = len(body_of(deposit(1)))


def filled(ttl: int = SECOND, every: int = 2, count: int = 30, **settings: object) -> Postroom:
    """Ten messages in memory, without end; of those behind, every second one expires."""
    room = Postroom(window_bytes=WINDOW, **settings)
    for first in range(1, count + 1):
        room.stored(first, ttl=ttl if first > 10 and first % every == 0 else 0)
    return room


def sweep(room: Postroom, bytes_max: int = 1 << 30) -> list[int]:
    """Sweep until nothing is due; the numbers that ended."""
    ended: list[int] = []
    for _ in range(1000):
        expired = room.sweep(bytes_max)
        if expired is None:
            room.commit()
            return ended
        ended += [piece.seq + n for piece in expired.pieces for n in range(piece.last - piece.first + 1)]
    raise AssertionError("sweeps never end")


def stored(room: Postroom) -> tuple[int, int]:
    found = room.mailbox.statistics()
    return found.stored_count, found.stored_bytes


def test_what_expires_behind_the_window_is_ended_and_not_counted_any_more() -> None:
    room = filled()
    assert room.mailbox.sweeper.due() == 1_000 + SECOND
    assert room.sweep() is None
    room.now += SECOND
    assert stored(room) == (30, 30 * SIZE)
    assert sweep(room, 200) == list(range(12, 31, 2))
    assert stored(room) == (20, 20 * SIZE)
    assert room.mailbox.sweeper.due() is None
    assert [key for key in room.rows if key in {batch_key(n) for n in range(12, 31, 2)}] == []
    assert seen(room.browse()) == [*range(1, 11), *range(11, 31, 2)]


def test_adjacent_rows_go_in_one_deletion() -> None:
    room = filled(every=1)
    room.now += SECOND
    expired = room.sweep()
    assert expired is not None
    assert expired.writes == [Delete(GROUP, batch_key(11), batch_key(31))]
    assert stored(room) == (10, 10 * SIZE)


def test_what_is_left_is_delivered_and_counted_rightly_to_the_end() -> None:
    room = filled()
    room.now += SECOND
    sweep(room)
    room.attach(credit=3)
    delivered = 0
    for _ in range(100):
        room.page(150)
        heads = room.pump()
        delivered += len(heads)
        room.settle(*((head.seq, head.seq) for head in heads))
        room.commit()
        assert stored(room) == (20 - delivered, (20 - delivered) * SIZE)
    assert delivered == 20
    room.expire()
    room.commit()
    assert room.mailbox.empty()


def test_messages_without_a_time_to_live_are_never_looked_at() -> None:
    room = filled(ttl=0)
    assert room.mailbox.sweeper.due() is None
    room.crash()
    assert room.mailbox.sweeper.due() is None


def test_a_full_mailbox_takes_messages_again_when_others_have_expired() -> None:
    room = filled(stored_bytes_max=30 * SIZE)
    assert room.send(deposit(31)).verdict == Verdict.FULL
    room.now += SECOND
    sweep(room)
    assert room.send(deposit(31)).verdict == Verdict.NEW


def test_a_new_owner_finds_what_expires_and_what_the_old_one_swept() -> None:
    room = filled()
    for first in range(31, 41):
        room.stored(first, ttl=2 * SECOND)
    room.now += SECOND
    sweep(room)
    assert stored(room) == (30, 30 * SIZE)
    room.crash()
    assert room.mailbox.sweeper.due() == 0
    assert stored(room) == (40, 40 * SIZE)
    assert sweep(room, 200) == []
    assert stored(room) == (30, 30 * SIZE)
    room.now += max(SECOND, SWEEP_AGAIN)
    assert sweep(room, 200) == list(range(31, 41))
    assert stored(room) == (20, 20 * SIZE)
    room.crash()
    assert sweep(room) == []
    assert stored(room) == (20, 20 * SIZE)


def test_nothing_is_read_when_the_window_took_in_everything() -> None:
    room = filled()
    room.crash()
    room.attach(credit=1000)
    while heads := room.pump():
        room.settle(*((head.seq, head.seq) for head in heads))
        room.page()
    assert room.mailbox.sweeper.due() == 0
    assert room.mailbox.sweeper.begin(room.now) is None
    assert room.mailbox.sweeper.due() is None


def test_what_is_stored_after_a_takeover_is_no_part_of_what_is_unknown() -> None:
    room = filled()
    room.crash()
    for first in range(31, 36):
        room.stored(first, ttl=5 * SECOND)
    room.now += SECOND
    assert sweep(room, 200) == list(range(12, 31, 2))
    assert stored(room) == (25, 25 * SIZE)
    assert room.mailbox.sweeper.due() == 1_000 + 5 * SECOND
    room.now += 4 * SECOND
    assert sweep(room) == list(range(31, 36))
    assert stored(room) == (20, 20 * SIZE)


def test_gaps_are_counted_up_to_what_is_stored_after_a_takeover() -> None:
    room = filled()
    room.now += SECOND
    sweep(room)
    room.crash()
    for first in range(31, 36):
        room.stored(first, ttl=5 * SECOND)
    assert sweep(room) == []
    assert stored(room) == (25, 25 * SIZE)


def test_gaps_that_the_window_has_passed_are_not_counted_again() -> None:
    room = filled()
    room.now += SECOND
    sweep(room)
    room.crash()
    room.attach(credit=3)
    left = 20
    for _ in range(4):
        heads = room.pump()
        left -= len(heads)
        room.settle(*((head.seq, head.seq) for head in heads))
        room.commit()
        room.page(150)
    assert room.mailbox._contents.backlog.is_open
    assert sweep(room, 100) == []
    assert stored(room) == (left, left * SIZE)


def test_locked_and_condemned_messages_stay_until_they_are_free() -> None:
    room = filled(deliveries_max=1)
    room.attach(credit=1000)
    room.pump()
    while room.page():
        room.pump()
    room.prepare(transaction(settles=[(14, 14)]))
    room.give_back((16, 16))
    room.settle((18, 18))
    room.detach()
    room.commit()
    room.crash()
    room.now += SECOND
    assert sweep(room) == [n for n in range(12, 31, 2) if n not in (14, 16, 18)]
    assert {14, 16} <= set(seen(room.browse()))
    (txid,) = room.mailbox.participant.names()
    room.decide(txid, False)
    assert sweep(room) == []
    room.now += SWEEP_AGAIN
    assert sweep(room) == [14]
    assert [key for key in room.rows if key in (mark_key(12), mark_key(14))] == []


def test_marks_that_reach_behind_a_batch_keep_it_until_it_comes_into_memory() -> None:
    room = filled()
    room.settle((12, 13))
    room.now += SECOND
    assert sweep(room) == list(range(14, 31, 2))
    room.commit()
    room.crash()
    assert 13 not in seen(room.browse())


def test_what_was_settled_ahead_is_not_reported_as_expired() -> None:
    room = Postroom(window_bytes=WINDOW)
    for first in range(1, 11):
        room.stored(first)
    room.stored(11, 5, ttl=SECOND)
    room.settle((12, 13))
    room.now += SECOND
    expired = room.sweep()
    assert expired is not None
    assert [(piece.first, piece.last) for piece in expired.pieces] == [(11, 11), (14, 15)]
    room.commit()
    assert [key for key in room.rows if key[:1] == MARK] == []


def test_a_page_for_the_window_that_was_read_before_the_sweep_brings_nothing_back() -> None:
    room = filled()
    room.attach(credit=1000)
    room.settle(*((head.seq, head.seq) for head in room.pump()))
    wanted = room.mailbox.page_wanted()
    assert wanted is not None
    found = scan(room.disk, *wanted, 1 << 30)
    room.now += SECOND
    assert sweep(room) == list(range(12, 31, 2))
    room.mailbox.page_in(*found)
    assert stored(room) == (10, 10 * SIZE)
    delivered = [head.seq for head in room.pump()]
    while room.page():
        delivered += [head.seq for head in room.pump()]
    assert delivered == list(range(11, 31, 2))


def test_what_came_into_the_window_meanwhile_is_left_to_it() -> None:
    room = filled()
    room.now += SECOND
    first = room.mailbox.sweeper.begin(room.now)
    assert first == 12
    found = scan(room.disk, room.mailbox.browser.look(first), b"c", 1 << 30)
    room.attach(credit=1000)
    room.settle(*((head.seq, head.seq) for head in room.pump()))
    room.page(600)
    swept = {piece.seq for piece in room.mailbox.sweeper.page(*found, room.now).pieces}
    in_memory = {piece.seq for piece in room.expire().pieces}
    assert swept
    assert in_memory
    assert swept.isdisjoint(in_memory)
    assert sorted(swept | in_memory) == list(range(12, 31, 2))


def test_a_page_that_comes_when_nothing_can_be_written_is_read_again() -> None:
    room = filled()
    room.now += SECOND
    first = room.mailbox.sweeper.begin(room.now)
    assert first is not None
    room.mailbox.browser.look(first)
    room.mailbox.sweeper.skip(room.now)
    assert room.mailbox.sweeper.due() == room.now + SWEEP_PAUSE
    assert sweep(room) == list(range(12, 31, 2))


def test_pages_come_at_a_gentle_pace_and_a_stretch_not_too_often() -> None:
    room = Postroom(window_bytes=WINDOW)
    for first in range(1, 31):
        room.stored(first, ttl=first * SECOND if first > 10 else 0)
    room.now = 1_000 + 11 * SECOND
    assert room.mailbox.sweeper.due() == room.now
    expired = room.sweep(100)
    assert expired is not None
    assert [piece.seq for piece in expired.pieces] == [11]
    assert room.mailbox.sweeper.due() == room.now + SWEEP_PAUSE
    sweep(room, 100)
    assert room.mailbox.sweeper.due() == room.now + SWEEP_AGAIN
