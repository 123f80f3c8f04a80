"""Answers a client that asks where to go, from what brokers say of their load and what the links measure.

Owns: our own burden, and whom we told it. Must not know: how candidates are weighed (`core.locating`). It keeps no
state that a client would miss: any other broker answers the same question from its own links.
"""

from __future__ import annotations

from itertools import islice

from causeway.config import BrokerConfig
from causeway.core import locating
from causeway.core.events import MembershipChanged
from causeway.core.links.book import Book
from causeway.core.links.channel import Channel, Link
from causeway.core.links.standing import Standing
from causeway.core.machine import Turn
from causeway.core.messages import Burden, Candidate, Locate, Located
from causeway.limits import (
    CANDIDATES_MAX,
    CAPABILITY_MAX,
    CAPABILITY_USUAL,
    CONNECTIONS_MAX,
    LOCATE_ENTRIES_MAX,
    NAME_BYTES_MAX,
    REFUGES_MAX,
    SEATS_HELD_MAX,
)
from causeway.types import SECOND, BrokerId, Duration, Instant, Peer

NEWS_PAUSE: Duration = 1 * SECOND
"""A burden that only changed in numbers is told no more often on a link too busy for signs of life."""

DEAD_NAMED_FOR: Duration = 60 * SECOND
"""So long a broker that is gone is named as dead, for people who ask why it was not chosen."""


class Locator:
    """The locator that every broker is."""

    def __init__(self, config: BrokerConfig, standing: Standing, book: Book) -> None:
        self._standing = standing
        self._book = book
        self._limit = config.connections_max
        self._capability = config.capability or CAPABILITY_USUAL
        self._beat = config.heartbeat
        self._silence = config.silence
        self.moved: dict[BrokerId, tuple[str, ...]] = {}
        """Brokers that hold other seats than their own, or none."""

    # Between brokers ---------------------------------------------------------------------------------------------
    def burden(self) -> Burden:
        """How much we have to do."""
        us = self._standing
        ready = us.ready and us.seats != ()  # a spare takes no clients
        return Burden(len(self._book.clients), self._limit, self._capability, ready, us.seats)

    def tell(self, turn: Turn, channel: Channel) -> Burden:
        """Our burden, to be sent on this connection now."""
        channel.told = self.burden()
        channel.told_at = turn.now
        return channel.told

    def greet(self, turn: Turn, channel: Channel) -> Burden:
        """Our burden, to be sent with a greeting: the broker there knows it if it answers at all."""
        channel.known_root = self._standing.root_epoch
        channel.known_burden = self.tell(turn, channel)
        return channel.known_burden

    def news(self, turn: Turn, channel: Channel) -> Burden | None:
        """Our burden, to be sent now, if the broker there may not know it."""
        return None if channel.known_burden == self.burden() else self.tell(turn, channel)

    def has_news(self, channel: Channel, now: Instant) -> bool:
        """Whether the broker there should hear of us although the link needs no sign of life."""
        known, ours = channel.known_burden, self.burden()
        if known is None or known.ready != ours.ready or known.seats != ours.seats:
            return True
        if channel.known_root < self._standing.root_epoch:
            return True
        return known != ours and (now - channel.told_at >= NEWS_PAUSE or now - channel.said_at >= self._beat // 2)

    def hear(self, turn: Turn, channel: Channel, burden: Burden | None) -> None:
        """What a broker says of itself, or that it has no news; nonsense is not kept."""
        if channel.link is None:
            return
        if burden is None:
            channel.link.burden_at = turn.now
            return
        sound = 0 <= burden.connections <= CONNECTIONS_MAX and 1 <= burden.limit <= CONNECTIONS_MAX
        if sound and 1 <= burden.capability <= CAPABILITY_MAX and _seats_are_sound(burden.seats):
            before = channel.link.burden
            if burden.seats != (None if before is None else before.seats):
                self.moved.pop(channel.link.peer.id, None)
                if burden.seats is not None:
                    self.moved[channel.link.peer.id] = burden.seats
                turn.tell(MembershipChanged())  # other brokers should hold what lies there
            channel.link.burden = burden
            channel.link.burden_at = turn.now

    # For clients -------------------------------------------------------------------------------------------------
    def on_locate(self, turn: Turn, channel: Channel, head: Locate) -> None:
        """A client asks where it should go."""
        measured = {
            broker: trip for broker, trip in islice(head.round_trips, LOCATE_ENTRIES_MAX) if 0 <= trip < 3600 * SECOND
        }
        excluded = dict.fromkeys(islice(head.exclude, LOCATE_ENTRIES_MAX))
        found = self._candidates(turn, channel.remote, measured)
        ranked = [one for one in locating.rank(found) if one.peer.id not in excluded]
        best = ranked[:CANDIDATES_MAX]
        ours = next((one for one in ranked[CANDIDATES_MAX:] if one.peer.id == self._standing.me.id), None)
        if ours is not None:
            best[-1] = ours  # what a client has is what it compares with
        turn.send(channel.conn, Located(head.token, tuple(best)))

    def refuges(self, turn: Turn, remote: str) -> tuple[Peer, ...]:
        """Where a client may go that we have no room for."""
        ranked = locating.rank(self._candidates(turn, remote, {}))
        return tuple(one.peer for one in ranked if one.score > 0)[:REFUGES_MAX]

    def _candidates(self, turn: Turn, remote: str, measured: dict[BrokerId, Duration]) -> list[Candidate]:
        us = self._standing
        found = [_candidate(us.me, self.burden(), remote, measured, distance=0, started=us.incarnation, alive=True)]
        for link in self._book.links.values():
            if link.burden is not None and not self._is_unknown(link, turn.now):
                distance = -1 if link.round_trip is None else link.round_trip
                found.append(
                    _candidate(
                        link.peer,
                        link.burden,
                        remote,
                        measured,
                        distance=distance,
                        started=link.incarnation,
                        alive=self._lives(link, turn.now),
                    )
                )
        return found

    def _is_unknown(self, link: Link, now: Instant) -> bool:
        """Whether there is nothing to be said of a broker: its link sleeps, or it has been gone for long."""
        return link.channel is None and (link.announced is not None or now - link.burden_at >= DEAD_NAMED_FOR)

    def _lives(self, link: Link, now: Instant) -> bool:
        return link.channel is not None and now - link.channel.heard_at <= self._silence


def _seats_are_sound(seats: tuple[str, ...] | None) -> bool:
    if seats is None:
        return True
    return len(seats) <= SEATS_HELD_MAX and all(0 < len(seat.encode()) <= NAME_BYTES_MAX for seat in seats)


def _candidate(
    peer: Peer,
    burden: Burden,
    remote: str,
    measured: dict[BrokerId, Duration],
    *,
    distance: Duration,
    started: Instant,
    alive: bool,
) -> Candidate:
    near = locating.nearby(remote, peer.host)
    trip = measured.get(peer.id)
    return Candidate(
        peer,
        alive,
        burden.ready,
        locating.estimate(near, distance) if trip is None else trip,
        trip is not None,
        near,
        distance,
        burden.connections,
        burden.limit,
        burden.capability,
        started,
    )
