"""Critical topics: those whose first level is `critical`, published over two ways at once (docs/adr/0014).

Owns: which topics these are, their items in pairs, and what of a pattern concerns them. Must not know: who publishes or
reads, how copies are told apart.
"""

from __future__ import annotations

from typing import Final

from causeway.topics.limits import CRITICAL_PAIRS
from causeway.topics.paths import MANY, ONE, PATTERN_BYTES_MAX, PATTERN_LEVELS_MAX, SEPARATOR, TEMPORARY, is_wild
from causeway.types import CRITICAL_ITEM_PREFIX, hash_of

CRITICAL: Final = "critical"

WAYS: Final = tuple(
    tuple(f"{CRITICAL_ITEM_PREFIX}{pair:02d}/{way}" for pair in range(CRITICAL_PAIRS)) for way in (0, 1)
)
"""The items of each way; items with one place belong together."""

_OTHER: Final = {**dict(zip(*WAYS, strict=True)), **dict(zip(*reversed(WAYS), strict=True))}
_BEGINNING: Final = CRITICAL + SEPARATOR


def is_critical(path: str) -> bool:
    """Whether a topic is critical, or all that a pattern matches."""
    return path.startswith(_BEGINNING) or path == CRITICAL


def critical_item(path: str, way: int = 0) -> str:
    """The item of a critical topic on one way: that of its second level, if it has one."""
    levels = path.split(SEPARATOR, 2)
    return WAYS[way][hash_of(levels[min(1, len(levels) - 1)]) % CRITICAL_PAIRS]


def other_way(item: str) -> str | None:
    """The other one of a pair of items; None of an ordinary item."""
    return _OTHER.get(item)


def is_second_way(item: str) -> bool:
    """Whether an item is of way 1."""
    return item in _OTHER and item.endswith("/1")


def critical_part(pattern: str) -> str | None:
    """The pattern of the critical topics that a pattern matches; None if it matches none."""
    first, slash, rest = pattern.partition(SEPARATOR)
    if first == CRITICAL:
        return pattern
    if first == ONE:
        return CRITICAL + slash + rest
    if first != MANY:
        return None
    part = f"{CRITICAL}{SEPARATOR}{pattern}"
    # A pattern this long leaves no topic any room for one level more.
    long = len(part.encode()) > PATTERN_BYTES_MAX or part.count(SEPARATOR) >= PATTERN_LEVELS_MAX
    return None if long else part


def critical_items(part: str, way: int) -> tuple[str, ...]:
    """The items of one way in which a topic may match this pattern of critical topics."""
    levels = part.split(SEPARATOR, 2)
    return WAYS[way] if len(levels) > 1 and is_wild(levels[1]) else (critical_item(part, way),)


def quiet(part: str) -> str:
    """A pattern by which an item knows of somebody whom only the other way serves: no topic of the item matches it."""
    return TEMPORARY + part
