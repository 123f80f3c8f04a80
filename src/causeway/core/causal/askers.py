"""Clients that wait to hear the seat of a name.

Owns: who asked, with which token. Must not know: how a seat is found, what is answered.
"""

from __future__ import annotations

Asker = tuple[int, int]
"""A connection and the token of its question."""


class Askers:
    """By name, in the order they asked."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[Asker, None]] = {}
        self._by_conn: dict[int, dict[tuple[str, int], None]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def names(self) -> list[str]:
        """Names somebody waits for."""
        return list(self._by_name)

    def count(self, conn: int) -> int:
        """How many questions of a connection wait."""
        return len(self._by_conn.get(conn, ()))

    def add(self, name: str, asker: Asker) -> None:
        """One more waits."""
        conn, token = asker
        self._by_name.setdefault(name, {})[asker] = None
        self._by_conn.setdefault(conn, {})[(name, token)] = None

    def take(self, name: str) -> list[Asker]:
        """Those who wait for a name, who wait no longer."""
        askers = list(self._by_name.pop(name, {}))
        for conn, token in askers:
            questions = self._by_conn[conn]
            del questions[(name, token)]
            if not questions:
                del self._by_conn[conn]
        return askers

    def forget(self, conn: int) -> None:
        """A connection ended."""
        for name, token in self._by_conn.pop(conn, {}):
            askers = self._by_name[name]
            del askers[(conn, token)]
            if not askers:
                del self._by_name[name]
