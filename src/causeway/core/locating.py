"""Where a client should go: how brokers are weighed for one client. Pure functions, the same at brokers and clients.

Owns: what each fact is worth, and when an offer is so much better that moving pays. Must not know: where facts come
from, or who asks. Every term stays visible in the Candidate, so that a choice can be explained.

    score = room x ease x nearness

A product, because each of them can spoil all the rest: a broker that is full, overrun or far away is a bad choice
whatever else it is. A new broker has all its room and no work, and so comes first among equals as soon as it is known.
"""

from __future__ import annotations

import enum
import ipaddress
from collections.abc import Iterable
from typing import Final

import msgspec

from causeway.core.messages import Candidate
from causeway.limits import CAPABILITY_USUAL
from causeway.types import MICROSECOND, MILLISECOND, Duration

WHOLE: Final = 1000
"""What room, ease and nearness are at best."""

EASE_HALF: Final = 100
"""So many connections of a broker of the usual capability halve its score."""

NEARNESS_HALF: Final[Duration] = 10 * MILLISECOND
"""So long a round trip halves a broker's score."""

BETTER_PERCENT: Final = 130
"""An offer counts from this much of the present broker's score on: smaller differences are noise and pass by."""

CLOSER_MIN: Final[Duration] = 5 * MILLISECOND
"""An offer must shorten the round trip by so much,"""
LIGHTER_MIN: Final = 20
"""or spare so many connections of a broker of the usual capability,"""
ROOMIER_MIN: Final = 200
"""or have so many thousandths more of its limit free."""


class Nearby(enum.IntEnum):
    """What two addresses say about the distance between them."""

    HOST = 0
    """The same address, or both of this machine."""
    NETWORK = 1
    """The same /24, or /64 of IPv6."""
    ELSEWHERE = 2


_ASSUMED: Final[dict[int, Duration]] = {
    Nearby.HOST: 100 * MICROSECOND,
    Nearby.NETWORK: 1 * MILLISECOND,
    Nearby.ELSEWHERE: 20 * MILLISECOND,
}
"""Round trips as long as nobody has measured."""


def nearby(client: str, broker: str) -> Nearby:
    """How near a broker is to a client by their addresses; names that are no addresses are only compared."""
    if client and client == broker:
        return Nearby.HOST
    try:
        one, other = ipaddress.ip_address(client.partition("%")[0]), ipaddress.ip_address(broker.partition("%")[0])
    except ValueError:
        return Nearby.ELSEWHERE
    if one.version != other.version:
        return Nearby.ELSEWHERE
    if one.is_loopback and other.is_loopback:
        return Nearby.HOST
    local_bits = 8 if one.version == 4 else 64
    return Nearby.NETWORK if int(one) >> local_bits == int(other) >> local_bits else Nearby.ELSEWHERE


def estimate(near: int, distance: Duration) -> Duration:
    """A round trip nobody has measured: from the addresses, and for a client elsewhere how far we are from there."""
    assumed = _ASSUMED.get(near, _ASSUMED[Nearby.ELSEWHERE])
    return assumed + max(0, distance) if near >= Nearby.ELSEWHERE else assumed


def weigh(one: Candidate) -> Candidate:
    """The same broker with what its facts are worth."""
    free = one.limit - one.connections
    room = max(1, WHOLE * free // one.limit) if free > 0 and one.limit > 0 else 0
    ease = WHOLE * EASE_HALF // (EASE_HALF + work(one))
    nearness = WHOLE * NEARNESS_HALF // (NEARNESS_HALF + max(0, one.round_trip))
    score = room * ease * nearness // WHOLE if one.alive and one.ready else 0
    return msgspec.structs.replace(one, room=room, ease=ease, nearness=nearness, score=score)


def work(one: Candidate) -> int:
    """Its connections as if it were of the usual capability."""
    return max(0, one.connections) * CAPABILITY_USUAL // max(1, one.capability)


def rank(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The best first; of equals the one with fewer connections, then the one that started last."""
    return sorted(
        (weigh(one) for one in candidates), key=lambda one: (-one.score, one.connections, -one.started, one.peer.name)
    )


def is_better(offer: Candidate, home: Candidate, *, by_load: bool = True) -> bool:
    """Whether moving from `home` to `offer` (as it will be with us) pays; not `by_load`: only for a shorter way.

    Both conditions keep clients where they are when the gain is small in proportion, or too small to be felt.
    """
    if offer.score <= 0 or 100 * offer.score < BETTER_PERCENT * home.score:
        return False
    if home.score <= 0:
        return by_load or not home.ready
    if home.round_trip - offer.round_trip >= CLOSER_MIN:
        return True
    return by_load and (work(home) - work(offer) >= LIGHTER_MIN or offer.room - home.room >= ROOMIER_MIN)
