"""Brokers that failed and may come back, and when to look for each again.

A partition leaves two rings that do not know of each other's life; they find each other only because somebody keeps
asking. The pause per broker doubles, up to a bound that grows with how many are missing and for how long, so that the
whole costs a few questions per second at most.
"""

from __future__ import annotations

import random
from typing import Final

from causeway.limits import MISSING_MAX
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Instant, Peer

PAUSE_MIN: Final[Duration] = 300 * MILLISECOND
PAUSE_MAX: Final[Duration] = 2 * SECOND
PAUSE_MAX_LATER: Final[Duration] = 8 * SECOND
"""The longest pause, at first and for a broker that has been missing for long (an eighth of that time)."""
PAUSE_PER_BROKER: Final[Duration] = 300 * MILLISECOND
ASKED_AT_ONCE: Final = 3


class _Entry:
    __slots__ = ("due", "pause", "peer", "since")

    def __init__(self, peer: Peer, since: Instant, due: Instant) -> None:
        self.peer = peer
        self.since = since
        self.pause = PAUSE_MIN
        self.due = due


class Missing:
    """At most MISSING_MAX brokers; the longest missing is forgotten first."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._entries: dict[BrokerId, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, broker: BrokerId) -> bool:
        return broker in self._entries

    def peers(self) -> list[Peer]:
        """Who is missing, the longest first."""
        return [entry.peer for entry in self._entries.values()]

    def add(self, peer: Peer, now: Instant) -> None:
        """A broker failed."""
        self._entries.pop(peer.id, None)
        while len(self._entries) >= MISSING_MAX:
            del self._entries[next(iter(self._entries))]
        self._entries[peer.id] = _Entry(peer, now, now + self._jittered(PAUSE_MIN))

    def discard(self, broker: BrokerId) -> bool:
        """It is back, or has left for good; whether it was missing."""
        return self._entries.pop(broker, None) is not None

    def next_due(self, now: Instant) -> Instant | None:
        """When to look again, never in less than PAUSE_MIN."""
        if not self._entries:
            return None
        return max(now + PAUSE_MIN, min(entry.due for entry in self._entries.values()))

    def pop_due(self, now: Instant) -> list[Peer]:
        """Whom to ask now."""
        due = sorted((entry.due, broker) for broker, entry in self._entries.items() if entry.due <= now)
        asked: list[Peer] = []
        for _, broker in due[:ASKED_AT_ONCE]:
            entry = self._entries[broker]
            for_long = min(PAUSE_MAX_LATER, max(PAUSE_MAX, (now - entry.since) // 8))
            entry.pause = min(2 * entry.pause, max(for_long, PAUSE_PER_BROKER * len(self._entries)))
            entry.due = now + self._jittered(entry.pause)
            asked.append(entry.peer)
        return asked

    def _jittered(self, pause: Duration) -> Duration:
        return pause // 2 + self._rng.randrange(pause)
