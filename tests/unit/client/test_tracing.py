"""What an application did, in the order in which it saw it."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.client.tracing import ApplicationTrace
from causeway.client.transactions import Parcel
from causeway.core.messages import Accepted, Deposit, Outcome, Rejected
from causeway.errors import Code
from causeway.names import SEATS
from causeway.topics import item_of
from causeway.trace import Step, TraceRecord
from causeway.types import SECOND, ServiceClass
from tests.unit.client.stage import INCARNATION, Stage


class Traced:
    """A session whose records are kept."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.records: list[TraceRecord] = []
        stage.session.trace_to(ApplicationTrace(lambda: stage.now, self.records.extend))

    @property
    def steps(self) -> list[tuple[Step, int, int]]:
        return [(Step(one.step), one.first, one.last) for one in self.records]

    def send(self, *bodies: bytes, **how: Any) -> Deposit:
        for body in bodies:
            self.stage.session.send("orders", body, **how)
        self.stage.turn()
        return self.stage.said(Deposit)[-1]


@pytest.fixture
def traced(stage: Stage, home: str) -> Traced:
    return Traced(stage)


def test_batch_is_sent_and_acknowledged_as_one(traced: Traced, home: str) -> None:
    traced.stage.accept(home, traced.send(b"one", b"three", service=ServiceClass.TRANSACTIONAL))
    assert traced.steps == [(Step.SENT, 1, 2), (Step.ACKNOWLEDGED, 1, 2)]
    sent = traced.records[0]
    assert (sent.source, sent.incarnation, sent.dest, sent.stream) == ("billing", INCARNATION, "orders", 2)
    assert (sent.broker, sent.mailbox, sent.bytes, sent.reliable, sent.service) == ("", "orders", 8, True, 2)


def test_acknowledgement_in_parts_is_written_in_parts(traced: Traced, home: str) -> None:
    head = traced.send(b"1", b"2", b"3", b"4")
    whose = (head.source, head.incarnation, head.dest, head.stream)
    traced.stage.receive(home, Accepted(*whose, 2, 3))
    traced.stage.receive(home, Accepted(*whose, 1, 4))
    assert traced.steps == [
        (Step.SENT, 1, 4),
        (Step.ACKNOWLEDGED, 2, 3),
        (Step.ACKNOWLEDGED, 1, 1),
        (Step.ACKNOWLEDGED, 4, 4),
    ]


def test_what_nobody_answers_is_only_sent(traced: Traced) -> None:
    traced.send(b"1", service=ServiceClass.EXPRESS, reliable=False)
    assert traced.steps == [(Step.SENT, 1, 1)]
    assert not traced.records[0].reliable


@pytest.mark.parametrize(("code", "note"), [(Code.BAD_FIELD, "bad_field"), (Code.EXPIRED, "unknown: ")])
def test_refusal_says_whether_it_is_certain(traced: Traced, home: str, code: Code, note: str) -> None:
    head = traced.send(b"1")
    whose = (head.source, head.incarnation, head.dest, head.stream)
    traced.stage.receive(home, Rejected(*whose, 1, 1, code, "no"))
    assert traced.steps[1:] == [(Step.REFUSED, 1, 1)]
    assert traced.records[1].note.startswith(note)


def test_send_that_is_not_answered_in_time_may_arrive(traced: Traced) -> None:
    traced.send(b"1")
    traced.stage.sleep(60 * SECOND)
    assert traced.steps[1:] == [(Step.REFUSED, 1, 1)]
    assert traced.records[1].note.startswith("unknown: ")


def test_what_was_received_stands_before_what_was_sent_because_of_it(traced: Traced, home: str) -> None:
    stage = traced.stage
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 3)
    assert traced.steps == []  # delivered is not received
    first, second = stage.shown(consumer, 2)
    stage.session.send("orders", b"answer")
    stage.session.accept(first._lot, 0, 1)
    stage.turn()
    (third,) = stage.shown(consumer)
    stage.session.give_back(third._lot, 2, 2)
    received = [one for one in traced.records if one.step == Step.RECEIVED]
    assert [(one.first, one.last, one.bytes, one.mailbox) for one in received] == [
        (1, 2, 2, "orders"),
        (3, 3, 1, "orders"),
    ]
    assert traced.steps == [
        (Step.RECEIVED, 1, 2),
        (Step.SETTLED, 1, 2),
        (Step.SENT, 1, 1),
        (Step.RECEIVED, 3, 3),
        (Step.RETURNED, 3, 3),
    ]
    assert {(one.source, one.incarnation, one.dest, one.stream) for one in received} == {("shop", 5, "orders", 2)}
    assert second._lot is first._lot


def test_topic_and_causal_order_have_the_ids_of_a_receipt(traced: Traced) -> None:
    session = traced.stage.session
    tickets = [session.send("roads/a1", b"1", published=True), session.send("bob", b"2", causal=True)]
    traced.stage.turn()
    for ticket, record in zip(tickets, traced.records, strict=True):
        its = ticket.message_id
        found = (record.source, record.incarnation, record.dest, record.stream, record.first)
        assert found == (its.source, its.incarnation, its.dest, its.stream, its.number)
    published, causal = traced.records
    assert (published.dest, published.topic) == (item_of("roads/a1"), "roads/a1")
    assert (causal.dest, causal.mailbox, causal.causal, causal.service) == (SEATS, "bob", True, 1)


@pytest.mark.parametrize("committed", [True, False])
def test_transaction_is_sent_and_answered_with_what_it_settles(traced: Traced, home: str, *, committed: bool) -> None:
    stage = traced.stage
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 1)
    (message,) = stage.shown(consumer)
    commitment = stage.session.commit([Parcel("a", b"1"), Parcel("a", b"2"), Parcel("b", b"3")], [(message._lot, 0)])
    stage.turn()
    head = commitment.head
    stage.receive(home, Outcome(head.source, head.incarnation, head.number, committed, int(Code.ABORTED)))
    ends = [(Step.ACKNOWLEDGED, 1, 2), (Step.ACKNOWLEDGED, 1, 1)]
    settled = [(Step.SETTLED, 1, 1)] if committed else []
    refused = [(Step.REFUSED, 1, 2), (Step.REFUSED, 1, 1)]
    assert traced.steps[1:] == [(Step.SENT, 1, 2), (Step.SENT, 1, 1), *settled, *(ends if committed else refused)]
    assert {one.stream for one in traced.records if one.step == Step.SENT} == {ServiceClass.COMMITTED}
