"""The book of all connections and known brokers, and what may happen to them: dialled, greeted, closed, lost.

Owns: which connection is a broker's link, what waits for it, and telling the broker's other parts when a peer or a
client comes or goes. Must not know: what is said on a connection (see `greeting`, `pulse`, `links`).
"""

from __future__ import annotations

import random
from typing import Final, NamedTuple

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.effects import Close, Conn, Dial, Send
from causeway.core.events import ClientGone, PeerDown, PeerUp, WayChanged
from causeway.core.links.channel import Channel, Link, Stage
from causeway.core.machine import Turn
from causeway.core.messages import Goodbye
from causeway.errors import Code
from causeway.limits import LINKS_KNOWN_MAX
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Instant, Peer

REST_MIN: Final[Duration] = 100 * MILLISECOND
REST_MAX: Final[Duration] = 2 * SECOND
"""Pause after a failed dial; doubles from one to the other."""

Timer = tuple[str, int | bytes]
"""("sweep", 0), ("greet", conn): greeting or goodbye overdue, ("rest", broker): the pause after a dial is over."""
SWEEP: Final[Timer] = ("sweep", 0)


SLOW_MIN: Final[Duration] = 20 * MILLISECOND
"""A connection of its own that takes no longer is good enough, whatever another way takes."""
UNMEASURED: Final[Duration] = 1 << 62
"""Stands for a round trip that was never measured."""


class Bypass(NamedTuple):
    """Where a connection leads that is none of the system's: over a third broker to another."""

    relay: BrokerId
    other: BrokerId
    number: int
    dialled: bool


