from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Deed, Viewing, Wrong
from causeway.sim.checkers.browsing import Browsing
from causeway.sim.letters import Letter
from causeway.types import ServiceClass

READER = ("r", 1)


def letter(number: int, stream: ServiceClass = ServiceClass.TRANSACTIONAL, source: str = "a") -> Letter:
    return Letter(source, 1, "box", stream, number)


def stored(*letters: Letter) -> Browsing:
    """A checker that saw these letters being acknowledged."""
    checker = Browsing()
    for one in letters:
        checker.sent(one)
        checker.acknowledged(one)
    return checker


def look(checker: Browsing, *, exact: bool = True) -> Viewing:
    viewing = Viewing(("looker", 1), 1, "box", exact=exact)
    checker.look_began(viewing)
    return viewing


def test_browsing_is_content_with_everything_in_order() -> None:
    other, loose = letter(1, source="b"), letter(7, ServiceClass.RECOVERABLE)
    checker = stored(letter(1), letter(3), other, loose)
    checker.look_ended(look(checker), [letter(1), loose, other, letter(3)])


def test_browsing_asks_nothing_of_what_changes_meanwhile() -> None:
    express, settled, returned, moved = letter(9, ServiceClass.EXPRESS), letter(1), letter(2), letter(3)
    checker = stored(express, settled, returned, moved)
    viewing = look(checker)
    checker.settled("box", READER, settled)
    checker.settlement_confirmed("box", READER, settled)
    checker.returned("box", READER, returned)
    checker.begun(Deed(READER, 1, [], [moved]))
    checker.sent(letter(4))
    checker.acknowledged(letter(4))
    checker.look_ended(viewing, [settled])


def test_browsing_says_nothing_about_a_look_without_an_answer() -> None:
    checker = stored(letter(1))
    checker.look_ended(look(checker), None)


def test_browsing_catches_a_letter_that_is_missing() -> None:
    checker = stored(letter(1), letter(2))
    with pytest.raises(Wrong, match="did not show a/1->box transactional #2"):
        checker.look_ended(look(checker), [letter(1)])


def test_browsing_catches_a_missing_letter_of_a_committed_transaction() -> None:
    checker, sent = stored(), letter(1, ServiceClass.COMMITTED)
    checker.sent(sent)
    checker.decided(Deed(READER, 1, [sent], []), committed=True)
    with pytest.raises(Wrong, match="committed #1"):
        checker.look_ended(look(checker), [])


def test_browsing_catches_a_letter_that_was_settled_before() -> None:
    checker = stored(letter(1))
    checker.settled("box", READER, letter(1))
    checker.settlement_confirmed("box", READER, letter(1))
    with pytest.raises(Wrong, match="settled before"):
        checker.look_ended(look(checker), [letter(1)])


def test_browsing_catches_disorder() -> None:
    checker = stored(letter(1), letter(2))
    with pytest.raises(Wrong, match="#1 after a/1->box transactional #2"):
        checker.look_ended(look(checker), [letter(2), letter(1)])


def test_browsing_catches_a_letter_shown_twice() -> None:
    one = letter(1, ServiceClass.RECOVERABLE)
    checker = stored(one)
    with pytest.raises(Wrong, match="twice"):
        checker.look_ended(look(checker), [one, one])


def test_browsing_catches_a_letter_nobody_sent() -> None:
    checker = stored()
    with pytest.raises(Wrong, match="never sent"):
        checker.look_ended(look(checker), [letter(1)])


def test_browsing_forgives_an_owner_that_may_be_replaced_all_but_order() -> None:
    checker = stored(letter(1), letter(2), letter(3))
    checker.settled("box", READER, letter(1))
    checker.settlement_confirmed("box", READER, letter(1))
    checker.look_ended(look(checker, exact=False), [letter(1), letter(2)])
    with pytest.raises(Wrong, match="after"):
        checker.look_ended(look(checker, exact=False), [letter(2), letter(1)])
