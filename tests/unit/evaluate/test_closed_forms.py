"""The paper's formulas, on numbers small enough to follow."""

from __future__ import annotations

import pytest

from causeway.evaluate.closed_forms import (
    CAUSEWAY,
    EXPRESS,
    KINDS,
    MSMQ,
    PBM,
    RECOVERABLE,
    TRANSACTIONAL,
    HopMeans,
    MailKind,
    frames,
    hops_bound,
    one_way_ms,
    round_trip_ms,
)

WAY = HopMeans(2, 10, message_bytes=197, ack_bytes=0)
"""197 bytes take half a millisecond on a line of 3.152 Mbps."""
THERE, AWAY = (
    MailKind(TRANSACTIONAL, reliable=True, online=True),
    MailKind(TRANSACTIONAL, reliable=True, online=False),
)
EXPRESS_THERE, EXPRESS_AWAY = (MailKind(EXPRESS, reliable=True, online=online) for online in (True, False))


def test_delays_are_those_of_the_paper() -> None:
    assert one_way_ms(PBM, THERE, WAY) == pytest.approx(4 * 11)
    assert one_way_ms(PBM, AWAY, WAY) == pytest.approx(3 * 11)
    assert one_way_ms(MSMQ, THERE, WAY) == pytest.approx(2 * 11 + 3 * 7.5)
    assert one_way_ms(MSMQ, EXPRESS_THERE, WAY) == pytest.approx(2 * 11)


def test_round_trips_are_those_of_the_paper() -> None:
    assert round_trip_ms(PBM, THERE, WAY) == round_trip_ms(PBM, AWAY, WAY) == pytest.approx(4 * 21)
    assert round_trip_ms(PBM, EXPRESS_AWAY, WAY) == pytest.approx(3 * 21)
    assert round_trip_ms(MSMQ, THERE, WAY) == pytest.approx(2 * 21 + 6 * 7.5)
    assert round_trip_ms(MSMQ, EXPRESS_AWAY, WAY) == pytest.approx(2 * 21)


@pytest.mark.parametrize(
    ("service", "reliable", "online", "pbm", "msmq"),
    [
        (RECOVERABLE, True, True, 2 * (3 + 2), 4 * 3),
        (RECOVERABLE, False, True, 3 + 2, 2 * 3),
        (TRANSACTIONAL, True, False, 3 * 3 + 3 * 3 + 2, 4 * 3),
        (RECOVERABLE, False, False, 3 + 3 * 3 - 1, 2 * 3),
        (EXPRESS, True, False, 3 * 3 + 5, 4 * 3),
        (EXPRESS, False, False, 3 + 2, 2 * 3),
    ],
)
def test_messages_are_those_of_the_paper(service: str, reliable: bool, online: bool, pbm: int, msmq: int) -> None:
    kind = MailKind(service, reliable, online)
    assert (frames(PBM, kind, 3), frames(MSMQ, kind, 3)) == (pbm, msmq)


def test_our_answers_take_one_hop_back_however_long_the_way_was() -> None:
    assert frames(CAUSEWAY, THERE, 5) - frames(CAUSEWAY, THERE, 2) == 3
    assert frames(PBM, THERE, 5) - frames(PBM, THERE, 2) == 6


def test_bound_of_hops_is_the_number_of_digits() -> None:
    assert [hops_bound(brokers) for brokers in (1, 16, 17, 256, 257, 4096)] == [0, 1, 2, 2, 3, 3]


def test_there_are_five_types_twice() -> None:
    assert len(set(KINDS)) == len(KINDS) == 10
    assert str(KINDS[0]) == "express reliable, online"