class Book:
    """Everything remembered; methods change it and emit the effects that follow."""

    def __init__(self, config: BrokerConfig, me: Peer, rng: random.Random, *, alarm: Alarm | None = None) -> None:
        self.me: Final = me
        self.channels: dict[Conn, Channel] = {}
        self.clients: dict[Conn, Channel] = {}
        self.links: dict[BrokerId, Link] = {}
        self.pins: dict[BrokerId, int] = {}
        self.addresses: dict[tuple[str, int], Conn] = {}
        """Dials to an address whose broker we do not know yet."""
        self.ways: dict[Conn, Bypass] = {}
        """Where connections lead that go over third brokers; kept until what was said on them last has left."""
        self.ended: list[Conn] = []
        """Those of them that are over."""
        self.inbound: dict[tuple[BrokerId, BrokerId, int], Conn] = {}
        """Those that others began: by third broker, other end, and the other end's number."""
        self.unreached: dict[BrokerId, None] = {}
        """Brokers whose dial failed: perhaps others reach them."""
        self.timers: Deadlines[Timer] = Deadlines(alarm)
        self.sweep_due: Instant = 0
        self.doubt_after: Duration = config.heartbeat // 2
        """An answer is overdue after so long, as busy as we are now."""
        self._config = config
        self._rng = rng
        self._conn_next: Conn = 1

    # Links -------------------------------------------------------------------------------------------------------
    def up(self) -> list[Peer]:
        """The brokers whose link is established."""
        return [link.peer for link in self.links.values() if link.channel is not None]

    def link(self, peer: Peer) -> Link:
        """What is remembered of a broker; begun if this is news."""
        link = self.links.get(peer.id)
        if link is None:
            if len(self.links) >= LINKS_KNOWN_MAX:
                self._forget_one_link()
            link = self.links[peer.id] = Link(peer)
        return link

    def _forget_one_link(self) -> None:
        for broker, link in self.links.items():
            if link.channel is None and link.dial is None and broker not in self.pins:
                del self.links[broker]
                return

    def established(self, turn: Turn, channel: Channel, peer: Peer, incarnation: int, cluster: str) -> Link:
        """Both ends know each other: the link is up, or up twice."""
        link = self.link(peer)
        if link.announced is not None and (link.announced.store != peer.store or link.incarnation != incarnation):
            # Reborn: what its former life promised is void, even if its end did not reach us.
            for old in link.channels:
                self.forget(old)
                turn.effects.closes.append(Close(old.conn, "the broker was restarted"))
            link.channels, link.channel = [], None
            self._lose_ways_over(turn, peer.id)
            turn.tell(PeerDown(link.announced))
            link.announced = None
        link.peer, link.incarnation, link.cluster = peer, incarnation, cluster
        link.confirmed, link.failures, link.rest_until = True, 0, 0
        channel.stage = Stage.BROKER
        channel.link = link
        channel.incarnation = incarnation
        channel.used_at = turn.now
        rival = next((old for old in link.channels if old.via == channel.via), None)
        if rival is not None:
            # The dial of the smaller id wins; of two dials by the same broker, the later.
            if rival.dialled == channel.dialled or channel.dialled == (self.me.id < peer.id):
                link.channels[link.channels.index(rival)] = channel
                link.channel = channel if link.channel is rival else link.channel
                self.say_goodbye(turn, rival)
            else:
                self.say_goodbye(turn, channel)
            return link
        link.channels.append(channel)
        if link.direct is not None and channel.via is not None and not channel.dialled:
            link.direct.round_trip = None  # the other end doubts it: whether it answers us must be seen anew
        if link.channel is not None:
            self.choose(turn, link)
            return link
        link.channel = channel
        if link.announced is None:  # otherwise it only slept, or changes its connection
            turn.tell(PeerUp(peer))
        link.announced = peer
        if link.queue:
            channel.said_at = turn.now
            turn.effects.sends.extend([Send(channel.conn, head, body) for head, body in link.queue])
            link.drop_queue()
        return link

    def choose(self, turn: Turn, link: Link) -> None:
        """Send over the best connection from now on: one that answers, and of those the one measured shortest.

        A way over a third broker costs that one work, so it must be much shorter; and so must any other than the
        present one, lest every measurement changes the way.
        """

        def cost(channel: Channel) -> tuple[bool, Duration, bool]:
            trip = UNMEASURED if channel.round_trip is None else channel.round_trip
            weight = (3 if channel is link.channel else 4) * (1 if channel.via is None else 2)
            if channel.via is None and trip <= SLOW_MIN:
                trip = 0
            return channel.is_doubtful(turn.now, self.doubt_after), weight * trip, channel.via is not None

        before, link.channel = link.channel, min(link.channels, key=cost, default=None)
        if link.channel is not None and link.channel is not before:
            turn.tell(WayChanged(link.peer))

    def retire(self, turn: Turn, link: Link, channel: Channel) -> None:
        """A connection to a living broker is not needed any more."""
        self.take_out(turn, link, channel)
        self.say_goodbye(turn, channel)

    def take_out(self, turn: Turn, link: Link, channel: Channel) -> None:
        """A connection does not lead to its broker any more; neither do those that lead over that broker to others."""
        link.channels.remove(channel)
        if link.channel is channel:
            self.choose(turn, link)
        if channel.via is None:
            self._lose_ways_over(turn, link.peer.id)

    def _lose_ways_over(self, turn: Turn, relay: BrokerId) -> None:
        if self.ways:
            for channel in [channel for channel in self.channels.values() if channel.via == relay]:
                self.lost(turn, channel)

    def dial_when_rested(self, turn: Turn, link: Link) -> None:
        """Dial a broker, now or when the pause after its last failure is over."""
        if link.dial is not None or link.direct is not None:
            return
        if turn.now < link.rest_until:
            self.timers.set_if_unset(("rest", link.peer.id), link.rest_until)
            return
        link.dial = self.dial(turn, link.peer.host, link.peer.port)
        link.dial.link = link

    def dial_failed(self, turn: Turn, link: Link) -> None:
        """Nobody answered, or somebody else: what waited is dropped, as if lost on the way."""
        if link.direct is not None:
            return  # the broker's own dial came through
        first = link.failures == 0
        link.rest_until = turn.now + min(REST_MIN << min(link.failures, 8), REST_MAX)
        link.failures += 1
        if link.channel is not None:
            return  # others reach it
        self.unreached[link.peer.id] = None
        told = link.announced or link.peer
        tell = link.announced is not None or bool(link.queue) or first
        link.drop_queue()
        link.announced = None
        link.confirmed = False
        if link.other is not None:
            link.peer, link.other = link.other, None
        if tell:
            turn.tell(PeerDown(told))

    # Connections -------------------------------------------------------------------------------------------------
    def dial(self, turn: Turn, host: str, port: int) -> Channel:
        """Open a connection."""
        channel = self.connect(turn, self.new_conn(), Stage.DIALLING, self._config.silence)
        turn.effects.dials.append(Dial(channel.conn, host, port))
        return channel

    def new_conn(self) -> Conn:
        """The number of a connection that we begin."""
        self._conn_next += 2
        return self._conn_next - 2

    def connect(self, turn: Turn, conn: Conn, stage: Stage, patience: Duration, via: BrokerId | None = None) -> Channel:
        """Begin to remember a connection, which must be greeted in time."""
        channel = self.channels[conn] = Channel(conn, stage, turn.now, via)
        self.timers.set(("greet", conn), turn.now + patience)
        if SWEEP not in self.timers:
            self.sweep_due = turn.now + self._rng.randrange(self._config.heartbeat) + 1
            self.timers.set(SWEEP, self.sweep_due)
        return channel

    def say_goodbye(self, turn: Turn, channel: Channel) -> None:
        """Send nothing more on this connection, but listen until the other end has said so too."""
        channel.stage = Stage.CLOSING
        turn.send(channel.conn, Goodbye(0, ""))
        self.timers.set(("greet", channel.conn), turn.now + self._config.silence)

    def refuse(self, turn: Turn, channel: Channel, code: Code, detail: str) -> None:
        """Say what is wrong, and close."""
        turn.send(channel.conn, Goodbye(code, detail))
        self.cut(turn, channel, detail)

    def cut(self, turn: Turn, channel: Channel, reason: str) -> None:
        """Close without a word."""
        turn.effects.closes.append(Close(channel.conn, reason))
        self.lost(turn, channel)

    def lost(self, turn: Turn, channel: Channel) -> None:
        """A connection is gone: tell whoever counted on it."""
        self.forget(channel)
        link = channel.link
        if channel.stage is Stage.CLIENT:
            turn.tell(ClientGone(channel.conn))
        elif link is not None and link.dial is channel:
            link.dial = None
            self.dial_failed(turn, link)
        elif link is not None and channel in link.channels:
            self.take_out(turn, link, channel)
            if link.channel is None:
                turn.tell(PeerDown(link.peer))
                link.announced = None

    def forget(self, channel: Channel) -> None:
        """Remember a connection no longer."""
        del self.channels[channel.conn]
        way = self.ways.get(channel.conn)
        if way is not None:
            self.ended.append(channel.conn)
            if not way.dialled:
                del self.inbound[way.relay, way.other, way.number]
        self.clients.pop(channel.conn, None)
        self.timers.cancel(("greet", channel.conn))
        self.forget_address(channel)

    def forget_address(self, channel: Channel) -> None:
        """The dial to an address has come to its end."""
        for address, conn in list(self.addresses.items()):
            if conn == channel.conn:
                del self.addresses[address]
