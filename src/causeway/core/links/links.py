"""Connections to brokers and clients: who is at the other end, whether it lives, and what waits for it.

The door of this package. Owns: nothing of its own; it sorts stimuli to `greeting` (first frames), `pulse` (signs of
life), `bypass` (ways over third brokers), `locator` (where a client should go) and `book` (the state), and answers
questions. Must not know: what the frames mean.

Two brokers that dial each other at the same time accept both connections, keep the one dialled by the smaller id,
and close the other by a Goodbye from each end: whoever has sent its Goodbye sends nothing more and still listens
until the other's arrives, so nothing that was on its way is lost. An idle link ends the same way and is no failure.
"""

from __future__ import annotations

import random
from typing import Final, get_args

import msgspec

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm
from causeway.core.effects import Close, Conn, Send
from causeway.core.events import ClientMessage, MembershipChanged, PeerMessage
from causeway.core.links.book import SWEEP, Book
from causeway.core.links.bypass import Bypasses
from causeway.core.links.channel import Channel, Stage
from causeway.core.links.greeting import Greeting, refusal
from causeway.core.links.locator import Locator
from causeway.core.links.pulse import Pulse
from causeway.core.links.standing import Standing
from causeway.core.machine import Turn
from causeway.core.messages import (
    Beat,
    Bypassed,
    Config,
    Echo,
    Goodbye,
    LinkMessage,
    Locate,
    LocateMessage,
    Message,
    Ping,
    Pong,
)
from causeway.errors import Code
from causeway.limits import HELLO_SECONDS_MAX, LINK_QUEUE_BYTES_MAX, LINK_QUEUE_FRAMES_MAX
from causeway.types import BrokerId, Duration, Instant, Peer

# Read once: an enum's attribute costs a lookup, and every frame passes here.
_BROKER: Final = Stage.BROKER
_CLIENT: Final = Stage.CLIENT
_CLOSING: Final = Stage.CLOSING
_OURS: Final = frozenset(get_args(LinkMessage | LocateMessage))


class LinksStatistics(msgspec.Struct, frozen=True):
    """What `causeway status` shows of the connections."""

    brokers_up: int
    brokers_known: int
    clients: int
    connections: int
    queued_frames: int


