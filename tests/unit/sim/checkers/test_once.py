from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.once import ExactlyOnce
from causeway.sim.letters import Letter

LETTER = Letter("a", 1, "b", 2, 1)
ONE, OTHER = ("b", 1), ("c", 1)


def checker_after_delivery() -> ExactlyOnce:
    checker = ExactlyOnce()
    checker.sent(LETTER)
    checker.delivered("b", ONE, LETTER)
    return checker


def test_once_allows_a_second_delivery_after_a_return() -> None:
    checker = checker_after_delivery()
    checker.returned("b", ONE, LETTER)
    checker.delivered("b", ONE, LETTER)
    checker.settlement_confirmed("b", ONE, LETTER)


def test_once_allows_another_reader_as_long_as_nobody_is_done() -> None:
    checker = checker_after_delivery()
    checker.settled("b", ONE, LETTER)
    checker.delivered("b", OTHER, LETTER)


def test_once_catches_a_second_delivery_to_the_same_reader() -> None:
    checker = checker_after_delivery()
    with pytest.raises(Wrong, match="twice"):
        checker.delivered("b", ONE, LETTER)


def test_once_catches_a_delivery_after_a_confirmed_settlement() -> None:
    checker = checker_after_delivery()
    checker.settlement_confirmed("b", ONE, LETTER)
    with pytest.raises(Wrong, match="after"):
        checker.delivered("b", OTHER, LETTER)


def test_once_catches_a_letter_nobody_sent() -> None:
    with pytest.raises(Wrong, match="never sent"):
        ExactlyOnce().delivered("b", ONE, LETTER)


def test_once_allows_a_dead_letter_that_nobody_was_done_with_and_nothing_after_it() -> None:
    checker = checker_after_delivery()
    checker.returned("b", ONE, LETTER)
    checker.delivered("dead/b", OTHER, LETTER)
    checker.settlement_confirmed("dead/b", OTHER, LETTER)
    with pytest.raises(Wrong, match="after"):
        checker.delivered("b", ("d", 1), LETTER)


def test_once_catches_a_dead_letter_that_somebody_was_done_with() -> None:
    checker = checker_after_delivery()
    checker.settlement_confirmed("b", ONE, LETTER)
    with pytest.raises(Wrong, match="after"):
        checker.delivered("dead/b", OTHER, LETTER)


def test_once_catches_a_dead_letter_that_comes_twice() -> None:
    checker = checker_after_delivery()
    checker.delivered("dead/b", OTHER, LETTER)
    checker.settlement_confirmed("dead/b", OTHER, LETTER)
    with pytest.raises(Wrong, match="after"):
        checker.delivered("dead/b", ("d", 1), LETTER)


def test_once_catches_a_letter_shown_again_to_an_application_that_kept_its_acceptance() -> None:
    checker = checker_after_delivery()
    checker.kept(LETTER, "b")
    checker.delivered("b", OTHER, LETTER)
    checker.reader_ended(ONE)
    with pytest.raises(Wrong, match="kept"):
        checker.delivered("b", ("b", 2), LETTER)
