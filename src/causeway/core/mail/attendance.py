"""Who consumes what over which connection. Owns: the count and its bound. Must not know: what they hold."""

from __future__ import annotations

from collections.abc import Iterable

from causeway.limits import CONSUMERS_PER_CONNECTION_MAX
from causeway.types import Key


class Attendance:
    """Consumers of all mailboxes of an office, by connection."""

    def __init__(self) -> None:
        self._conns: dict[int, dict[Key, dict[int, None]]] = {}

    def enter(self, conn: int, group: Key, consumer: int) -> bool:
        """Note a consumer; False when its connection has as many as it may."""
        groups = self._conns.setdefault(conn, {})
        known = groups.get(group, {})
        if consumer not in known and sum(map(len, groups.values())) >= CONSUMERS_PER_CONNECTION_MAX:
            return False
        groups.setdefault(group, {})[consumer] = None
        return True

    def leave(self, conn: int, group: Key, consumer: int) -> None:
        """A consumer ended."""
        known = self._conns.get(conn, {}).get(group, {})
        known.pop(consumer, None)
        if not known:
            self.end(conn, group)

    def end(self, conn: int, group: Key) -> None:
        """A mailbox is not served to a connection any more."""
        self._conns.get(conn, {}).pop(group, None)

    def groups(self, conn: int) -> Iterable[Key]:
        """The mailboxes a connection consumes from."""
        return self._conns.get(conn, {})

    def close(self, conn: int) -> Iterable[Key]:
        """The connection is gone: what it consumed from."""
        return self._conns.pop(conn, {})
