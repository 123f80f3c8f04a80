"""Text of a selector to tokens, each with its column. Knows the words of the language, not its grammar.

Tokens are made one by one as the parser asks, so that the leftmost mistake is the one that is reported.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterator
from typing import Final, NoReturn

import msgspec

from causeway.errors import SelectorError

KEYWORDS: Final = frozenset(
    {"NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"},
)
"""In any case of letters; none of them can be an identifier."""

EXACT_MAX: Final = (1 << 63) - 1
EXACT_MIN: Final = -(1 << 63)
"""Exact numbers have 64 bits, as a Java long."""

_SHOWN_CHARS_MAX: Final = 40

# The quantifiers are possessive: what they took they never give back, so that a scan is linear, and a string that is
# not closed does not end at the first half of a doubled quote.
_SPACE: Final = re.compile(r"[ \t\f\r\n]*+")
_STRING: Final = re.compile(r"'((?:[^']|'')*+)'")
_NUMBER: Final = re.compile(r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?[lL]?")
_SYMBOL: Final = re.compile(r"<>|<=|>=|[=<>+\-*/(),]")


class Lexeme(enum.Enum):
    """What sort of token it is."""

    KEYWORD = enum.auto()
    SYMBOL = enum.auto()
    IDENTIFIER = enum.auto()
    STRING = enum.auto()
    NUMBER = enum.auto()
    END = enum.auto()


class Token(msgspec.Struct, frozen=True):
    """One word of a selector."""

    lexeme: Lexeme
    text: str
    """Keywords in capitals; all others as written."""
    column: int
    """Of its first character, from 1."""
    value: str | int | float = ""
    """What a literal stands for."""

    def __str__(self) -> str:
        """As an error names it."""
        if self.lexeme is Lexeme.END:
            return "the end"
        if self.lexeme is Lexeme.STRING:
            return f"the string {shown(str(self.value))}"
        return shown(self.text)


def shown(text: str) -> str:
    """Text as an error quotes it: short, and without characters that disturb a terminal."""
    return repr(text if len(text) <= _SHOWN_CHARS_MAX else f"{text[:_SHOWN_CHARS_MAX]}...")


def tokens(text: str) -> Iterator[Token]:
    """Every token, then END again and again. Raises SelectorError at what is no token."""
    at = _skip(text, 0)
    while at < len(text):
        token, after = _token(text, at)
        yield token
        at = _skip(text, after)
    while True:
        yield Token(Lexeme.END, "", len(text) + 1)


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _token(text: str, at: int) -> tuple[Token, int]:
    """The token that begins here, and where it ends."""
    first, column = text[at], at + 1
    if found := _SYMBOL.match(text, at):
        return Token(Lexeme.SYMBOL, found[0], column), found.end()
    if found := _NUMBER.match(text, at):
        return _number(text, found), found.end()
    if first == "'":
        if not (found := _STRING.match(text, at)):
            raise SelectorError(text, column, "a string that is not closed", "a quote (') at its end")
        return Token(Lexeme.STRING, found[0], column, found[1].replace("''", "'")), found.end()
    end = _word_end(text, at)
    word = text[at:end]
    if not word or not _starts_word(first):
        raise SelectorError(text, column, shown(word or first), "a value or an operator")
    # Letters outside ASCII are never part of a keyword, though some of them have the capitals of one.
    if word.isascii() and word.upper() in KEYWORDS:
        return Token(Lexeme.KEYWORD, word.upper(), column), end
    return Token(Lexeme.IDENTIFIER, word, column, word), end


def _number(text: str, found: re.Match[str]) -> Token:
    written, column, end = found[0], found.start() + 1, found.end()
    stop = end
    while stop < len(text) and (_continues_word(text[stop]) or text[stop] == "."):
        stop += 1
    if stop > end:
        _refuse(text, found.start(), stop)
    if any(mark in written for mark in ".eE"):
        approximate = float(written) if written[-1] not in "lL" else _refuse(text, found.start(), end)
        if math.isinf(approximate):
            raise SelectorError(text, column, shown(written), "a number in the range of a double")
        return Token(Lexeme.NUMBER, written, column, approximate)
    digits = written.rstrip("lL")
    if digits[0] == "0" and len(digits) > 1:
        # Java reads it as octal, people as decimal: whoever wrote it should say what is meant.
        raise SelectorError(text, column, shown(written), "a number without leading zeros")
    exact = int(digits) if len(digits) <= len(str(EXACT_MAX)) else EXACT_MAX + 2
    if exact > EXACT_MAX + 1:  # one more than the greatest is the smallest without its sign; the parser sees the sign
        raise SelectorError(text, column, shown(written), "a number of 64 bits")
    return Token(Lexeme.NUMBER, written, column, exact)


def _refuse(text: str, start: int, stop: int) -> NoReturn:
    raise SelectorError(text, start + 1, shown(text[start:stop]), "a number such as 7, -957, 95.7 or 7E3")


def _starts_word(character: str) -> bool:
    """Letters of all scripts, _ and $, as in Java."""
    return character == "$" or character.isidentifier()


def _continues_word(character: str) -> bool:
    """The same, digits, and marks that combine with a letter."""
    return character == "$" or f"a{character}".isidentifier()


def _word_end(text: str, at: int) -> int:
    while at < len(text) and _continues_word(text[at]):
        at += 1
    return at
