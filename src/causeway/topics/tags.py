"""Names written as tags: `road=a1, kind=speed` to pairs and back. Knows nothing of templates.

A value has none of `/ = ,` in it: so the level `tag=value` and a template's level always tell which value was meant,
and a forgotten comma is found.
"""

from __future__ import annotations

from typing import Final, NoReturn, final

from causeway.errors import TopicError
from causeway.topics.limits import TOPIC_LEVELS_MAX
from causeway.topics.paths import FOREIGN, MANY, ONE, SEPARATOR, TAG, TEMPORARY, check_level, shown

COMMA: Final = ","
EQUALS: Final = "="


@final
class TagText:
    """A text that was written as tags."""

    __slots__ = ("open", "pairs")

    def __init__(self, pairs: dict[str, str], *, is_open: bool) -> None:
        self.pairs = pairs
        """Tag to value, in the order of writing; in patterns a value may be the wildcard."""
        self.open = is_open
        """Whether it stands also for names with further tags."""


def is_tags(text: str) -> bool:
    """Whether a text is written as tags rather than as a path; one that is neither is reported as what it resembles."""
    first = text.split(SEPARATOR, 1)[0]
    return EQUALS in first and not text.startswith(TEMPORARY) and (COMMA in text or SEPARATOR not in text)


def is_value(value: str) -> bool:
    """Whether part of a sound path can be the value of a tag."""
    if value.strip() != value or not value or value[0] == TEMPORARY or FOREIGN.fullmatch(value):
        return False
    return COMMA not in value and EQUALS not in value


def write_tags(pairs: dict[str, str]) -> str:
    """The text of these tags."""
    return f"{COMMA} ".join(f"{tag}{EQUALS}{value}" for tag, value in pairs.items())


def read_tags(field: str, text: str, *, wildcards: bool) -> TagText:
    """Pairs of a text. Raises TopicError, which names the column."""
    pairs: dict[str, str] = {}
    parts = text.split(COMMA)
    column = 1
    for place, part in enumerate(parts):
        at = column + len(part) - len(part.lstrip())
        written = part.strip()
        if written == MANY and wildcards and place + 1 == len(parts):
            return TagText(pairs, is_open=True)
        tag, value = _read_pair(field, text, at, written, wildcards=wildcards)
        if tag in pairs:
            raise TopicError(field, text, at, f"the tag {shown(tag)} again", "each tag once")
        if len(pairs) == TOPIC_LEVELS_MAX:
            raise TopicError(field, text, at, f"tag {len(pairs) + 1}", f"at most {TOPIC_LEVELS_MAX} tags")
        pairs[tag] = value
        column += len(part) + 1
    return TagText(pairs, is_open=False)


def _read_pair(field: str, text: str, column: int, written: str, *, wildcards: bool) -> tuple[str, str]:
    """One `tag=value`, which begins at this column."""
    if not written:
        found = "the end" if column > len(text) else "an empty pair"
        raise TopicError(field, text, column, found, "tag=value")
    left, equals, right = written.partition(EQUALS)
    tag, value = left.rstrip(), right.strip()
    if not equals:
        if written == MANY:
            _refuse_many(field, text, column, wildcards=wildcards)
        raise TopicError(field, text, column, shown(written), "tag=value")
    if not TAG.fullmatch(tag):
        raise TopicError(field, text, column, shown(tag) if tag else "no tag", "a tag of letters, digits and _")
    at = column + len(left) + 1 + len(right) - len(right.lstrip())
    if not value:
        raise TopicError(field, text, at, "no value", f"a value for the tag {shown(tag)}")
    if value == ONE and wildcards:
        return tag, value
    for place, character in enumerate(value):
        if character in (ONE, MANY):
            _refuse_wildcard(field, text, at + place, value, wildcards=wildcards)
        if character == EQUALS:
            raise TopicError(field, text, at + place, "'='", "a comma before the next tag")
        if character == SEPARATOR:
            raise TopicError(field, text, at + place, "'/'", "a value without slashes")
    check_level(field, text, at, value, first=False)
    return tag, value


def _refuse_many(field: str, text: str, column: int, *, wildcards: bool) -> NoReturn:
    if wildcards:
        raise TopicError(field, text, column, f"{MANY!r} before other tags", f"{MANY!r} at the end only")
    _refuse_wildcard(field, text, column, MANY, wildcards=False)


def _refuse_wildcard(field: str, text: str, column: int, value: str, *, wildcards: bool) -> NoReturn:
    wildcard = text[column - 1]
    if not wildcards:
        expected = "a topic without one: wildcards belong in subscriptions"
        raise TopicError(field, text, column, f"the wildcard {wildcard!r}", expected)
    if value == MANY:
        raise TopicError(field, text, column, f"{MANY!r} as a value", f"{ONE!r} for any value of a tag")
    raise TopicError(field, text, column, f"{wildcard!r} inside {shown(value)}", f"{ONE!r} as a whole value")
