from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Deed, Wrong
from causeway.sim.checkers.loss import NoLoss
from causeway.sim.letters import Letter
from causeway.types import ServiceClass

READER = ("b", 1)


def letter(number: int, stream: ServiceClass = ServiceClass.RECOVERABLE) -> Letter:
    return Letter("a", 1, "b", stream, number)


def test_loss_is_content_when_everything_acknowledged_arrives() -> None:
    checker = NoLoss()
    checker.acknowledged(letter(1))
    checker.delivered("b", READER, letter(1))
    checker.delivered("b", READER, letter(2))
    checker.acknowledged(letter(2))
    checker.sent(letter(3))
    checker.failed(letter(3), "no quorum")
    checker.acknowledged(letter(4, ServiceClass.EXPRESS))
    checker.finish()


@pytest.mark.parametrize("stream", [ServiceClass.RECOVERABLE, ServiceClass.TRANSACTIONAL])
def test_loss_names_an_acknowledged_letter_that_never_arrived(stream: ServiceClass) -> None:
    checker = NoLoss()
    checker.acknowledged(letter(1, stream))
    checker.acknowledged(letter(2, stream))
    checker.delivered("b", READER, letter(1, stream))
    with pytest.raises(Wrong, match="#2"):
        checker.finish()


def test_loss_counts_the_sends_of_a_committed_transaction_as_acknowledged() -> None:
    checker = NoLoss()
    sent = letter(1, ServiceClass.COMMITTED)
    checker.decided(Deed(("a", 1), 1, [sent], []), committed=False)
    checker.finish()
    checker.decided(Deed(("a", 1), 2, [sent], []), committed=True)
    assert checker.owed() == [sent]
    with pytest.raises(Wrong, match="committed #1"):
        checker.finish()
