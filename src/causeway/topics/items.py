"""Items: the mailboxes that carry all topics. Owns: which item a topic is in, and which a pattern can concern."""

from __future__ import annotations

from typing import Final

from causeway.names import RESERVED_PREFIX
from causeway.topics.critical import WAYS, critical_item, critical_items, critical_part, is_critical
from causeway.topics.limits import TOPIC_ITEMS
from causeway.topics.paths import SEPARATOR, is_wild
from causeway.types import hash_of

ITEM_PREFIX: Final = f"{RESERVED_PREFIX}topics/"
ITEM_COUNT: Final = TOPIC_ITEMS

ALL_ITEMS: Final = tuple(f"{ITEM_PREFIX}{number:02d}" for number in range(ITEM_COUNT))

_ORDINARY: Final = frozenset(ALL_ITEMS)
_KNOWN: Final = frozenset((*ALL_ITEMS, *WAYS[0], *WAYS[1]))


def item_of(path: str) -> str:
    """The item of a topic: that of its first level, so that neighbours share a publisher's order. Of a critical one,
    that of its first way."""
    if is_critical(path):
        return critical_item(path)
    return ALL_ITEMS[hash_of(path.split(SEPARATOR, 1)[0]) % ITEM_COUNT]


def items_of(pattern: str) -> tuple[str, ...]:
    """The items in which a topic may match this canonical pattern, of critical topics those of the first way."""
    part = critical_part(pattern)
    return ordinary_items(pattern) + (() if part is None else critical_items(part, 0))


def ordinary_items(pattern: str) -> tuple[str, ...]:
    """The same without critical topics."""
    if is_critical(pattern):
        return ()
    return ALL_ITEMS if is_wild(pattern.split(SEPARATOR, 1)[0]) else (item_of(pattern),)


def is_ordinary_item(mailbox: str) -> bool:
    """Whether a mailbox is an item of topics that are not critical: landmarks place these. Pairs place themselves."""
    return mailbox in _ORDINARY


def is_item(mailbox: str) -> bool:
    """Whether a mailbox is an item."""
    return mailbox in _KNOWN
