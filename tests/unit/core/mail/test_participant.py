"""A mailbox's part in transactions: invisible until decided, decided once."""

from __future__ import annotations

from unittest.mock import ANY

from causeway.core.mail.answers import Verdict
from causeway.core.mail.rows import TxId
from causeway.errors import Code
from causeway.types import SECOND
from tests.unit.core.mail.postroom import (
    COMMITTED,
    CONFIRM,
    EXPRESS,
    RELIABLE,
    TRANSACTIONAL,
    Postroom,
    body_of,
    deposit,
    ids,
    numbers,
    transaction,
)

TX = TxId("a", 1, 1, 1)


def send(first: int, count: int = 1, **fields: object) -> object:
    return deposit(first, count, stream=COMMITTED, **fields)


def bodies(*sends: object) -> bytes:
    return b"".join(body_of(one) for one in sends)  # type: ignore[arg-type]


def prepared(room: Postroom, *sends: object, settles: tuple[tuple[int, int], ...] = (), **fields: int) -> None:
    part = transaction(sends=sends, settles=settles, **fields)  # type: ignore[arg-type]
    assert room.mailbox.participant.obstacle(part, len(bodies(*sends))) is None
    assert room.prepare(part, bodies(*sends))
    room.commit()


def test_prepared_sends_are_invisible_until_they_commit() -> None:
    room = Postroom()
    room.attach()
    prepared(room, send(1, 2), send(3, 1, priority=9, flags=RELIABLE | CONFIRM))
    assert room.pump() == []
    assert not room.mailbox.empty()
    seq = room.position
    decided = room.decide(TX, True)
    assert decided.span == 3
    assert [(b.seq, b.first, b.count, b.stream) for b in decided.batches] == [
        (seq, 1, 2, COMMITTED),
        (seq + 2, 3, 1, COMMITTED),
    ]
    assert room.pump() == []
    room.commit()
    assert ids(room.pump()) == [3, 1, 2]
    assert room.acknowledged == []
    assert room.mailbox.participant.names() == []


def test_aborted_sends_leave_nothing() -> None:
    room = Postroom()
    prepared(room, send(1, 2))
    decided = room.decide(TX, False)
    assert (decided.span, decided.batches) == (1, [])
    room.commit()
    assert room.rows == {}
    assert room.mailbox.empty()


def test_locked_messages_are_settled_by_the_commit_and_only_by_it() -> None:
    room = Postroom()
    room.attach(credit=10)
    seq = room.stored(1, 10, flags=RELIABLE | CONFIRM)
    room.pump()
    prepared(room, settles=((seq + 2, seq + 4),))
    assert room.settle((seq + 2, seq + 4)).writes == []
    room.give_back((seq + 2, seq + 4))
    assert room.pump() == [], "given back, but not before the outcome is known"
    decided = room.decide(TX, True)
    assert [(p.first, p.last, p.stored) for p in decided.confirm] == [(3, 5, True)]
    assert room.mailbox.statistics().unsettled == 7
    room.commit()
    room.crash()
    room.attach()
    assert ids(room.pump()) == [1, 2, 6, 7, 8, 9, 10]


def test_abort_leaves_messages_with_their_consumer() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 3)
    room.pump()
    prepared(room, settles=((seq, seq + 1),))
    room.decide(TX, False)
    assert room.pump() == []
    room.settle((seq, seq + 2))
    assert room.mailbox.empty()
    assert room.mailbox.statistics().unsettled == 0


def test_abort_gives_messages_of_a_vanished_consumer_to_others() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 3)
    room.pump()
    prepared(room, settles=((seq + 1, seq + 1),))
    room.detach()
    room.attach(4)
    assert ids(room.pump()) == [1, 3]
    room.decide(TX, False)
    assert [(head.first, head.deliveries) for head in room.pump()] == [(2, 0)]


