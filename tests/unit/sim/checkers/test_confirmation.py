from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Deed, Wrong
from causeway.sim.checkers.confirmation import Confirmation
from causeway.sim.letters import Letter

LETTER = Letter("a", 1, "b", 1, 1)


def test_confirmation_accepts_what_was_settled_plainly_or_in_a_transaction() -> None:
    checker = Confirmation()
    checker.settled("b", ("b", 1), LETTER)
    checker.delivery_confirmed(LETTER)
    other = LETTER._replace(number=2)
    checker.begun(Deed(("b", 1), 1, [], [other]))
    checker.delivery_confirmed(other)


def test_confirmation_catches_one_for_a_letter_nobody_settled() -> None:
    checker = Confirmation()
    checker.delivered("b", ("b", 1), LETTER)
    with pytest.raises(Wrong, match="nobody has settled"):
        checker.delivery_confirmed(LETTER)
