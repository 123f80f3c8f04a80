"""Credit and turns."""

from __future__ import annotations

from causeway.core.mail.consumers import Consumers
from causeway.limits import CREDIT_MAX


def test_consumers_take_turns_least_recently_served_first() -> None:
    consumers = Consumers()
    for conn in (2, 4, 6):
        consumers.attach(conn, 1, 10)
    first = consumers.able(lambda conn: False)
    assert [one.conn for one in first] == [2, 4, 6]
    consumers.serve(first[0])
    consumers.serve(first[1])
    assert [one.conn for one in consumers.able(lambda conn: False)] == [6, 2, 4]


def test_clogged_and_sated_consumers_get_nothing() -> None:
    consumers = Consumers()
    for conn in (2, 4, 6):
        consumers.attach(conn, 1, 10)
    sated = consumers.find(4, 1)
    assert sated is not None
    sated.unsettled = 10
    assert [one.conn for one in consumers.able(lambda conn: conn == 2)] == [6]
    assert consumers.unsettled() == 10


def test_credit_is_bounded_and_changes_when_attached_again() -> None:
    consumers = Consumers()
    consumers.attach(2, 1, CREDIT_MAX + 1)
    found = consumers.find(2, 1)
    assert found is not None
    assert found.room == CREDIT_MAX
    consumers.attach(2, 1, -1)
    assert found.room == 0
    assert not consumers.has_room()
    assert len(consumers) == 1


def test_consumers_of_a_connection_are_found_and_removed() -> None:
    consumers = Consumers()
    for conn, consumer in ((2, 1), (4, 1), (2, 2)):
        consumers.attach(conn, consumer, 1)
    assert consumers.of_conn(2) == [1, 2]
    assert consumers.remove(2, 1) is not None
    assert consumers.remove(2, 1) is None
    assert consumers.names() == [(4, 1), (2, 2)]
