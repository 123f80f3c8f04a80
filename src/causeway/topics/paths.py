"""Canonical paths of topics and patterns: which are sound, and what is wrong with the others.

Owns: the characters with a meaning, and the checks. Must not know: tags, templates, who asks.

Beside whole levels, a canonical pattern may have the wildcard level `tag=*`: any value of one tag.
"""

from __future__ import annotations

import enum
import re
from typing import Final

from causeway.errors import TopicError
from causeway.names import PRIVATE
from causeway.topics.limits import TOPIC_BYTES_MAX, TOPIC_LEVELS_MAX

SEPARATOR: Final = "/"
ONE: Final = "*"
"""Exactly one level."""
MANY: Final = "#"
"""Any number of levels, also none."""
TEMPORARY: Final = PRIVATE
"""Begins the first level of a topic that ends with its application."""

TAG: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WILD_TAG: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=\*")

PATTERN_LEVELS_MAX: Final = 2 * TOPIC_LEVELS_MAX + 1
PATTERN_BYTES_MAX: Final = 2 * TOPIC_BYTES_MAX

_SHOWN_CHARS_MAX: Final = 40

FOREIGN: Final = re.compile(r"\+|(?:.*\.)?>", re.DOTALL)
"""A level that is a wildcard elsewhere: MQTT's for one level, or NATS's for all that follows (`>`, `roads.>`). Whoever
writes one means a pattern, and as text it would match nothing."""

_FOREIGN_FIRST: Final = {
    "$share": "shared=True and name=... beside a pattern without it",
    "$SYS": "bus.status() or `causeway status`: brokers publish nothing",
}
"""First levels that mean something to MQTT, and would match nothing here: what to use instead."""

_UNSOUND_TOPIC: Final = re.compile(
    r"^\$(?:share|SYS)(?:/|$)|[*#]|^/|/$|//|(?<!^)~|^ | $|/ | /|(?:^|/)\+(?:/|$)|(?:^|[/.])>(?:/|$)"
)
"""Finds something in each printable text that is no topic, its length aside."""


class Use(enum.Enum):
    """What a path is for: it decides which wildcards it may have."""

    TOPIC = enum.auto()
    """None."""
    WRITTEN_PATTERN = enum.auto()
    """MANY as the last level only."""
    PATTERN = enum.auto()
    """MANY everywhere, but not directly before another wildcard: one meaning has one text."""


def shown(text: str) -> str:
    """Text as an error quotes it: short, and without characters that disturb a terminal."""
    return repr(text if len(text) <= _SHOWN_CHARS_MAX else f"{text[:_SHOWN_CHARS_MAX]}...")


def size_of(text: str) -> int:
    """Bytes of UTF-8, also of text that is none."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def check_topic_path(field: str, path: str) -> str:
    """Return the canonical path of a topic, or say what is wrong with it."""
    if (
        len(path) <= TOPIC_BYTES_MAX
        and path
        and path.isprintable()
        and not _UNSOUND_TOPIC.search(path)
        and path.count(SEPARATOR) < TOPIC_LEVELS_MAX
        and size_of(path) <= TOPIC_BYTES_MAX
    ):
        return path
    return check_path(field, path, Use.TOPIC)


def check_pattern_path(field: str, path: str) -> str:
    """Return a canonical pattern, or say what is wrong with it."""
    return check_path(field, path, Use.PATTERN)


def check_path(field: str, text: str, use: Use) -> str:
    """Level by level, so that the leftmost mistake is the one that is reported."""
    bytes_max = PATTERN_BYTES_MAX if use is Use.PATTERN else TOPIC_BYTES_MAX
    if (size := size_of(text)) > bytes_max:
        raise TopicError(field, text, _column_of_byte(text, bytes_max), f"{size} bytes", f"at most {bytes_max}")
    levels = text.split(SEPARATOR)
    column, counted = 1, 0
    for place, level in enumerate(levels):
        counted += use is Use.PATTERN or level != MANY
        levels_max = PATTERN_LEVELS_MAX if use is Use.PATTERN else TOPIC_LEVELS_MAX
        if counted > levels_max:
            raise TopicError(field, text, column, f"level {counted}", f"at most {levels_max} levels")
        _check_wildcards(field, text, column, level, use)
        if level == MANY and place + 1 < len(levels):
            _check_many_inside(field, text, column, levels[place + 1], use)
        check_level(field, text, column, level, first=place == 0)
        column += len(level) + 1
    return text


def check_level(field: str, text: str, column: int, level: str, *, first: bool) -> None:
    """What any level must be, apart from wildcards; `column` is where it begins."""
    if not level:
        found = "nothing" if not text else "the end" if column > len(text) else "an empty level"
        raise TopicError(field, text, column, found, "a level; slashes stand between levels only")
    if not level.isprintable():
        at = next(place for place, character in enumerate(level) if not character.isprintable())
        raise TopicError(field, text, column + at, shown(level[at]), "a printable character")
    if (at := level.find(TEMPORARY, 1 if first else 0)) >= 0:
        expected = f"{TEMPORARY!r} only where a temporary topic begins"
        raise TopicError(field, text, column + at, repr(TEMPORARY), expected)
    if level[0] == " " or level[-1] == " ":
        at = 0 if level[0] == " " else len(level) - 1
        raise TopicError(field, text, column + at, "a space", "no space at the beginning or end of a level")
    if first and level in _FOREIGN_FIRST:
        raise TopicError(field, text, column, f"MQTT's {level!r}", _FOREIGN_FIRST[level])
    if FOREIGN.fullmatch(level):
        whose, meant = "NATS", f"{MANY!r} as the last level, in patterns only"
        if level == "+":
            whose, meant = "MQTT", f"{ONE!r} for exactly one level or value, in patterns only"
        if field == "topic":
            meant = "a topic without one: wildcards belong in subscriptions"
        at = column + len(level) - 1
        raise TopicError(field, text, at, f"{whose}'s wildcard {level[-1]!r}", meant)


def is_wild(level: str) -> bool:
    """Whether a level of a sound pattern stands for several."""
    return level in (ONE, MANY) or level.endswith("=*")


def _check_wildcards(field: str, text: str, column: int, level: str, use: Use) -> None:
    at = next((place for place, character in enumerate(level) if character in (ONE, MANY)), -1)
    if at < 0:
        return
    if use is Use.TOPIC:
        expected = "a topic without one: wildcards belong in subscriptions"
        raise TopicError(field, text, column + at, f"the wildcard {level[at]!r}", expected)
    if level not in (ONE, MANY) and not WILD_TAG.fullmatch(level):
        expected = f"{level[at]!r} as a whole level" + (" or value" if level[at] == ONE else "")
        if "." in level:  # as NATS and AMQP write patterns
            expected += "; slashes stand between levels, not dots"
        raise TopicError(field, text, column + at, f"{level[at]!r} inside {shown(level)}", expected)


def _check_many_inside(field: str, text: str, column: int, after: str, use: Use) -> None:
    if use is Use.WRITTEN_PATTERN:
        raise TopicError(field, text, column, f"{MANY!r} before other levels", f"{MANY!r} as the last level only")
    if after in (ONE, MANY):
        raise TopicError(field, text, column, f"{MANY!r} before {after!r}", f"{ONE!r} first, then one {MANY!r}")


def _column_of_byte(text: str, count: int) -> int:
    """Column of the character that exceeds so many bytes."""
    used = 0
    for place, character in enumerate(text):
        used += size_of(character)
        if used > count:
            return place + 1
    return len(text)
