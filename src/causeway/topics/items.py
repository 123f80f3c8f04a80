"""Items: the mailboxes that carry all topics. Owns: which item a topic is in, and which a pattern can concern."""

from __future__ import annotations

from typing import Final

from causeway.names import RESERVED_PREFIX
from causeway.topics.limits import TOPIC_ITEMS
from causeway.topics.paths import SEPARATOR, is_wild
from causeway.types import key_of

ITEM_PREFIX: Final = f"{RESERVED_PREFIX}topics/"
ITEM_COUNT: Final = TOPIC_ITEMS

ALL_ITEMS: Final = tuple(f"{ITEM_PREFIX}{number:02d}" for number in range(ITEM_COUNT))

_KNOWN: Final = frozenset(ALL_ITEMS)


def item_of(path: str) -> str:
    """The item of a topic: that of its first level, so that neighbours share a publisher's order."""
    return ALL_ITEMS[int.from_bytes(key_of(path.split(SEPARATOR, 1)[0]), "big") % ITEM_COUNT]


def items_of(pattern: str) -> tuple[str, ...]:
    """The items in which a topic may match this canonical pattern."""
    return ALL_ITEMS if is_wild(pattern.split(SEPARATOR, 1)[0]) else (item_of(pattern),)


def is_item(mailbox: str) -> bool:
    """Whether a mailbox is an item."""
    return mailbox in _KNOWN
