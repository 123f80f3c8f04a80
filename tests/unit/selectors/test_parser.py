"""What is refused, at which column and with which words; and that hostile text costs neither stack nor time."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.errors import ConfigError, SelectorError
from causeway.limits import SELECTOR_CHARS_MAX, SELECTOR_DEPTH_MAX, SELECTOR_PATTERN_CHARS_MAX
from causeway.selectors import parse
from causeway.selectors.lexer import KEYWORDS

NUMBER_SHAPE = "a number such as 7, -957, 95.7 or 7E3"

ERRORS = [
    # The grammar.
    ("", 1, "found the end, expected a value"),
    ("   ", 4, "found the end, expected a value"),
    ("a =", 4, "found the end, expected a value"),
    ("a = )", 5, "found ')', expected a value"),
    ("a = 1 )", 7, "found ')', expected an operator or the end"),
    ("(a = 1", 7, "found the end, expected an operator or ')'"),
    ("()", 2, "found ')', expected a value"),
    ("a b", 3, "found 'b', expected an operator or the end"),
    ("a = 1 = TRUE", 7, "found '=', expected an operator or the end"),
    ("a == 1", 4, "found '=', expected a value; equality is a single ="),
    ("a = 1 AND", 10, "found the end, expected a value"),
    ("a = 1 AND OR b", 11, "found 'OR', expected a value"),
    ("AND a", 1, "found 'AND', expected a value"),
    ("NOT", 4, "found the end, expected a value"),
    ("a = NOT b", 5, "found 'NOT', expected a value"),
    ("a NOT b", 7, "found 'b', expected BETWEEN, IN or LIKE"),
    ("a NOT", 6, "found the end, expected BETWEEN, IN or LIKE"),
    ("a NOT = 1", 7, "found '=', expected BETWEEN, IN or LIKE"),
    ("a +", 4, "found the end, expected a value"),
    ("a = 1 + * 2", 9, "found '*', expected a value"),
    ("a, b", 2, "found ',', expected an operator or the end"),
    ("a = 1 'x'", 7, "found the string 'x', expected an operator or the end"),
    # NULL is no value; keywords are no identifiers.
    ("a = NULL", 5, "found 'NULL', expected a value (IS NULL tests for NULL)"),
    ("NULL IS NULL", 1, "found 'NULL', expected a value (IS NULL tests for NULL)"),
    ("a IS 3", 6, "found '3', expected NULL or NOT NULL"),
    ("a IS NOT 3", 10, "found '3', expected NULL"),
    ("a IS TRUE", 6, "found 'TRUE', expected NULL or NOT NULL"),
    ("like = 1", 1, "found 'LIKE', expected a value"),
    ("escape = 1", 1, "found 'ESCAPE', expected a value"),
    # BETWEEN, IN, LIKE.
    ("a BETWEEN 1", 12, "found the end, expected an operator or AND"),
    ("a BETWEEN 1 OR 2", 13, "found 'OR', expected an operator or AND"),
    ("a BETWEEN AND 2", 11, "found 'AND', expected a value"),
    ("a BETWEEN 'a' AND 'b'", 11, "found a string, expected a number"),
    ("a BETWEEN 1 AND TRUE", 17, "found a condition, expected a number"),
    ("'a' NOT BETWEEN 1 AND 2", 1, "found a string, expected a number"),
    ("a IN 'x'", 6, "found the string 'x', expected '('"),
    ("a IN ()", 7, "found ')', expected a string in quotes"),
    ("a IN (1)", 7, "found '1', expected a string in quotes"),
    ("a IN (b)", 7, "found 'b', expected a string in quotes"),
    ("a IN ('x' 'y')", 11, "found the string 'y', expected ',' or ')'"),
    ("a IN ('x',)", 11, "found ')', expected a string in quotes"),
    ("a IN ('x'", 10, "found the end, expected ',' or ')'"),
    ("1 IN ('x')", 1, "found a number, expected an identifier"),
    ("a LIKE b", 8, "found 'b', expected a string in quotes"),
    ("a LIKE 5", 8, "found '5', expected a string in quotes"),
    ("a LIKE 'x' ESCAPE", 18, "found the end, expected a string in quotes"),
    ("a LIKE 'x' ESCAPE ''", 19, "found the string '', expected a string of one character"),
    ("a LIKE 'x' ESCAPE '!!'", 19, "found the string '!!', expected a string of one character"),
    ("a LIKE 'x!y' ESCAPE '!'", 8, "found a pattern with '!' before 'y', expected it before '_', '%' or itself"),
    ("a LIKE 'x!' ESCAPE '!'", 8, "found a pattern with '!' at its end, expected it before '_', '%' or itself"),
    ("'abc' LIKE 'a%'", 1, "found a string, expected an identifier"),
    ("a + 1 LIKE 'a%'", 1, "found a number, expected an identifier"),
    ("a + 1 IS NULL", 1, "found a number, expected an identifier"),
    ("(a = 1) IS NULL", 2, "found a condition, expected an identifier"),
    # Kinds that are known before any message is seen.
    ("a + 1", 1, "found a number, expected a condition"),
    ("5", 1, "found a number, expected a condition"),
    ("-a", 1, "found a number, expected a condition"),
    ("+a", 1, "found a number, expected a condition"),
    ("'TRUE'", 1, "found a string, expected a condition"),
    ("(a * 2)", 2, "found a number, expected a condition"),
    ("a AND 1", 7, "found a number, expected a condition"),
    ("'x' OR a", 1, "found a string, expected a condition"),
    ("NOT 'x'", 5, "found a string, expected a condition"),
    ("a > 'x'", 5, "found a string, expected a number"),
    ("'x' <= a", 1, "found a string, expected a number"),
    ("a >= TRUE", 6, "found a condition, expected a number"),
    ("(a = 1) < b", 2, "found a condition, expected a number"),
    ("a = 'x' + 1", 5, "found a string, expected a number"),
    ("a = 1 + 'x'", 9, "found a string, expected a number"),
    ("a = -'x'", 6, "found a string, expected a number"),
    ("a = -TRUE", 6, "found a condition, expected a number"),
    ("a = 2 * (b = 1)", 10, "found a condition, expected a number"),
    # Words.
    ("a = 'x", 5, "found a string that is not closed, expected a quote (') at its end"),
    ("a = 'x''", 5, "found a string that is not closed, expected a quote (') at its end"),
    ('a = "x"', 5, "found '\"', expected a value or an operator"),
    ("a != 1", 3, "found '!', expected a value or an operator"),
    ("a = 1;", 6, "found ';', expected a value or an operator"),
    ("a.b = 1", 2, "found '.', expected a value or an operator"),
    ("a = 1 /* b */", 8, "found '*', expected a value"),
    ("a\u00a0= 1", 2, "found '\\xa0', expected a value or an operator"),
    ("a = \x00", 5, "found '\\x00', expected a value or an operator"),
    ("a = ²", 5, "found '²', expected a value or an operator"),
    # Numbers.
    ("7abc = 1", 1, f"found '7abc', expected {NUMBER_SHAPE}"),
    ("a = 1..2", 5, f"found '1..2', expected {NUMBER_SHAPE}"),
    ("a = 1.2.3", 5, f"found '1.2.3', expected {NUMBER_SHAPE}"),
    ("a = 1E", 5, f"found '1E', expected {NUMBER_SHAPE}"),
    ("a = 0x1F", 5, f"found '0x1F', expected {NUMBER_SHAPE}"),
    ("a = 1.5L", 5, f"found '1.5L', expected {NUMBER_SHAPE}"),
    ("a = 2.5f", 5, f"found '2.5f', expected {NUMBER_SHAPE}"),
    ("a = 017", 5, "found '017', expected a number without leading zeros"),
    ("a = 9223372036854775808", 5, "found '9223372036854775808', expected a number of 64 bits"),
    ("a = +9223372036854775808", 6, "found '9223372036854775808', expected a number of 64 bits"),
    ("a = -(9223372036854775808)", 7, "found '9223372036854775808', expected a number of 64 bits"),
    ("a = -9223372036854775809", 6, "found '9223372036854775809', expected a number of 64 bits"),
    ("a = " + "9" * 60, 5, f"found '{'9' * 40}...', expected a number of 64 bits"),
    ("a = 1E309", 5, "found '1E309', expected a number in the range of a double"),
]


@pytest.mark.parametrize(("text", "column", "words"), ERRORS)
def test_error_names_the_column_what_was_found_and_what_was_expected(text: str, column: int, words: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse(text)
    assert str(caught.value) == f"selector: column {column}: {words}"
    assert caught.value.column == column


def test_error_is_one_of_a_wrong_argument() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("a = ")
    assert (caught.value.field, caught.value.value) == ("selector", "a = ")
    assert caught.value.remedy == "column 5: found the end, expected a value"
    assert not caught.value.retriable


@pytest.mark.parametrize("keyword", sorted(KEYWORDS))
def test_no_keyword_is_an_identifier(keyword: str) -> None:
    for word in (keyword, keyword.lower(), keyword.title()):
        with pytest.raises(SelectorError):
            parse(f"{word} IS NULL")
    assert parse(f"{keyword}_ IS NULL").identifiers == {f"{keyword}_"}


def test_letters_with_the_capitals_of_a_keyword_are_identifiers() -> None:
    assert parse("ıs IS NULL").identifiers == {"ıs"}


# Bounds ---------------------------------------------------------------------------------------------------------
def test_text_is_bounded() -> None:
    fits = "a = 1" + " " * (SELECTOR_CHARS_MAX - 5)
    assert parse(fits).matches({"a": 1})
    with pytest.raises(SelectorError, match=f"found {SELECTOR_CHARS_MAX + 1} characters, expected at most") as caught:
        parse(fits + " ")
    assert caught.value.column == SELECTOR_CHARS_MAX + 1


@pytest.mark.parametrize(("before", "core", "after"), [("(", "a", ")"), ("NOT ", "a", ""), ("(NOT ", "a", ")")])
def test_nesting_is_bounded(before: str, core: str, after: str) -> None:
    levels = SELECTOR_DEPTH_MAX // (2 if before == "(NOT " else 1)
    assert parse(before * levels + core + after * levels).identifiers == {"a"}
    with pytest.raises(SelectorError, match="levels of nesting, expected at most"):
        parse(before * (levels + 1) + core + after * (levels + 1))


@pytest.mark.parametrize("sign", ["-", "+", "- + "])
def test_signs_are_bounded(sign: str) -> None:
    with pytest.raises(SelectorError, match="levels of nesting"):
        parse(f"{sign * (SELECTOR_DEPTH_MAX + 1)}a = 1")


def test_depth_counts_what_is_open_and_not_what_was_closed() -> None:
    assert parse(" AND ".join(["(NOT (a = -b))"] * 50)).evaluate({"a": 1, "b": 1}) is True


@pytest.mark.parametrize(
    ("joint", "part", "count", "expected"),
    [(" OR ", "a=2", 140, False), (" AND ", "a=1", 120, True), ("+", "1", 500, None), ("*", "1", 500, None)],
)
def test_long_rows_do_not_nest(joint: str, part: str, count: int, expected: bool | None) -> None:
    row = joint.join([part] * count)
    if expected is None:
        row, expected = f"{row} > 0", True
    assert parse(row).evaluate({"a": 1}) is expected


def test_pattern_is_bounded() -> None:
    fits = "x" * SELECTOR_PATTERN_CHARS_MAX
    assert parse(f"a LIKE '{fits}'").matches({"a": fits})
    with pytest.raises(SelectorError, match="found 129 characters of patterns, expected at most 128") as caught:
        parse(f"a LIKE '{fits}x'")
    assert caught.value.column == 8


WORDS = [*sorted(KEYWORDS), *"=<>+-*/(),.'!\"", "<>", "<=", ">=", " ", "a", "b1", "'x'", "'%_'", "1", "2.5", "7E", "0"]


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)))
def test_any_text_is_a_selector_or_a_selector_error(text: str) -> None:
    began = time.process_time()
    column = 1
    try:
        assert parse(text).evaluate({"a": "x", "b1": 2}) in (True, False, None)
    except SelectorError as error:
        column = error.column
    assert 1 <= column <= len(text) + 1
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "unit", ["(", "NOT ", "-", "'", "''", "a OR ", "a+", "1E", ".", "1.", "a LIKE '%' OR ", "$", "é"]
)
def test_hostile_repetition_is_answered_at_once(unit: str) -> None:
    text = (unit * SELECTOR_CHARS_MAX)[:SELECTOR_CHARS_MAX]
    began = time.process_time()
    with suppress(SelectorError):
        parse(text)
    assert time.process_time() - began < 1