def test_message_given_back_before_the_abort_has_arrived_is_free_after_it() -> None:
    """The application hears of the abort first and returns what it held, while the lock is still here."""
    room = Postroom()
    room.attach()
    seq = room.stored(1, 2)
    room.pump()
    prepared(room, settles=((seq, seq),))
    room.give_back((seq, seq))
    assert room.pump() == []
    room.decide(TX, False)
    assert [(head.first, head.deliveries) for head in room.pump()] == [(1, 1)]


def test_a_part_in_doubt_survives_a_crash_with_its_locks() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 4)
    room.pump()
    prepared(room, send(1, 2, ttl=5 * SECOND), settles=((seq + 1, seq + 2),))
    room.crash()
    assert room.mailbox.participant.names() == [TX]
    room.attach()
    assert ids(room.pump()) == [1, 4]
    room.decide(TX, True)
    room.commit()
    heads = room.pump()
    assert ids(heads) == [1, 2]
    assert room.mailbox.next_expiry() is not None
    room.settle((0, 1 << 40))
    room.commit()
    assert {key[:1] for key in room.rows} == {b"s"}


def test_prepare_and_decide_are_idempotent() -> None:
    room = Postroom()
    room.attach()
    part, body = transaction(sends=[send(1, 2)]), bodies(send(1, 2))  # type: ignore[list-item]
    seq = room.position
    assert room.prepare(part, body)
    assert room.mailbox.participant.prepared_at(TX) == seq
    assert room.prepare(part, body) == []
    assert room.mailbox.participant.obstacle(part, 1 << 60) is None
    room.commit()
    assert room.mailbox.participant.prepared_at(TX) is None
    room.decide(TX, True)
    again = room.decide(TX, True)
    assert (again.writes, again.span) == ([], 0)
    assert room.decide(TX, False).writes == []
    room.commit()
    assert ids(room.pump()) == [1, 2]


def test_an_echo_of_a_committed_transaction_is_not_held_again() -> None:
    room = Postroom()
    room.attach()
    part, body = transaction(sends=[send(1, 2)]), bodies(send(1, 2))  # type: ignore[list-item]
    room.prepare(part, body)
    room.decide(TX, True)
    room.commit()
    assert room.prepare(part, body) == []
    room.crash()
    assert room.prepare(part, body) == []
    assert room.mailbox.participant.names() == []


def test_ids_that_another_transaction_stored_are_not_stored_twice() -> None:
    room = Postroom()
    room.attach()
    prepared(room, send(1, 2))
    room.decide(TX, True)
    prepared(room, send(2, 2), number=2)
    room.decide(TxId("a", 1, 2, 1), True)
    room.commit()
    assert ids(room.pump()) == [1, 2, 3]


def test_an_aborted_transaction_may_be_repeated_under_another_number() -> None:
    room = Postroom()
    room.attach()
    prepared(room, send(1, 2))
    room.decide(TX, False)
    prepared(room, send(1, 2), number=2)
    room.decide(TxId("a", 1, 2, 1), True)
    room.commit()
    assert ids(room.pump()) == [1, 2]


def test_a_newer_attempt_replaces_an_older_one() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 4)
    room.pump()
    prepared(room, send(1), settles=((seq, seq + 1),))
    newer = transaction(attempt=2, settles=[(seq + 1, seq + 2)])
    assert room.mailbox.participant.obstacle(newer, 0) is None
    room.prepare(newer)
    room.commit()
    assert room.mailbox.participant.names() == [TxId("a", 1, 1, 2)]
    older = transaction(attempt=1)
    found = room.mailbox.participant.obstacle(older, 0)
    assert found is not None
    assert found[0] == Code.NOT_OWNER
    assert room.prepare(older) == []
    assert room.decide(TX, True).writes == []
    room.settle((seq, seq))
    room.decide(TxId("a", 1, 1, 2), True)
    room.commit()
    room.crash()
    room.attach()
    assert ids(room.pump()) == [4]


