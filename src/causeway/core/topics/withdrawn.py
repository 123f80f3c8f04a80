"""Subscriptions that an item or a seat was told to forget: what they said before that, and comes late, changes nothing.

Owns: which they were, and in which version; the latest of them only. Must not know: who is registered.
"""

from __future__ import annotations

from collections.abc import Iterable

from causeway.core.topics.rows import encode, read_withdrawn, withdrawn_key
from causeway.store.base import Delete, Put, Row, Write
from causeway.topics.limits import WITHDRAWN_PER_ITEM_MAX
from causeway.types import Key


class Withdrawn:
    """Of one item or seat."""

    __slots__ = ("_group", "_versions")

    def __init__(self, group: Key) -> None:
        self._group = group
        self._versions: dict[str, int] = {}
        """By mailbox, oldest first."""

    def restore(self, rows: Iterable[Row]) -> None:
        """As they were when these were written."""
        self._versions = dict(read_withdrawn(rows))

    def is_late(self, mailbox: str, version: int) -> bool:
        """Whether a subscription said something before it was withdrawn."""
        return version <= self._versions.get(mailbox, -1)

    def note(self, mailbox: str, version: int, position: int) -> list[Write]:
        """A subscription is withdrawn, registered or not: what it said before may still be on its way."""
        if self.is_late(mailbox, version):
            return []
        self._versions.pop(mailbox, None)
        self._versions[mailbox] = version
        writes: list[Write] = [Put(self._group, withdrawn_key(mailbox), position, encode(version))]
        if len(self._versions) > WITHDRAWN_PER_ITEM_MAX:
            writes += self.forget(next(iter(self._versions)))
        return writes

    def forget(self, mailbox: str) -> list[Write]:
        """It has begun again: from now on its registration says which version counts."""
        if self._versions.pop(mailbox, None) is None:
            return []
        return [Delete(self._group, withdrawn_key(mailbox))]
