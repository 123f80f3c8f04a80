"""Consumers per connection: counted, bounded, and forgotten with their connection or mailbox."""

from __future__ import annotations

import pytest

from causeway.core.mail.attendance import Attendance
from causeway.types import key_of

ORDERS, BILLS = key_of("orders"), key_of("bills")


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.mail.attendance.CONSUMERS_PER_CONNECTION_MAX", 3)


def test_bound_counts_the_consumers_of_a_connection_over_all_mailboxes() -> None:
    attendance = Attendance()
    assert attendance.enter(2, ORDERS, 1)
    assert attendance.enter(2, ORDERS, 2)
    assert attendance.enter(2, BILLS, 1)
    assert not attendance.enter(2, BILLS, 2)
    assert attendance.enter(4, BILLS, 2), "another connection has its own"


def test_consumer_that_begins_anew_is_not_counted_twice() -> None:
    attendance = Attendance()
    for consumer in (1, 2, 3):
        attendance.enter(2, ORDERS, consumer)
    assert attendance.enter(2, ORDERS, 3)


def test_consumer_that_left_makes_room_and_the_last_one_ends_the_mailbox() -> None:
    attendance = Attendance()
    for consumer in (1, 2, 3):
        attendance.enter(2, ORDERS, consumer)
    attendance.leave(2, ORDERS, 2)
    assert attendance.enter(2, BILLS, 1)
    attendance.leave(2, ORDERS, 1)
    assert list(attendance.groups(2)) == [ORDERS, BILLS]
    attendance.leave(2, ORDERS, 3)
    assert list(attendance.groups(2)) == [BILLS]


def test_mailbox_that_moved_away_takes_its_consumers_out_of_the_count() -> None:
    attendance = Attendance()
    for consumer in (1, 2, 3):
        attendance.enter(2, ORDERS, consumer)
    attendance.end(2, ORDERS)
    assert attendance.enter(2, BILLS, 1)
    assert list(attendance.groups(2)) == [BILLS]


def test_closed_connection_says_what_it_consumed_from_once() -> None:
    attendance = Attendance()
    attendance.enter(2, ORDERS, 1)
    attendance.enter(2, BILLS, 1)
    assert list(attendance.close(2)) == [ORDERS, BILLS]
    assert list(attendance.close(2)) == []
    assert list(attendance.groups(2)) == []


def test_unknown_consumer_may_leave() -> None:
    attendance = Attendance()
    attendance.leave(2, ORDERS, 1)
    attendance.end(2, ORDERS)
    assert list(attendance.groups(2)) == []