def test_obstacles_name_the_message() -> None:
    room = Postroom(stored_bytes_max=1000)
    room.attach()
    seq = room.stored(1, 4)
    passing = room.hold(deposit(1, source="b"))
    express = room.hold(deposit(1, 2, stream=EXPRESS))
    assert passing is not None
    assert express is not None
    room.pump()
    room.settle((seq + 3, seq + 3))
    prepared(room, settles=((seq, seq), (express, express)))
    cases = [
        ((seq + 1, seq + 3), Code.ABORTED, f"message {seq + 3} is settled already; give it back"),
        ((seq, seq + 1), Code.ABORTED, f"message {seq} is locked"),
        ((express, express + 1), Code.ABORTED, f"message {express} is locked"),
        ((900, 901), Code.ABORTED, "message 900 is not in this mailbox"),
        ((seq + 1, seq + 9), Code.ABORTED, f"message {seq + 3}"),
        ((passing, passing), Code.NOT_READY, "passing"),
    ]
    for span, code, text in cases:
        found = room.mailbox.participant.obstacle(transaction(number=2, settles=[span]), 0)
        assert found is not None
        assert found[0] == code
        assert text in found[1]
    full = room.mailbox.participant.obstacle(transaction(number=2), 10_000)
    assert full is not None
    assert full[0] == Code.MAILBOX_FULL
    assert room.mailbox.participant.obstacle(transaction(number=2, settles=[(seq + 1, seq + 2)]), 0) is None


def test_sends_in_doubt_count_towards_the_bound_until_they_are_decided() -> None:
    room = Postroom(stored_bytes_max=2 * len(bodies(send(1))))
    one, two = transaction(number=2, sends=[send(2)]), transaction(number=2, sends=[send(2), send(3)])  # type: ignore[list-item]
    prepared(room, send(1))
    assert room.mailbox.participant.obstacle(one, len(bodies(send(2)))) is None
    for _ in range(2):
        assert room.mailbox.participant.obstacle(two, len(bodies(send(2), send(3)))) == (Code.MAILBOX_FULL, ANY)
        assert room.send(deposit(1, 3)).verdict == Verdict.FULL
        room.crash()
    room.decide(TX, False)
    assert room.send(deposit(1, 3)).verdict == Verdict.NEW


def test_new_attempt_takes_the_room_of_the_one_it_replaces() -> None:
    room = Postroom(stored_bytes_max=2 * len(bodies(send(1))))
    prepared(room, send(1), send(2))
    assert room.mailbox.participant.obstacle(transaction(number=2, sends=[send(3)]), len(bodies(send(3)))) is not None  # type: ignore[list-item]
    prepared(room, send(1), send(2), attempt=2)
    assert room.send(deposit(1)).verdict == Verdict.FULL
    room.decide(TX._replace(attempt=2), True)
    room.commit()
    assert room.mailbox.statistics().stored_bytes == 2 * len(bodies(send(1)))


def test_messages_on_disk_only_cannot_be_locked_yet() -> None:
    room = Postroom(window_bytes=1)
    room.stored(1)
    seq = room.stored(2)
    found = room.mailbox.participant.obstacle(transaction(settles=[(seq, seq)]), 0)
    assert found is not None
    assert found[0] == Code.NOT_READY


def test_express_messages_can_be_part_of_a_transaction() -> None:
    room = Postroom()
    room.attach()
    number = room.hold(deposit(1, 2, stream=EXPRESS))
    assert number is not None
    room.pump()
    prepared(room, settles=((number, number),))
    decided = room.decide(TX, True)
    assert [(p.first, p.last, p.stored) for p in decided.confirm] == [(1, 1, False)]
    room.settle((number + 1, number + 1))
    assert room.mailbox.empty()


def test_an_unpassed_batch_is_locked_under_its_stored_number() -> None:
    room = Postroom()
    room.attach()
    number = room.hold(deposit(1, 2))
    assert number is not None
    room.pump()
    room.store_passing()
    room.prepare(transaction(settles=[(number, number)]))
    room.commit()
    room.crash()
    room.attach()
    assert ids(room.pump()) == [2]
    room.decide(TX, True)
    room.commit()
    room.crash()
    room.attach()
    assert numbers(room.pump()) == [2]


