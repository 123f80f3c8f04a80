"""Atomic transactions: numbering, reservations, outcomes, repetition."""

from __future__ import annotations

import pytest

from causeway.client import transactions
from causeway.client.outcomes import TransactionDone
from causeway.client.transactions import Parcel
from causeway.core.mail.faults import transaction_fault
from causeway.core.messages import Attached, Commit, Moved, Outcome, SendPart, Settle, SettlePart
from causeway.errors import Code, ConfigError, DeadlineExceeded, Refused
from causeway.limits import HEAD_BYTES_MAX, OPERATION_BYTES_MAX, TRANSACTION_PARTS_MAX
from causeway.types import SECOND
from causeway.wire import body as bodies
from causeway.wire.codec import encode_head
from tests.unit.client.stage import INCARNATION, Stage, peer


def outcome(number: int, *, committed: bool = True, code: int = 0) -> Outcome:
    return Outcome("billing", INCARNATION, number, committed, code, "" if committed else "conflict")


def test_transaction_travels_as_one_frame_with_parts_per_destination(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 3)
    messages = stage.shown(consumer)
    parcels = [Parcel("a", b"1"), Parcel("b", b"22"), Parcel("a", b"3"), Parcel("a", b"4", priority=9)]
    commitment = stage.session.commit(parcels, [(m._lot, m._index) for m in messages[:2]])
    stage.turn()
    (frame,) = [frame for frame in stage.sent if isinstance(frame.head, Commit)]
    first, second, third = bodies.join([b"1", b"3"]), bodies.join([b"4"]), bodies.join([b"22"])
    assert frame.head == Commit(
        "billing",
        INCARNATION,
        1,
        (
            SendPart("a", 1, 2, 1, 4, 0, len(first)),
            SendPart("a", 3, 1, 1, 9, 0, len(second)),
            SendPart("b", 1, 1, 1, 4, 0, len(third)),
        ),
        (SettlePart("orders", ((10, 11),)),),
    )
    assert frame.body == first + second + third
    assert not commitment.done


