"""What is news: a tenth of the larger figure, in either direction."""

from __future__ import annotations

import pytest

from causeway.core.agents.news import is_news


@pytest.mark.parametrize(
    ("fitness", "capacity", "news"),
    [(1000, 500, False), (901, 500, False), (900, 500, True), (1000, 549, False), (1000, 560, True), (0, 0, True)],
)
def test_a_tenth_is_news(fitness: int, capacity: int, *, news: bool) -> None:
    assert is_news((1000, fitness), (500, capacity)) is news


def test_nothing_that_stays_nothing_is_no_news() -> None:
    assert not is_news((0, 0), (0, 0))
    assert is_news((0, 1), (0, 0))
