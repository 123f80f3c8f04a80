from __future__ import annotations

import pytest

from causeway.sim.checkers.atomicity import Atomicity
from causeway.sim.checkers.base import Deed, Wrong
from causeway.sim.letters import Letter

READER = ("x", 1)
FIRST, SECOND = Letter("a", 1, "x", 3, 1), Letter("a", 1, "y", 3, 1)
TAKEN = Letter("c", 1, "a", 2, 7)


def begun() -> tuple[Atomicity, Deed]:
    checker = Atomicity()
    transaction = Deed(("a", 1), 1, [FIRST, SECOND], [TAKEN])
    checker.delivered("a", ("a", 1), TAKEN)
    checker.begun(transaction)
    return checker, transaction


def test_atomicity_accepts_all_and_accepts_none() -> None:
    checker, transaction = begun()
    checker.delivered("x", READER, FIRST)
    checker.decided(transaction, committed=True)
    checker.delivered("y", READER, SECOND)
    checker.finish()
    checker, transaction = begun()
    checker.decided(transaction, committed=False)
    checker.delivered("a", ("a", 2), TAKEN)
    checker.finish()


def test_atomicity_catches_a_send_of_an_aborted_transaction_before_and_after_the_abort() -> None:
    checker, transaction = begun()
    checker.delivered("x", READER, FIRST)
    with pytest.raises(Wrong, match="aborted"):
        checker.decided(transaction, committed=False)
    checker, transaction = begun()
    checker.decided(transaction, committed=False)
    with pytest.raises(Wrong, match="aborted"):
        checker.delivered("x", READER, FIRST)


def test_atomicity_catches_a_settled_letter_that_comes_again() -> None:
    checker, transaction = begun()
    checker.decided(transaction, committed=True)
    with pytest.raises(Wrong, match="had settled"):
        checker.delivered("a", ("a", 2), TAKEN)


@pytest.mark.parametrize("committed", [True, None])
def test_atomicity_catches_a_torn_transaction(*, committed: bool | None) -> None:
    checker, transaction = begun()
    checker.decided(transaction, committed=committed)
    checker.delivered("x", READER, FIRST)
    with pytest.raises(Wrong, match=r"never arrived|torn"):
        checker.finish()


def test_atomicity_catches_a_letter_spent_by_two_transactions() -> None:
    checker, transaction = begun()
    other = Deed(("a", 2), 2, [Letter("a", 2, "x", 3, 1)], [TAKEN])
    checker.begun(other)
    checker.decided(transaction, committed=None)
    checker.delivered("x", READER, FIRST)
    with pytest.raises(Wrong, match="again by"):
        checker.decided(other, committed=True)
