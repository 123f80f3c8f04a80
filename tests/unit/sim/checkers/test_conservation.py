from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.conservation import Conservation
from causeway.sim.letters import Letter

FIRST, SECOND, THIRD = (Letter("a", 1, "x", 3, number) for number in (1, 2, 3))


def circulating() -> Conservation:
    checker = Conservation()
    checker.issued(0, FIRST)
    checker.moved(FIRST, SECOND)
    return checker


def test_conservation_follows_a_token_through_its_letters() -> None:
    checker = circulating()
    assert checker.abroad() == 1
    checker.came_home(SECOND)
    checker.came_home(SECOND)
    checker.came_home(THIRD)
    assert checker.abroad() == 0
    checker.finish()


def test_conservation_catches_a_token_in_two_letters() -> None:
    checker = circulating()
    checker.came_home(SECOND)
    with pytest.raises(Wrong, match="exists twice"):
        checker.came_home(FIRST)


def test_conservation_catches_a_token_that_never_came_home() -> None:
    with pytest.raises(Wrong, match="lost"):
        circulating().finish()