def test_committed_transaction_accepts_its_messages_without_settling_them_again(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    held = stage.shown(consumer)
    commitment = stage.session.commit([], [(m._lot, m._index) for m in held])
    stage.turn()
    stage.receive(home, outcome(1))
    assert commitment.done
    assert commitment.error is None
    assert stage.outcomes(TransactionDone)
    assert stage.said(Settle) == []
    stage.deliver(home, consumer, 10, 1, 2)
    assert stage.bodies_shown(consumer) == []
    assert stage.said(Settle)


def test_aborted_transaction_leaves_its_messages_in_hand(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    held = stage.shown(consumer)
    commitment = stage.session.commit([Parcel("a", b"x")], [(m._lot, m._index) for m in held])
    stage.turn()
    stage.session.accept(held[0]._lot, 0, 0)
    stage.turn()
    assert stage.said(Settle) == []
    stage.receive(home, outcome(1, committed=False, code=int(Code.ABORTED)))
    assert isinstance(commitment.error, Refused)
    assert commitment.error.code == Code.ABORTED
    stage.session.accept(held[0]._lot, 0, 0)
    stage.turn()
    assert [head.spans for head in stage.said(Settle)] == [((10, 10),)]


def test_numbers_and_ids_rise_and_commits_stay_in_order_wherever_they_go(stage: Stage, home: str) -> None:
    for text in (b"1", b"2", b"3"):
        stage.session.commit([Parcel("a", text)], [])
    stage.turn()
    stage.receive(home, Moved("billing", peer("b9")))
    stage.session.commit([Parcel("a", b"4")], [])
    stage.turn()
    stage.open("b9")
    commits = stage.said(Commit, "b9")
    assert [head.number for head in commits] == [1, 2, 3, 4]
    assert [head.sends[0].first for head in commits] == [1, 2, 3, 4]


def test_unanswered_commit_is_repeated_with_its_number_after_a_reconnect(stage: Stage, home: str) -> None:
    stage.session.commit([Parcel("a", b"x")], [])
    stage.session.commit([Parcel("a", b"y")], [])
    stage.turn()
    stage.receive(home, outcome(1))
    stage.cut(home)
    other = stage.open()
    assert [head.number for head in stage.said(Commit, other)] == [2]


def test_message_in_an_open_transaction_is_not_shown_again(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    (held,) = stage.shown(consumer)
    stage.session.commit([], [(held._lot, 0)])
    stage.turn()
    stage.cut(home)
    other = stage.open()
    stage.receive(other, Attached("orders", consumer.number))
    stage.deliver(other, consumer, 10, 1)
    assert stage.bodies_shown(consumer) == []
    stage.receive(other, outcome(1))
    stage.deliver(other, consumer, 10, 1)
    assert stage.bodies_shown(consumer) == []


def test_commit_nobody_answers_is_reported_as_unknown_and_still_repeated(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    (held,) = stage.shown(consumer)
    commitment = stage.session.commit([], [(held._lot, 0)], 2 * SECOND)
    stage.sleep(3 * SECOND)
    assert isinstance(commitment.error, DeadlineExceeded)
    assert "unknown" in str(commitment.error)
    for _ in range(6):
        for name in list(stage.conns):
            stage.receive(name, Attached("other", 99))
        for dial in list(stage.dials.values()):
            stage.open(dial.host)
        stage.sleep(1 * SECOND)
    assert len(stage.said(Commit)) >= 2
    stage.receive(next(iter(stage.conns)), outcome(1))
    assert stage.session.idle
    assert not held._lot.is_open(0)


def many(count: int, size: int = 1, name: int = 0) -> list[Parcel]:
    """One message to each of so many destinations with names of so many bytes."""
    return [Parcel(f"{number}".rjust(name, "x"), bytes(size)) for number in range(count)]


@pytest.mark.parametrize(
    ("parcels", "field"),
    [
        (many(1), None),
        (many(TRANSACTION_PARTS_MAX), None),
        (many(TRANSACTION_PARTS_MAX + 1), "transaction.parts"),
        ([Parcel("a", b"", priority=number % 2) for number in range(TRANSACTION_PARTS_MAX + 1)], "transaction.parts"),
        ([Parcel("a", b"")] * 5_000, None),
        (many(2, OPERATION_BYTES_MAX // 2 - 8), None),
        (many(2, OPERATION_BYTES_MAX // 2), "transaction.body"),
        (many(200, name=255), None),
        (many(250, name=255), "transaction.head"),
    ],
)
def test_transaction_is_refused_before_it_is_sent_exactly_when_a_broker_would_refuse_it(
    stage: Stage, home: str, parcels: list[Parcel], field: str | None
) -> None:
    if field is not None:
        with pytest.raises(ConfigError, match="split the transaction") as caught:
            stage.session.commit(parcels, [])
        assert caught.value.field == field
        parcels = [Parcel("a", b"x")]
    stage.session.commit(parcels, [])
    stage.turn()
    (frame,) = [frame for frame in stage.sent if isinstance(frame.head, Commit)]
    assert frame.head.number == 1, "a refused one costs no number"
    assert transaction_fault(frame.head, frame.body) is None
    assert len(encode_head(frame.head)) <= HEAD_BYTES_MAX


def test_transaction_with_too_many_scattered_acknowledgements_is_refused_and_leaves_them_in_hand(
    stage: Stage, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "SPANS_MAX", 2)
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 5)
    held = [(m._lot, m._index) for m in stage.shown(consumer)]
    with pytest.raises(ConfigError) as caught:
        stage.session.commit([], held[::2])
    assert (caught.value.field, caught.value.value) == ("transaction.acknowledgements", 3)
    assert not any(lot.is_reserved(index) for lot, index in held)
    stage.session.commit([], held)


def test_open_transactions_fail_when_the_session_is_closed(stage: Stage, home: str) -> None:
    sent = stage.session.commit([Parcel("a", b"x")], [])
    stage.turn()
    fresh = stage.session.commit([Parcel("a", b"x")], [])
    stage.session.close()
    stage.turn()
    assert sent.done
    assert fresh.done
    assert sent.error is not None
    assert fresh.error is not None
