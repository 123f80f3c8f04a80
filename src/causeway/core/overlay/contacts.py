"""Whom to ask to be let in: brokers known from an earlier life or met just now, in turn. Pure data."""

from __future__ import annotations

from collections.abc import Sequence

from causeway.limits import CONTACTS_MAX
from causeway.types import BrokerId, Peer


class Contacts:
    """A bounded list that is gone through again and again."""

    def __init__(self) -> None:
        self._peers: dict[BrokerId, Peer] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._peers)

    def peers(self) -> list[Peer]:
        """All of them."""
        return list(self._peers.values())

    def add(self, peers: Sequence[Peer]) -> None:
        """Remember more of them; the oldest are forgotten first."""
        for peer in peers:
            if peer.id not in self._peers and len(self._peers) >= CONTACTS_MAX:
                del self._peers[next(iter(self._peers))]
            self._peers[peer.id] = peer

    def take(self, count: int) -> list[Peer]:
        """The next ones in turn."""
        peers = list(self._peers.values())
        count = min(count, len(peers))
        taken = [peers[(self._next + i) % len(peers)] for i in range(count)]
        self._next = (self._next + count) % len(peers) if peers else 0
        return taken