class Links:
    """All connections of one broker. Stimuli: Opened, Received, Closed, Clogged, Drained, its deadlines, and `send`."""

    def __init__(
        self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random, *, alarm: Alarm | None = None
    ) -> None:
        self.me = me
        self._standing = Standing(me, incarnation, config.shards)
        self._book = Book(config, me, rng, alarm=alarm)
        self._links = self._book.links
        self._channels = self._book.channels
        self._locator = Locator(config, self._standing, self._book)
        self._greeting = Greeting(config, self._standing, self._book, self._locator)
        self._bypasses = Bypasses(config, self._book, self._greeting, self.on_received)
        self._pulse = Pulse(config, self._standing, self._book, self._locator, self._bypasses, rng=rng)

    @property
    def cluster(self) -> str:
        """Set through `set_cluster`; empty while we belong to none."""
        return self._standing.cluster

    @property
    def root(self) -> Config | None:
        """The latest membership of the directory's group that we heard of."""
        return self._standing.root

    @property
    def ready(self) -> bool:
        """Told to clients: whether we can serve them."""
        return self._standing.ready

    @ready.setter
    def ready(self, ready: bool) -> None:
        self._standing.ready = ready

    # What others ask ---------------------------------------------------------------------------------------------
    def send(self, turn: Turn, to: BrokerId, head: Message, body: bytes = b"") -> None:
        """Send if the link is up; otherwise dial and send when it comes up. May be lost: the caller has a retry."""
        assert to != self.me.id, "a broker does not send to itself"
        link = self._links.get(to)
        if link is None:
            return
        channel = link.channel
        if channel is not None:
            channel.said_at = channel.used_at = turn.now
            turn.effects.sends.append(Send(channel.conn, head, body))
            return
        link.enqueue(head, body, LINK_QUEUE_FRAMES_MAX, LINK_QUEUE_BYTES_MAX)
        self._book.dial_when_rested(turn, link)

    def conn_of(self, broker: BrokerId) -> Conn | None:
        """The connection of an established link: for what must wait inside a Persist."""
        link = self._links.get(broker)
        return link.channel.conn if link is not None and link.channel is not None else None

    def learn(self, peer: Peer) -> None:
        """Remember how to reach a broker. What the broker itself told us counts more than hearsay."""
        if peer.id == self.me.id:
            return
        link = self._links.get(peer.id)
        if link is None:
            self._book.link(peer)
        elif link.peer == peer:
            link.other = None
        elif link.confirmed or link.channel is not None or link.dial is not None:
            link.other = peer
        else:
            link.peer = peer

    def is_up(self, broker: BrokerId) -> bool:
        """Whether the link is established (always for ourselves)."""
        link = self._links.get(broker)
        return broker == self.me.id if link is None else link.channel is not None

    def peer(self, broker: BrokerId) -> Peer | None:
        """What is known of a broker."""
        if broker == self.me.id:
            return self.me
        link = self._links.get(broker)
        return None if link is None else link.peer

    def up(self) -> list[Peer]:
        """The brokers whose link is established."""
        return self._book.up()

    def round_trip(self, broker: BrokerId) -> Duration | None:
        """Smoothed measured round trip, None when never measured."""
        link = self._links.get(broker)
        return None if link is None else link.round_trip

    def pin(self, broker: BrokerId) -> None:
        """Keep the link, dial it again when it is lost: its loss must be noticed even while nothing is sent."""
        self._book.pins[broker] = self._book.pins.get(broker, 0) + 1

    def hold_seats(self, turn: Turn, seats: tuple[str, ...]) -> None:
        """The seats we hold from now on: our neighbours hear of it with the next sign of life, which is due now."""
        us = self._standing
        held = None if seats == (us.me.name,) else seats
        if held != us.seats:
            us.seats = held
            turn.tell(MembershipChanged())
            self._book.timers.set(SWEEP, turn.now)

    def places(self) -> dict[BrokerId, tuple[str, ...]]:
        """Brokers that we are linked to (and ourselves) with the seats they hold, if not just their own."""
        found = {broker: seats for broker, seats in self._locator.moved.items() if self.is_up(broker)}
        if self._standing.seats is not None:
            found[self._standing.me.id] = self._standing.seats
        return found

    def unpin(self, broker: BrokerId) -> None:
        """Take back one `pin`."""
        count = self._book.pins.pop(broker, 0) - 1
        if count > 0:
            self._book.pins[broker] = count

    def bypassed(self) -> dict[str, str]:
        """Brokers that we send to over a third one, with that one, by name: the links between are broken or slow."""
        return {
            link.peer.name: self._links[link.channel.via].peer.name
            for link in self._links.values()
            if link.channel is not None and link.channel.via is not None
        }

    def enclose(self, turn: Turn) -> None:
        """The end of a turn: what was sent on ways over third brokers is put into envelopes."""
        self._bypasses.enclose(turn)

    def client(self, conn: Conn) -> tuple[str, int] | None:
        """Name and incarnation of the client on a connection."""
        channel = self._book.clients.get(conn)
        return None if channel is None else (channel.name, channel.incarnation)

    def clients(self) -> list[Conn]:
        """Connections of clients that said hello, oldest first."""
        return list(self._book.clients)

    def clogged(self, conn: Conn) -> bool:
        """Whether a connection's write buffer is full."""
        channel = self._channels.get(conn)
        return channel is not None and channel.clogged

    def dial_address(self, turn: Turn, host: str, port: int) -> None:
        """Dial a broker of which only the address is known; PeerUp tells who it is, silence that nobody answered."""
        address = (host, port)
        if address in self._book.addresses or address == (self.me.host, self.me.port):
            return
        for link in self._links.values():
            if (link.channel is not None or link.dial is not None) and (link.peer.host, link.peer.port) == address:
                return
        self._book.addresses[address] = self._book.dial(turn, host, port).conn

    def is_member(self, broker: BrokerId) -> bool:
        """Whether a broker we are connected to said that it belongs to a cluster."""
        link = self._links.get(broker)
        return link is not None and link.channel is not None and link.cluster != ""

    def refuse(self, turn: Turn, conn: Conn, code: Code, detail: str) -> None:
        """End a connection whose other end broke the rules. Costs nobody else anything."""
        channel = self._channels.get(conn)
        if channel is not None:
            self._book.refuse(turn, channel, code, detail)

    def set_cluster(self, turn: Turn, cluster: str) -> None:
        """We belong to a cluster now: links to brokers of another one, made before we knew, end."""
        self._standing.cluster = cluster
        for link in list(self._links.values()):
            if link.cluster not in ("", cluster):
                detail = f"cluster={link.cluster!r}: this broker has joined {cluster!r}"
                for channel in list(link.channels):
                    self._book.refuse(turn, channel, Code.BAD_FIELD, detail)

    def learn_root(self, config: Config) -> bool:
        """Keep the membership of the directory's group with the highest epoch; whether this was news."""
        return self._standing.learn_root(config)

    def statistics(self) -> LinksStatistics:
        """Counts, for people."""
        return LinksStatistics(
            brokers_up=len(self.up()),
            brokers_known=len(self._links),
            clients=len(self._book.clients),
            connections=len(self._channels),
            queued_frames=sum(len(link.queue) for link in self._links.values()),
        )

    # Stimuli -----------------------------------------------------------------------------------------------------
    def on_opened(self, turn: Turn, conn: Conn, remote: str = "") -> None:
        """A connection is up."""
        self._greeting.on_opened(turn, conn, remote)

    def on_received(self, turn: Turn, conn: Conn, head: Message, body: bytes) -> None:
        """A frame arrived."""
        channel = self._channels.get(conn)
        if channel is None:
            return
        channel.heard_at = turn.now
        stage = channel.stage
        if stage is _BROKER or stage is _CLOSING:
            if type(head) is Bypassed:
                self._bypasses.on_bypassed(turn, channel, head, body)
            elif type(head) in _OURS:
                self._on_broker_frame(turn, channel, head)
            elif stage is _BROKER or channel.is_current:
                assert channel.link is not None
                channel.used_at = turn.now
                turn.tell(PeerMessage(channel.link.peer, head, body))
        elif stage is _CLIENT:
            if type(head) in _OURS:
                self._on_client_frame(turn, channel, head)
            else:
                turn.tell(ClientMessage(conn, head, body))
        elif stage is Stage.WAITING:
            self._greeting.on_first_frame(turn, channel, head)
        else:
            self._greeting.on_answer(turn, channel, head)

    def on_closed(self, turn: Turn, conn: Conn, reason: str = "") -> None:
        """A connection is gone, or could not be made."""
        channel = self._channels.get(conn)
        if channel is not None:
            self._book.lost(turn, channel)

    def on_clogged(self, conn: Conn) -> None:
        """A connection's write buffer passed its high mark."""
        channel = self._channels.get(conn)
        if channel is not None:
            channel.clogged = True

    def on_drained(self, conn: Conn) -> None:
        """A clogged connection's write buffer fell below its low mark."""
        channel = self._channels.get(conn)
        if channel is not None:
            channel.clogged = False

    def on_lagged(self, duration: Duration) -> None:
        """What arrives may wait so long before we are told of it."""
        self._pulse.on_lagged(duration)

    def next_deadline(self) -> Instant | None:
        """When `on_deadline` has something to do."""
        return self._book.timers.next()

    def on_deadline(self, turn: Turn) -> None:
        """Fire what is due."""
        for kind, which in self._book.timers.pop_due(turn.now):
            if kind == "sweep":
                self._pulse.sweep(turn)
            elif kind == "rest":
                link = self._links.get(BrokerId(which)) if isinstance(which, bytes) else None
                if link is not None and link.queue:
                    self._book.dial_when_rested(turn, link)
            elif isinstance(which, int) and which in self._channels:  # not if it led over one that has just been cut
                self._on_overdue(turn, self._channels[which])

    def _on_overdue(self, turn: Turn, channel: Channel) -> None:
        """No greeting in time, or no answer to our Goodbye."""
        if channel.stage is Stage.WAITING:
            detail = f"no Hello within {HELLO_SECONDS_MAX} s; a connection begins with Hello"
            self._book.refuse(turn, channel, Code.BAD_FRAME, detail)
        else:
            self._book.cut(turn, channel, "no answer in time")

    # Later frames ------------------------------------------------------------------------------------------------
    def _on_broker_frame(self, turn: Turn, channel: Channel, head: Message) -> None:
        if isinstance(head, Beat):
            self._pulse.on_beat(turn, channel, head)
        elif isinstance(head, Ping):
            self._pulse.on_ping(turn, channel, head)
        elif isinstance(head, Echo):
            self._pulse.on_pong(turn, channel, Pong(head.nonce))
        elif isinstance(head, Pong):
            self._pulse.on_pong(turn, channel, head)
        elif isinstance(head, Goodbye):
            self._on_goodbye(turn, channel, head)
        else:
            self._on_greeted_again(turn, channel, head)

    def _on_goodbye(self, turn: Turn, channel: Channel, goodbye: Goodbye) -> None:
        link = channel.link
        if goodbye.code != 0 or link is None:
            self._book.cut(turn, channel, refusal(goodbye))
            return
        if channel.stage is not _CLOSING:
            turn.send(channel.conn, Goodbye(0, ""))
        if channel in link.channels:
            self._book.take_out(turn, link, channel)
        self._book.forget(channel)
        turn.effects.closes.append(Close(channel.conn, "closed by both ends"))

    def _on_client_frame(self, turn: Turn, channel: Channel, head: Message) -> None:
        if isinstance(head, Ping):
            turn.send(channel.conn, Pong(head.nonce))
        elif isinstance(head, Locate):
            self._locator.on_locate(turn, channel, head)
        elif isinstance(head, Goodbye):
            self._book.cut(turn, channel, "the client said goodbye")
        elif not isinstance(head, Pong):
            self._on_greeted_again(turn, channel, head)

    def _on_greeted_again(self, turn: Turn, channel: Channel, head: Message) -> None:
        if not self._greeting.is_echo(channel, head):
            detail = f"{type(head).__name__} came again, and different; a connection is greeted once"
            self._book.refuse(turn, channel, Code.BAD_FRAME, detail)
