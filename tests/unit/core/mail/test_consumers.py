"""Credit and turns."""

from __future__ import annotations

import pytest

from causeway.core.mail.consumers import Consumer, Consumers, Terms
from causeway.errors import Code
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


def test_credit_only_widens_while_attached() -> None:
    consumers = Consumers()
    consumers.attach(2, 1, 16)
    found = consumers.find(2, 1)
    assert found is not None
    for asked, room in ((32, 32), (8, 32), (-1, 32), (CREDIT_MAX + 1, CREDIT_MAX)):
        consumers.widen(2, 1, asked)
        assert found.room == room
    consumers.widen(4, 1, 16)
    assert len(consumers) == 1


def test_consumers_of_a_connection_are_found_and_removed() -> None:
    consumers = Consumers()
    for conn, consumer in ((2, 1), (4, 1), (2, 2)):
        consumers.attach(conn, consumer, 1)
    assert consumers.of_conn(2) == [1, 2]
    assert consumers.remove(2, 1) is not None
    assert consumers.remove(2, 1) is None
    assert consumers.names() == [(4, 1), (2, 2)]


# Who may be here -------------------------------------------------------------------------------------------------
ALONE = Terms(exclusive=True, client=("app", 1))
ANYBODY = Terms(client=("other", 7))


def test_nobody_consumes_beside_an_exclusive_consumer() -> None:
    consumers = Consumers()
    consumers.attach(2, 1, 10, ALONE)
    for terms in (ANYBODY, ANYBODY._replace(exclusive=True), ALONE._replace(client=("app", 2))):
        assert consumers.refusal(4, 1, terms) == (Code.IN_USE, "'app' (incarnation 1) consumes from this mailbox alone")
    assert consumers.refusal(2, 2, ALONE) is not None, "nor does the same client, over the same connection"
    consumers.remove(2, 1)
    assert consumers.refusal(4, 1, ANYBODY) is None


def test_who_wants_to_be_alone_must_wait_for_the_others_to_go() -> None:
    consumers = Consumers()
    consumers.attach(2, 1, 10, ANYBODY)
    code, detail = consumers.refusal(4, 1, ALONE) or (None, "")
    assert code == Code.IN_USE
    assert detail.startswith("'other' (incarnation 7) consumes from this mailbox already")
    assert consumers.refusal(4, 1, ALONE._replace(exclusive=False)) is None


def names(found: list[Consumer]) -> list[tuple[int, int]]:
    return [(one.conn, one.id) for one in found]


def test_a_client_replaces_itself_when_it_comes_over_another_connection() -> None:
    consumers = Consumers()
    consumers.attach(2, 1, 10, ALONE)
    assert consumers.refusal(4, 1, ALONE) is None
    assert names(consumers.former(4, 1, ALONE)) == [(2, 1)]
    assert consumers.refusal(2, 1, ALONE) is None, "it only begins anew"
    assert consumers.former(2, 1, ALONE) == []


def test_a_consumer_that_shares_replaces_itself_and_no_other_one_of_its_client() -> None:
    consumers = Consumers()
    consumers.attach(2, 1, 10, ANYBODY)
    consumers.attach(2, 2, 10, ANYBODY)
    assert names(consumers.former(4, 1, ANYBODY)) == [(2, 1)]
    assert consumers.refusal(4, 1, ANYBODY) is None
    for other in (("other", 8), ("another", 7)):
        assert consumers.former(4, 1, ANYBODY._replace(client=other)) == [], "a life of its own"
    consumers.remove(2, 1)
    consumers.remove(2, 2)
    assert consumers.former(4, 1, ANYBODY) == []


@pytest.mark.parametrize("terms", [ANYBODY, ALONE])
def test_what_comes_over_an_earlier_connection_than_the_consumer_itself_is_late(terms: Terms) -> None:
    consumers = Consumers()
    consumers.attach(4, 1, 10, terms)
    assert consumers.is_late(2, 1, terms)
    assert consumers.former(2, 1, terms) == [], "it is not to end for what was said before"
    assert not consumers.is_late(4, 1, terms)
    assert not consumers.is_late(6, 1, terms)


def test_a_mailbox_has_a_bounded_number_of_selectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.mail.consumers.SELECTORS_PER_MAILBOX_MAX", 2)
    consumers = Consumers()
    for conn, text in ((2, "a"), (4, "b"), (6, "b")):
        assert consumers.refusal(conn, 1, Terms(text)) is None
        consumers.attach(conn, 1, 10, Terms(text))
    code, detail = consumers.refusal(8, 1, Terms("c")) or (None, "")
    assert code == Code.OVERLOADED
    assert "2 different ones" in detail
    assert consumers.refusal(8, 1, Terms("a")) is None
    assert consumers.refusal(8, 1, Terms()) is None
    consumers.remove(2, 1)
    assert consumers.refusal(8, 1, Terms("c")) is None


def test_a_lone_consumer_with_a_selector_is_not_the_sole_one() -> None:
    consumers = Consumers()
    consumers.attach(2, 1, 10, Terms("a"))
    assert consumers.sole is None
    assert consumers.selective
    assert not consumers.takes_anything()
    consumers.remove(2, 1)
    consumers.attach(2, 1, 10)
    assert consumers.sole is not None
    assert not consumers.selective
    assert consumers.takes_anything()
