"""A parsed selector, ready to be asked about any number of messages."""

from __future__ import annotations

from typing import final

from causeway.selectors.evaluate import Condition, Headers
from causeway.selectors.parser import Parser


@final
class Selector:
    """A condition on headers; `parse` makes it."""

    __slots__ = ("_condition", "identifiers", "text")

    def __init__(self, text: str, condition: Condition, identifiers: frozenset[str]) -> None:
        self.text = text
        """As it was written."""
        self.identifiers = identifiers
        """The headers it reads; if there are none, headers need not even be decoded."""
        self._condition = condition

    def evaluate(self, headers: Headers) -> bool | None:
        """True, False, or None for UNKNOWN. Never raises: values that cannot be compared do not match."""
        return self._condition(headers)

    def matches(self, headers: Headers) -> bool:
        """Whether a message with these headers is selected: UNKNOWN is not enough."""
        return self._condition(headers) is True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text!r}>"


def parse(text: str) -> Selector:
    """The selector of this text. Raises SelectorError, which names the column."""
    parser = Parser(text)
    condition = parser.selector()
    return Selector(text, condition, frozenset(parser.identifiers))
