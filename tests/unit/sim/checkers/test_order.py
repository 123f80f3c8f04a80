from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.order import Order
from causeway.sim.letters import Letter
from causeway.types import ServiceClass

READER = ("b", 1)


def letter(number: int, *, source: str = "a", stream: ServiceClass = ServiceClass.TRANSACTIONAL) -> Letter:
    return Letter(source, 1, "b", stream, number)


def test_order_allows_gaps_other_sources_and_other_classes() -> None:
    checker = Order()
    for one in (letter(1), letter(5), letter(2, source="c"), letter(3, stream=ServiceClass.RECOVERABLE), letter(9)):
        checker.delivered("b", READER, one)


def test_order_catches_a_letter_that_comes_after_a_later_one() -> None:
    checker = Order()
    checker.delivered("b", READER, letter(1))
    checker.delivered("b", READER, letter(3))
    with pytest.raises(Wrong, match="#2 reached"):
        checker.delivered("b", READER, letter(2))


def test_order_is_not_asked_of_shared_mailboxes() -> None:
    checker = Order()
    checker.share("b")
    checker.delivered("b", READER, letter(3))
    checker.delivered("b", READER, letter(2))


def test_order_is_asked_of_transactions_by_themselves() -> None:
    checker = Order()
    checker.delivered("b", READER, letter(2, stream=ServiceClass.COMMITTED))
    checker.delivered("b", READER, letter(1))
    with pytest.raises(Wrong, match="#1 reached"):
        checker.delivered("b", READER, letter(1, stream=ServiceClass.COMMITTED))


def test_letter_that_was_given_back_may_come_after_a_later_one_and_no_other() -> None:
    checker = Order()
    for number in (1, 2, 3):
        checker.delivered("b", READER, letter(number))
    checker.returned("b", READER, letter(2))
    checker.delivered("b", READER, letter(2))
    checker.delivered("b", READER, letter(4))
    with pytest.raises(Wrong, match="#3 reached"):
        checker.delivered("b", READER, letter(3))
