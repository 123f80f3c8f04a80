"""Second ways: what goes from seat to seat, and its answers, over other brokers as well (`paths`).

Owns: which brokers. Must not know: seats, clocks. Copies are removed where they arrive, by the ids a clock knows.
"""

from __future__ import annotations

from causeway.core.machine import Turn
from causeway.core.messages import Accepted, Deposit, Relayed
from causeway.core.ports import Links
from causeway.types import BrokerId
from causeway.wire.codec import encode_head


class Detours:
    """The second ways of one broker."""

    def __init__(self, links: Links, paths: int) -> None:
        self._links = links
        self._count = paths - 1
        self.taken = 0
        """Copies sent so."""

    @property
    def wanted(self) -> bool:
        """Whether there is more than one way to go."""
        return self._count > 0

    def take(self, turn: Turn, to: BrokerId, head: Deposit | Accepted, body: bytes = b"") -> None:
        """Send a copy over each of some other brokers; they share no link with the direct way, nor with each other."""
        me = self._links.me.id
        if not self._count or to == me:
            return
        between = sorted(peer.id for peer in self._links.up() if peer.id not in (to, me))
        if not between:
            return
        start = to[-1] % len(between)  # not all over the same one
        encoded = Relayed(to, encode_head(head))
        for relay in (between[start:] + between[:start])[: self._count]:
            self.taken += 1
            self._links.send(turn, relay, encoded, body)
