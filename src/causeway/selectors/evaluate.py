"""What the operators mean. Each function here takes compiled operands and returns one compiled operation.

A compiled operand is a closure from headers to a value; a compiled condition is a closure to True, False or None, where
None is SQL's UNKNOWN. Nothing here ever raises, whatever the headers hold.

The rules, from JMS 2.0 section 3.8.1:
- a missing header is NULL; comparison and arithmetic with NULL are UNKNOWN (3.8.1.2);
- only like values compare: numbers with numbers, strings with strings, booleans with booleans. "If the comparison of
  non-like type values is attempted, the value of the operation is false", for = and for <> alike;
- strings and booleans know only = and <>. Bytes are no type of JMS and compare with nothing;
- an exact number that meets an approximate one becomes a double first, as in Java.

Where JMS is silent, the answer is UNKNOWN rather than a guess: arithmetic on what is no number, division by zero, exact
results of more than 64 bits, a header as a condition that is no boolean.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from causeway.selectors.lexer import EXACT_MAX, EXACT_MIN

Headers = Mapping[str, object]
Operand = Callable[[Headers], object]
Condition = Callable[[Headers], bool | None]

_Compare = Callable[[Any, Any], bool]
_Apply = Callable[[object, object], object]

COMPARISONS: Final[dict[str, _Compare]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EQUALITIES: Final = ("=", "<>")
"""All that strings and booleans can be asked."""

_EQUALITY_FUNCTIONS: Final = (operator.eq, operator.ne)


# Values ---------------------------------------------------------------------------------------------------------
def constant(value: object) -> Operand:
    """A literal."""
    return lambda headers: value


def header(name: str) -> Operand:
    """An identifier: the header of this name, NULL if there is none."""
    return lambda headers: headers.get(name)


def negative(operand: Operand) -> Operand:
    """Unary minus."""
    return lambda headers: _minus(0, operand(headers))


def positive(operand: Operand) -> Operand:
    """Unary plus: the number itself."""

    def run(headers: Headers) -> object:
        value = operand(headers)
        return value if type(value) is int or type(value) is float else None

    return run


def chain(first: Operand, rest: Sequence[tuple[str, Operand]]) -> Operand:
    """A row of operators of the same precedence, from left to right; a loop, so that a long row does not nest."""
    steps = [(_ARITHMETIC[symbol], operand) for symbol, operand in rest]

    def run(headers: Headers) -> object:
        value = first(headers)
        for apply, operand in steps:
            value = apply(value, operand(headers))
        return value

    return run


def _arithmetic(exact: Callable[[int, int], int], approximate: Callable[[float, float], float]) -> _Apply:
    """An operator on two values of any type."""

    def apply(left: object, right: object) -> object:
        if type(left) is int and type(right) is int:
            result = exact(left, right)
            # Java would wrap around and select the wrong messages without a word.
            return result if EXACT_MIN <= result <= EXACT_MAX else None
        if type(left) in _NUMBERS and type(right) in _NUMBERS:
            return approximate(_double(left), _double(right))
        return None

    return apply


def _divide(left: object, right: object) -> object:
    return None if type(right) in _NUMBERS and right == 0 else _quotient(left, right)


def _truncated(left: int, right: int) -> int:
    """Java's division of integers: towards zero, while Python's goes down."""
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _double(value: Any) -> float:
    """Java's promotion of a number to a double."""
    try:
        return float(value)
    except OverflowError:  # an int beyond 64 bits, which no message brings, but a caller's own mapping may
        return math.inf if value > 0 else -math.inf


_NUMBERS: Final = (int, float)  # exact types: a bool is an int to Python and no number here
_minus: Final = _arithmetic(operator.sub, lambda left, right: left - right)
_quotient: Final = _arithmetic(_truncated, operator.truediv)
_ARITHMETIC: Final[dict[str, _Apply]] = {
    "+": _arithmetic(operator.add, operator.add),
    "-": _minus,
    "*": _arithmetic(operator.mul, operator.mul),
    "/": _divide,
}


# Comparisons ----------------------------------------------------------------------------------------------------
def comparison(symbol: str, left: Operand, right: Operand) -> Condition:
    """= <> < <= > >="""
    compare = COMPARISONS[symbol]
    return lambda headers: _compared(compare, left(headers), right(headers))


def between(value: Operand, low: Operand, high: Operand) -> Condition:
    """BETWEEN, as JMS spells it out."""
    return every([comparison(">=", value, low), comparison("<=", value, high)])


def outside(value: Operand, low: Operand, high: Operand) -> Condition:
    """NOT BETWEEN, as JMS spells it out: not quite the NOT of BETWEEN, since both are false for a string."""
    return some([comparison("<", value, low), comparison(">", value, high)])


def among(value: Operand, options: frozenset[str], *, negated: bool) -> Condition:
    """IN: an = with each option, joined by OR; NOT IN is the NOT of that, as JMS spells it out."""

    def run(headers: Headers) -> bool | None:
        found = value(headers)
        if found is None:
            return None
        return (type(found) is str and found in options) is not negated

    return run


def like(value: Operand, matches: Callable[[str], bool], *, negated: bool) -> Condition:
    """LIKE and NOT LIKE; what is no string is of non-like type, so that both are false."""

    def run(headers: Headers) -> bool | None:
        found = value(headers)
        if found is None:
            return None
        return isinstance(found, str) and matches(found) is not negated

    return run


def null(value: Operand, *, negated: bool) -> Condition:
    """IS NULL and IS NOT NULL: never UNKNOWN."""
    return lambda headers: (value(headers) is None) is not negated


def _compared(compare: _Compare, left: object, right: object) -> bool | None:
    if left is None or right is None:
        return None
    kind = type(left)
    if kind is type(right):
        if kind in _NUMBERS or (compare in _EQUALITY_FUNCTIONS and (kind is str or kind is bool)):
            return compare(left, right)
        return False
    if kind in _NUMBERS and type(right) in _NUMBERS:
        return compare(_double(left), _double(right))
    return False


# Logic ----------------------------------------------------------------------------------------------------------
def truth(value: Operand) -> Condition:
    """A header as a condition."""

    def run(headers: Headers) -> bool | None:
        found = value(headers)
        return found if isinstance(found, bool) else None

    return run


def inverse(condition: Condition) -> Condition:
    """NOT."""

    def run(headers: Headers) -> bool | None:
        found = condition(headers)
        return None if found is None else not found

    return run


def every(conditions: Sequence[Condition]) -> Condition:
    """AND over a row: false as soon as one is false. A loop, so that a long row does not nest."""

    def run(headers: Headers) -> bool | None:
        result: bool | None = True
        for condition in conditions:
            found = condition(headers)
            if found is False:
                return False
            if found is None:
                result = None
        return result

    return run


def some(conditions: Sequence[Condition]) -> Condition:
    """OR over a row: true as soon as one is true."""

    def run(headers: Headers) -> bool | None:
        result: bool | None = False
        for condition in conditions:
            found = condition(headers)
            if found:
                return True
            if found is None:
                result = None
        return result

    return run
