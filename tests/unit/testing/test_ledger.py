"""The ledger catches every broken guarantee that is planted, and excuses only what the guarantee excuses."""

from __future__ import annotations

import pytest

from causeway.errors import ConfigError
from causeway.testing.ledger import Kind, Ledger, Stamp, read_stamp


def _send(ledger: Ledger, kind: Kind, count: int, *, acknowledge: bool = True) -> list[bytes]:
    bodies = []
    for _ in range(count):
        number, body = ledger.write(kind, "orders", "billing")
        if acknowledge:
            ledger.acknowledged(kind, "orders", "billing", number)
        bodies.append(body)
    return bodies


def test_ledger_holds_when_everything_arrives_once_and_in_order() -> None:
    ledger = Ledger()
    for body in _send(ledger, Kind.TRANSACTIONAL, 5):
        ledger.delivered("billing", body)
    [tally] = ledger.tallies()
    assert (tally.sent, tally.acknowledged, tally.delivered) == (5, 5, 5)
    assert (tally.doubled, tally.lost, tally.lost_allowed, tally.disordered, tally.failed) == (0, 0, 0, 0, 0)
    assert ledger.holds()
    assert ledger.outstanding() == 0
    assert ledger.complaints() == []


def test_ledger_counts_a_message_that_arrives_twice() -> None:
    ledger = Ledger()
    [body] = _send(ledger, Kind.RECOVERABLE, 1)
    for _ in range(3):
        ledger.delivered("billing", body)
    assert ledger.tallies()[0].doubled == 2
    assert ledger.tallies()[0].delivered == 1
    assert not ledger.holds()
    assert "1 arrived 3 times" in ledger.complaints()[0]


def test_ledger_counts_an_acknowledged_message_that_never_arrives() -> None:
    ledger = Ledger()
    first, _lost, third = _send(ledger, Kind.TRANSACTIONAL, 3)
    ledger.delivered("billing", first)
    ledger.delivered("billing", third)
    assert ledger.tallies()[0].lost == 1
    assert ledger.outstanding() == 1
    assert not ledger.holds()
    assert "2 was acknowledged and never arrived" in ledger.complaints()[0]


def test_ledger_does_not_miss_what_was_never_acknowledged() -> None:
    ledger = Ledger()
    _send(ledger, Kind.RECOVERABLE, 2, acknowledge=False)
    ledger.failed(Kind.RECOVERABLE, "orders", "billing", 1)
    assert ledger.tallies()[0].failed == 1
    assert ledger.tallies()[0].lost == 0
    assert ledger.holds()


def test_ledger_counts_disorder_for_transactional_messages_only() -> None:
    ledger = Ledger()
    for kind in (Kind.TRANSACTIONAL, Kind.RECOVERABLE):
        for body in reversed(_send(ledger, kind, 3)):
            ledger.delivered("billing", body)
    by_kind = {tally.kind: tally for tally in ledger.tallies()}
    assert by_kind[Kind.TRANSACTIONAL].disordered == 2
    assert not by_kind[Kind.TRANSACTIONAL].holds
    assert by_kind[Kind.RECOVERABLE].disordered == 0
    assert by_kind[Kind.RECOVERABLE].holds


def test_ledger_counts_a_late_repetition_as_doubled_and_not_as_disorder() -> None:
    ledger = Ledger()
    bodies = _send(ledger, Kind.TRANSACTIONAL, 2)
    for body in (*bodies, bodies[0]):
        ledger.delivered("billing", body)
    assert ledger.tallies()[0].doubled == 1
    assert ledger.tallies()[0].disordered == 0


def test_ledger_excuses_express_messages_that_a_killed_owner_held_and_no_others() -> None:
    ledger = Ledger()
    _send(ledger, Kind.EXPRESS, 2)
    _send(ledger, Kind.RECOVERABLE, 1)
    ledger.forgive(["billing"])
    _send(ledger, Kind.EXPRESS, 1)
    by_kind = {tally.kind: tally for tally in ledger.tallies()}
    assert (by_kind[Kind.EXPRESS].lost_allowed, by_kind[Kind.EXPRESS].lost) == (2, 1)
    assert (by_kind[Kind.RECOVERABLE].lost_allowed, by_kind[Kind.RECOVERABLE].lost) == (0, 1)
    assert ledger.outstanding() == 2


def test_ledger_excuses_nothing_for_mailboxes_of_other_owners() -> None:
    ledger = Ledger()
    _send(ledger, Kind.EXPRESS, 1)
    ledger.forgive(["shipping"])
    assert ledger.tallies()[0].lost == 1


@pytest.mark.parametrize(
    ("receiver", "body"),
    [
        ("billing", b"not a stamp"),
        ("billing", b"transactional orders billing 99 ..."),
        ("billing", b"transactional orders billing x ..."),
        ("billing", b"nonsense orders billing 1 ..."),
        ("shipping", b"transactional orders billing 1 ..."),
        ("billing", b"transactional nobody billing 1 ..."),
    ],
)
def test_ledger_calls_a_message_that_nobody_sent_there_a_stray(receiver: str, body: bytes) -> None:
    ledger = Ledger()
    _send(ledger, Kind.TRANSACTIONAL, 1)
    assert ledger.delivered(receiver, body) is None
    assert len(ledger.strays) == 1
    assert not ledger.holds()


def test_stamp_survives_the_body_and_fills_it_to_its_size() -> None:
    _number, body = Ledger().write(Kind.EXPRESS, "orders", "billing", size=200)
    assert len(body) == 200
    assert read_stamp(body) == Stamp(Kind.EXPRESS, "orders", "billing", 1)


def test_ledger_refuses_a_name_it_could_not_read_back() -> None:
    with pytest.raises(ConfigError, match=r"dest=.*one word"):
        Ledger().write(Kind.EXPRESS, "orders", "two words")