def test_dead_letter_in_a_transaction_is_called_one() -> None:
    room = Postroom(deliveries_max=1)
    room.attach()
    seq = room.stored(1, 2)
    room.pump()
    room.give_back((seq, seq))
    room.commit()
    part = transaction(number=2, settles=[(seq, seq + 1)])
    dead = (Code.BAD_FIELD, f"settles: message {seq} was given back too often and is a dead letter now; leave it out")
    assert room.mailbox.participant.obstacle(part, 0) == dead
    room.append(room.mailbox.settle_numbers([(seq, seq)]).writes)
    room.commit()
    assert room.mailbox.participant.obstacle(part, 0) == dead, "still, when the dead-letter mailbox has it"
    assert room.mailbox.participant.obstacle(transaction(number=2, settles=[(seq + 1, seq + 1)]), 0) is None


def locked_with_a_reader_that_ended() -> tuple[Postroom, int]:
    room = Postroom()
    room.attach()
    seq = room.stored(1, 2, stream=TRANSACTIONAL)
    room.stored(3, 2, stream=TRANSACTIONAL)
    assert ids(room.pump()) == [1, 2, 3, 4]
    prepared(room, settles=((seq, seq + 1),))
    room.detach()
    return room, seq


def test_one_reader_alone_waits_for_what_a_transaction_of_another_one_has_locked() -> None:
    room, _ = locked_with_a_reader_that_ended()
    room.attach(conn=4)
    room.stored(5, stream=TRANSACTIONAL)
    urgent = room.stored(6, stream=TRANSACTIONAL, priority=9)
    assert numbers(room.pump()) == [urgent], "what has its place before goes before"
    room.decide(TX, False)
    assert ids(room.pump()) == [1, 2, 3, 4, 5]


def test_nothing_waits_any_more_when_that_transaction_has_committed() -> None:
    room, _ = locked_with_a_reader_that_ended()
    room.attach(conn=4)
    assert room.pump() == []
    room.decide(TX, True)
    assert ids(room.pump()) == [3, 4]


def test_several_readers_do_not_wait_for_a_transaction() -> None:
    room, _ = locked_with_a_reader_that_ended()
    room.attach(conn=4)
    room.attach(conn=6)
    assert ids(room.pump()) == [3, 4]


def test_reader_with_a_selector_waits_too() -> None:
    room, _ = locked_with_a_reader_that_ended()
    room.attach(conn=4, selector="JMSPriority < 9")
    assert room.pump() == []
    room.decide(TX, False)
    assert ids(room.pump()) == [1, 2, 3, 4]


def test_new_owner_lets_nothing_overtake_what_is_locked() -> None:
    room, _ = locked_with_a_reader_that_ended()
    room.crash()
    room.attach(conn=4)
    assert room.pump() == []
    room.decide(TX, False)
    assert ids(room.pump()) == [1, 2, 3, 4]


def test_transaction_is_behind_those_before_it_of_the_same_client_that_send_here_and_are_in_doubt() -> None:
    room = Postroom()
    room.attach()
    seq = room.stored(1)
    prepared(room, settles=((seq, seq),), number=1)
    prepared(room, send(1), number=2)
    prepared(room, send(2), number=3)
    part = room.mailbox.participant
    assert part.is_behind(TxId("a", 1, 3, 1))
    assert not part.is_behind(TxId("a", 1, 2, 1)), "the first one sends nothing"
    assert not part.is_behind(TxId("a", 2, 3, 1)), "another life"
    assert not part.is_behind(TxId("b", 1, 3, 1)), "another client"
    room.decide(TxId("a", 1, 2, 1), True)
    assert not part.is_behind(TxId("a", 1, 3, 1))
