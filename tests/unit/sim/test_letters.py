from __future__ import annotations

import pytest

from causeway.sim.letters import Letter, letter_of


@pytest.mark.parametrize("size", [0, 10, 500])
def test_letter_is_read_back_from_its_payload(size: int) -> None:
    letter = Letter("a-1", 2, "box", 3, 77)
    payload = letter.payload(size)
    assert len(payload) >= size
    assert letter_of(payload) == letter


def test_letter_reads_like_a_sentence() -> None:
    assert str(Letter("a", 2, "box", 2, 7)) == "a/2->box transactional #7"


def test_letter_in_causal_order_is_known_by_where_it_goes() -> None:
    places = ("causal-3", "#causal/news", "box", "#news/causal")
    assert [Letter("causal-1", 1, place, 2, 1).causal for place in places] == [True, True, False, False]
