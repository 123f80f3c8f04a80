"""The whole of it: random expressions, printed and parsed again, against an evaluation that shares no code with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from causeway.selectors import Selector, parse

# Trees are tuples: an operator's name, then its operands. -------------------------------------------------------
NAMES = ("a", "b", "c", "d")
WORDS = ("", "x", "xy", "x%", "it's", "_")

names = st.sampled_from(NAMES).map(lambda name: ("name", name))
strings = st.sampled_from(WORDS).map(lambda text: ("literal", text))
integers = st.one_of(st.integers(0, 9), st.sampled_from([2**53 + 1, 2**63 - 1])).map(lambda value: ("literal", value))
doubles = st.sampled_from([0.0, 0.5, 2.0, 2.0**53, 1e300]).map(lambda value: ("literal", value))
numbers = st.recursive(
    st.one_of(names, integers, doubles),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.tuples(st.sampled_from(["plus", "minus"]), inner),
    ),
    max_leaves=5,
)
predicates = st.one_of(
    st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), numbers, numbers),
    st.tuples(st.sampled_from(["=", "<>"]), st.one_of(names, strings), st.one_of(names, strings, numbers)),
    st.tuples(st.sampled_from(["BETWEEN", "NOT BETWEEN"]), numbers, numbers, numbers),
    st.tuples(st.sampled_from(["IN", "NOT IN"]), names, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)),
    st.tuples(st.sampled_from(["LIKE", "NOT LIKE"]), names, st.sampled_from(["", "%", "x%", "_", "x!%", "%'_"])),
    st.tuples(st.sampled_from(["IS NULL", "IS NOT NULL"]), names),
    names,
    st.booleans().map(lambda value: ("literal", value)),
)
conditions = st.recursive(
    predicates,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["AND", "OR"]), inner, inner),
        st.tuples(st.just("NOT"), inner),
        st.tuples(st.sampled_from(["=", "<>"]), inner, inner),
    ),
    max_leaves=8,
)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 9),
    st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1, 0.5, -2.0, 2.0**53, b"x"]),
    st.sampled_from(WORDS),
)
headers = st.dictionaries(st.sampled_from(NAMES), values)

PRECEDENCE = [("OR",), ("AND",), ("NOT",), ("=", "<>", "<", "<=", ">", ">="), ("+", "-"), ("*", "/"), ("plus", "minus")]
STRENGTH = {operator: level for level, row in enumerate(PRECEDENCE) for operator in row}
COMPARISON, SIGN, ATOM = STRENGTH["="], STRENGTH["plus"], len(PRECEDENCE)


# Printing -------------------------------------------------------------------------------------------------------
def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def written(tree: Any, least: int = 0) -> str:
    """A tree with the fewest parentheses that keep its shape: at this place, operators below `least` need them."""
    operator, *operands = tree
    strength = STRENGTH.get(operator, ATOM if operator in ("name", "literal") else COMPARISON)
    text = bare(operator, operands, strength)
    return f"({text})" if strength < least else text


def bare(operator: str, operands: list[Any], strength: int) -> str:
    match operator:
        case "name":
            return str(operands[0])
        case "literal":
            (value,) = operands
            return quoted(value) if isinstance(value, str) else str(value)
        case "NOT":
            return f"not {written(operands[0], strength)}"
        case "plus" | "minus":
            return f"{'+' if operator == 'plus' else '-'}{written(operands[0], strength)}"
        case "BETWEEN" | "NOT BETWEEN":
            value, low, high = (written(operand, COMPARISON + 1) for operand in operands)
            return f"{value} {operator} {low} AND {high}"
        case "IN" | "NOT IN":
            return f"{written(operands[0])} {operator} ({', '.join(map(quoted, operands[1]))})"
        case "LIKE" | "NOT LIKE":
            return f"{written(operands[0])} {operator} {quoted(operands[1])} ESCAPE '!'"
        case "IS NULL" | "IS NOT NULL":
            return f"{written(operands[0])} {operator}"
    left, right = operands
    first = strength + 1 if strength == COMPARISON else strength  # comparisons do not form a row, the others do
    return f"{written(left, first)} {operator} {written(right, strength + 1)}"


# Evaluating -----------------------------------------------------------------------------------------------------
def value_of(tree: Any, lookup: Mapping[str, object]) -> Any:
    """The value of an operand; a condition has its truth value, NULL and UNKNOWN are both None."""
    operator, *operands = tree
    match operator:
        case "name":
            return lookup.get(operands[0])
        case "literal":
            return operands[0]
        case "plus" | "minus":
            value = value_of(operands[0], lookup)
            return reckoned("+" if operator == "plus" else "-", 0, value)
        case "+" | "-" | "*" | "/":
            return reckoned(operator, value_of(operands[0], lookup), value_of(operands[1], lookup))
    return truth_of(tree, lookup)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def reckoned(operator: str, left: Any, right: Any) -> Any:
    if not is_number(left) or not is_number(right) or (operator == "/" and right == 0):
        return None
    exact = isinstance(left, int) and isinstance(right, int)
    if not exact:
        left, right = float(left), float(right)
    elif operator == "/":
        left = Fraction(left)
    result = {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[operator](right)
    if not exact:
        return result
    return int(result) if -(2**63) <= int(result) < 2**63 else None


def truth_of(tree: Any, lookup: Mapping[str, object]) -> bool | None:
    """Logic with 0, 1/2 and 1: AND is the least, OR the greatest, NOT what is missing to 1."""
    return {0: False, 0.5: None, 1: True}[level(tree, lookup)]


def level(tree: Any, lookup: Mapping[str, object]) -> float:
    operator, *operands = tree
    if operator in ("AND", "OR"):
        return (min if operator == "AND" else max)(level(operand, lookup) for operand in operands)
    if operator == "NOT":
        return 1 - level(operands[0], lookup)
    value = value_of(operands[0], lookup) if operator not in ("name", "literal") else value_of(tree, lookup)
    match operator:
        case "name" | "literal":
            return value if isinstance(value, bool) else 0.5
        case "IS NULL" | "IS NOT NULL":
            return (value is None) == (operator == "IS NULL")
        case "IN" | "NOT IN":
            return 0.5 if value is None else (value in operands[1]) == (operator == "IN")
        case "LIKE" | "NOT LIKE":
            if value is None:
                return 0.5
            return isinstance(value, str) and is_like(operands[1], value) == (operator == "LIKE")
        case "BETWEEN" | "NOT BETWEEN":
            low, high = (value_of(operand, lookup) for operand in operands[1:])
            if operator == "BETWEEN":
                return min(compared(">=", value, low), compared("<=", value, high))
            return max(compared("<", value, low), compared(">", value, high))
    return compared(operator, value, value_of(operands[1], lookup))


def compared(operator: str, left: Any, right: Any) -> float:
    if left is None or right is None:
        return 0.5
    if is_number(left) and is_number(right):
        if type(left) is not type(right):
            left, right = float(left), float(right)
    elif type(left) is not type(right) or isinstance(left, bytes) or operator not in ("=", "<>"):
        return 0
    return {
        "=": left == right,
        "<>": left != right,
        "<": operator == "<" and left < right,
        "<=": operator == "<=" and left <= right,
        ">": operator == ">" and left > right,
        ">=": operator == ">=" and left >= right,
    }[operator]


def is_like(pattern: str, text: str) -> bool:
    signs = {"%": ".*", "_": ".", "!%": "%", "!_": "_"}
    expression = "".join(signs.get(part) or re.escape(part) for part in re.findall(r"![%_]|.", pattern))
    return re.fullmatch(expression, text, re.DOTALL) is not None


@settings(max_examples=600, deadline=None)
@given(conditions, headers)
@example(("NOT", ("<>", ("name", "a"), ("literal", 1))), {"a": "1"})
@example(("OR", ("AND", ("name", "a"), ("name", "b")), ("AND", ("name", "c"), ("name", "d"))), {"c": True, "d": True})
@example(("=", ("-", ("literal", 1), ("-", ("literal", 2), ("literal", 3))), ("literal", 2)), {})
def test_printed_and_parsed_expression_has_the_value_of_its_tree(tree: Any, lookup: dict[str, object]) -> None:
    assert parse(written(tree)).evaluate(lookup) is truth_of(tree, lookup), written(tree)


# The object -----------------------------------------------------------------------------------------------------
def test_selector_tells_its_text_and_which_headers_it_reads() -> None:
    text = "a = 1 AND b LIKE 'c%' OR NOT (d IS NULL AND a < e)"
    selector = parse(text)
    assert selector.text == text
    assert selector.identifiers == {"a", "b", "d", "e"}
    assert parse("TRUE").identifiers == frozenset()
    assert repr(parse("a = 'x'")) == """<Selector "a = 'x'">"""


@pytest.mark.parametrize(("value", "matched"), [(1, True), (2, False), (None, False), ("1", False)])
def test_only_true_matches(value: object, matched: bool) -> None:
    selector: Selector = parse("a = 1")
    assert selector.matches({"a": value}) is matched


def test_selector_is_asked_many_times_and_remembers_nothing() -> None:
    selector = parse("a > 1 OR b")
    assert [selector.evaluate({"a": number}) for number in (1, 2, 1)] == [None, True, None]
    assert selector.evaluate({}) is None
