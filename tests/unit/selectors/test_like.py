"""LIKE against a slow and obvious matcher, and against patterns that make backtracking matchers hang."""

from __future__ import annotations

import time
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.limits import HEADERS_BYTES_MAX, SELECTOR_PATTERN_CHARS_MAX
from causeway.selectors.like import BadPattern, matcher


def obvious(pattern: str, text: str) -> bool:
    """By the definition: % is nothing, or one character and then % again."""

    @cache
    def rest(at: int, place: int) -> bool:
        if at == len(pattern):
            return place == len(text)
        if pattern[at] == "%":
            return rest(at + 1, place) or (place < len(text) and rest(at, place + 1))
        return place < len(text) and pattern[at] in ("_", text[place]) and rest(at + 1, place + 1)

    return rest(0, 0)


@given(st.text("ab.%_\n", max_size=10), st.text("ab.%_\n", max_size=14))
def test_matcher_agrees_with_the_definition(pattern: str, text: str) -> None:
    assert matcher(pattern, None)(text) is obvious(pattern, text)


@given(st.text(max_size=20))
def test_escaped_text_is_like_itself_only(text: str) -> None:
    pattern = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    assert matcher(pattern, "!")(text)
    assert not matcher(pattern, "!")(f"{text}x")
    assert matcher(f"%{pattern}%", "!")(f"x{text}x")


@pytest.mark.parametrize(("pattern", "text"), [("a%a", "a"), ("ab%b", "ab"), ("a%b%b", "ab"), ("%ab%ba%", "aba")])
def test_pieces_never_overlap(pattern: str, text: str) -> None:
    assert not matcher(pattern, None)(text)


@pytest.mark.parametrize("pattern", ["a!b", "!", "a!!!"])
def test_escape_before_what_needs_none_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        matcher(pattern, "!")


@pytest.mark.parametrize("unit", ["%a", "%", "_%", "%_a", "a"])
def test_patterns_that_make_backtracking_explode_take_no_time(unit: str) -> None:
    pattern = "%" + (unit * SELECTOR_PATTERN_CHARS_MAX)[: SELECTOR_PATTERN_CHARS_MAX - 2] + "b"
    text = "a" * HEADERS_BYTES_MAX
    matches = matcher(pattern, None)
    began = time.process_time()
    assert matches(text) is False
    assert time.process_time() - began < 1
