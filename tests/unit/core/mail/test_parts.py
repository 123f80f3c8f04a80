"""The holding side of a transaction: said only when on all copies, carried out once, asked about in doubt."""

from __future__ import annotations

from causeway.core.mail.parts import DOUBT
from causeway.core.messages import Accepted, Confirmed, Message, TxAsk, TxDecide, TxDone, TxPrepare, TxPrepared
from causeway.errors import Code
from causeway.trace import Step
from tests.unit.core.mail.neighbours import ME, at, heads
from tests.unit.core.mail.owned import Stage, attach
from tests.unit.core.mail.postroom import CONFIRM, NAME, RELIABLE, body_of, deposit, transaction


def store(stage: Stage, first: int, **fields: object) -> None:
    stage.deposit(deposit(first, **fields))
    stage.commit()
    stage.courier.said()


def prepare(stage: Stage, tx: TxPrepare, body: bytes = b"") -> list[Message]:
    stage.office.on_prepare(at(), stage.key, tx, body)
    return stage.courier.said()


def decide(stage: Stage, number: int = 1, *, committed: bool = True) -> list[Message]:
    stage.office.on_decide(at(), stage.key, TxDecide("a", 1, number, 1, NAME, committed, b"o" * 16))
    return stage.courier.said()


def test_part_is_promised_only_when_it_is_on_all_copies() -> None:
    stage = Stage()
    one = deposit(1)
    assert prepare(stage, transaction(sends=[one]), body_of(one)) == []
    turn = stage.commit()
    (answer,) = stage.courier.said()
    assert isinstance(answer, TxPrepared)
    assert (answer.ok, answer.number, answer.mailbox) == (True, 1, NAME)
    assert [(one.step, one.mailbox, one.first) for one in turn.effects.traces] == [(Step.PREPARED, NAME, 1)]


def test_part_that_was_promised_is_promised_again_without_another_operation() -> None:
    stage = Stage()
    one = deposit(1)
    prepare(stage, transaction(sends=[one]), body_of(one))
    assert prepare(stage, transaction(sends=[one]), body_of(one)) == [], "the first one is still on its way"
    stage.commit()
    stage.courier.said()
    (answer,) = prepare(stage, transaction(sends=[one]), body_of(one))
    assert isinstance(answer, TxPrepared)
    assert answer.ok
    assert stage.groups.take() == []


def test_part_that_cannot_be_held_is_refused_at_once_with_the_reason() -> None:
    stage = Stage()
    (answer,) = prepare(stage, transaction(settles=[(500, 500)]))
    assert isinstance(answer, TxPrepared)
    assert not answer.ok
    assert answer.code == Code.ABORTED
    assert answer.detail
    assert stage.groups.take() == []


def test_nothing_of_a_part_is_seen_before_the_decision() -> None:
    stage = Stage()
    attach(stage.office)
    one = deposit(1)
    prepare(stage, transaction(sends=[one]), body_of(one))
    assert heads(stage.commit(), 2) == []
    decide(stage)
    delivered = heads(stage.commit(), 2)
    assert len(delivered) == 1


def test_decision_is_reported_done_only_when_it_is_on_all_copies() -> None:
    stage = Stage()
    one = deposit(1)
    prepare(stage, transaction(sends=[one]), body_of(one))
    stage.commit()
    stage.courier.said()
    assert decide(stage) == []
    assert decide(stage) == [], "said again while it is on its way: still not done"
    stage.commit()
    (done,) = stage.courier.said()
    assert isinstance(done, TxDone)
    assert [type(head) for head in decide(stage)] == [TxDone], "whoever asks again is told again"


def test_decision_that_overtakes_its_preparation_waits_for_the_coordinator_to_repeat_it() -> None:
    stage = Stage()
    one = deposit(1)
    prepare(stage, transaction(sends=[one]), body_of(one))
    assert decide(stage) == []
    stage.commit()
    assert [type(head) for head in stage.courier.said()] == [TxPrepared]
    assert stage.groups.take() == [], "nothing was decided behind the coordinator's back"


def test_unknown_part_is_done_already() -> None:
    stage = Stage()
    (done,) = decide(stage, number=77)
    assert isinstance(done, TxDone)
    assert done.number == 77


def test_aborted_part_leaves_nothing_and_frees_what_it_would_have_settled() -> None:
    stage = Stage()
    store(stage, 1)
    attach(stage.office)
    stage.commit()
    one = deposit(5)
    prepare(stage, transaction(sends=[one], settles=[(1, 1)]), body_of(one))
    stage.commit()
    decide(stage, committed=False)
    stage.commit()
    box = stage.office.boxes[stage.key]
    assert box.mailbox.statistics().stored_count == 1, "the message that was there"
    assert box.mailbox.participant.names() == []


def test_settlement_by_a_transaction_is_confirmed_to_the_sender_who_asked_for_it() -> None:
    stage = Stage()
    store(stage, 1, flags=RELIABLE | CONFIRM)
    attach(stage.office)
    stage.commit()
    prepare(stage, transaction(settles=[(1, 1)]))
    stage.commit()
    stage.courier.said()
    decide(stage)
    stage.commit()
    kinds = [type(head) for head in stage.courier.said()]
    assert kinds == [Confirmed, TxDone]
    assert Accepted not in kinds


def test_part_without_a_decision_is_asked_about_after_a_while_and_again() -> None:
    stage = Stage()
    one = deposit(1)
    prepare(stage, transaction(sends=[one]), body_of(one))
    stage.commit()
    assert stage.office.next_deadline() == DOUBT
    for _ in range(2):
        due = stage.office.next_deadline()
        assert due is not None
        turn = at(due)
        stage.office.on_deadline(turn)
        stage.office.flush(turn)
        ((mailbox, ask),) = stage.courier.posted
        stage.courier.posted.clear()
        assert mailbox == "a", "the sender's own mailbox is where it was decided"
        assert isinstance(ask, TxAsk)
        assert (ask.number, ask.attempt, ask.mailbox, ask.origin) == (1, 1, NAME, ME.id)


def test_settled_numbers_in_memory_are_stored_before_a_transaction_may_lock_them() -> None:
    stage = Stage(durability="memory")
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.flush()
    assert stage.groups.take() == [], "it passes through memory"
    prepare(stage, transaction(settles=[(1, 1)]))
    assert len(stage.groups.take()) >= 1, "a lock must outlive its owner"


def test_decision_does_not_overtake_that_of_an_earlier_transaction_of_the_same_client() -> None:
    stage = Stage()
    attach(stage.office)
    for number in (1, 2):
        one = deposit(number)
        prepare(stage, transaction(sends=[one], number=number), body_of(one))
    stage.commit()
    stage.courier.said()
    assert decide(stage, 2) == []
    assert heads(stage.commit(), 2) == []
    for number in (1, 2):
        decide(stage, number)
        assert len(heads(stage.commit(), 2)) == 1
        assert [one.number for one in stage.courier.said() if isinstance(one, TxDone)] == [number]


def test_transaction_that_failed_does_not_wait_for_an_earlier_one() -> None:
    stage = Stage()
    for number in (1, 2):
        one = deposit(number)
        prepare(stage, transaction(sends=[one], number=number), body_of(one))
    stage.commit()
    stage.courier.said()
    decide(stage, 2, committed=False)
    stage.commit()
    assert [one.number for one in stage.courier.said() if isinstance(one, TxDone)] == [2]
