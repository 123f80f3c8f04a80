"""Where a client should go: what brokers tell each other of their load, and a client's question. Tags 110 to 119.

Any broker answers; how candidates are weighed is in `core.locating`, for brokers and clients alike (ADR 0009).
"""

from __future__ import annotations

import msgspec

from causeway.types import BrokerId, Duration, Instant, Peer


class Burden(msgspec.Struct, frozen=True, array_like=True):
    """How much a broker has to do, and how much it could; told with every greeting and sign of life."""

    connections: int
    """Clients connected now."""
    limit: int
    """Clients it takes at most."""
    capability: int
    """What it can compute; 1000 is usual."""
    ready: bool = True
    """False while it is still joining, or leaving: it takes no clients."""
    seats: tuple[str, ...] | None = None
    """The seats it holds, by the names of their brokers; None: its own place, and nobody has said anything else."""


class Candidate(msgspec.Struct, frozen=True, array_like=True):
    """One broker as it was weighed for one client: the facts, what each of them is worth, and the score."""

    peer: Peer
    alive: bool
    """Its link to the broker that answers is up, and it was heard within the silence."""
    ready: bool
    round_trip: Duration
    """Between the client and this broker: measured by the client, or estimated."""
    measured: bool
    """Whether the client measured it."""
    nearby: int
    """Nearby: what the two addresses say."""
    distance: Duration
    """Round trip between this broker and the one that answers, measured by the latter; -1 when it never was."""
    connections: int
    limit: int
    capability: int
    started: Instant
    """Its incarnation: of two equals the one that started later is chosen."""
    room: int = 0
    """Free connections, in thousandths of its limit."""
    ease: int = 0
    """1000 with no connections, 500 at 100 of them on a broker of the usual capability."""
    nearness: int = 0
    """1000 without any distance, 500 at a round trip of 10 ms."""
    score: int = 0
    """room x ease x nearness in millionths; 0 for a broker that must not be chosen."""


class Locate(msgspec.Struct, frozen=True, array_like=True, tag=110):
    """A client asks any broker: where should I go?"""

    token: int
    exclude: tuple[BrokerId, ...] = ()
    """Brokers that it could not reach."""
    round_trips: tuple[tuple[BrokerId, Duration], ...] = ()
    """What it has measured itself."""


class Located(msgspec.Struct, frozen=True, array_like=True, tag=111):
    """The brokers known there, the best one first; the one that answers is among them."""

    token: int
    candidates: tuple[Candidate, ...] = ()


LocateMessage = Locate | Located
"""About where a client should go."""
