"""Patterns of LIKE: compiled once, matched in time that is at most a product of lengths.

A pattern is cut at every % into pieces of fixed length. The first must begin the text, the last must end it, and each
between them is looked for from where the one before it ended: the leftmost place is always good enough, so nothing is
ever tried again.
"""

from __future__ import annotations

import re
from collections.abc import Callable

ANY_ONE = "_"
ANY_MANY = "%"


class BadPattern(Exception):
    """The escape character stands before something that needs no escape; the text says what is wrong."""


def matcher(pattern: str, escape: str | None) -> Callable[[str], bool]:
    """Whether a text is like the pattern. Raises BadPattern."""
    pieces = [_compiled(piece) for piece in _cut(pattern, escape)]
    first, last = pieces[0][0], pieces[-1][0]
    if len(pieces) == 1:
        return lambda text: first.fullmatch(text) is not None
    between = [piece for piece, length in pieces[1:-1] if length]
    last_length = pieces[-1][1]

    def matches(text: str) -> bool:
        found = first.match(text)
        if found is None:
            return False
        for piece in between:
            found = piece.search(text, found.end())
            if found is None:
                return False
        start = len(text) - last_length
        return start >= found.end() and last.fullmatch(text, start) is not None

    return matches


def _cut(pattern: str, escape: str | None) -> list[list[str | None]]:
    """The pieces between the %: characters, with None for any one."""
    pieces: list[list[str | None]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if escaped not in (ANY_ONE, ANY_MANY, escape):
                raise BadPattern(f"{escape!r} before {escaped!r}" if escaped else f"{escape!r} at its end")
            pieces[-1].append(escaped)
        elif character == ANY_MANY:
            pieces.append([])
        else:
            pieces[-1].append(None if character == ANY_ONE else character)
    return pieces


def _compiled(piece: list[str | None]) -> tuple[re.Pattern[str], int]:
    """A piece as an expression without any repetition, and its length."""
    expression = "".join("." if character is None else re.escape(character) for character in piece)
    return re.compile(expression, re.DOTALL), len(piece)
