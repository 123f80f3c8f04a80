from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.refusal import Refusal
from causeway.sim.letters import Letter

ONE, OTHER = (Letter("a", 1, "b", 1, number) for number in (1, 2))


def test_letter_that_was_refused_must_not_arrive() -> None:
    checker = Refusal()
    checker.refused(ONE)
    checker.failed(OTHER, "its outcome is unknown")
    checker.delivered("b", ("b", 1), OTHER)
    with pytest.raises(Wrong, match="was refused and reached"):
        checker.delivered("b", ("b", 1), ONE)


def test_letter_that_has_arrived_must_not_be_refused() -> None:
    checker = Refusal()
    checker.delivered("b", ("b", 1), ONE)
    with pytest.raises(Wrong, match="was refused after"):
        checker.refused(ONE)
