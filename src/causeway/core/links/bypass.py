"""Ways around a broken or slow link: connections to a broker over a third one that both still reach (ADR 0031).

Such a connection is greeted, asked for signs of life, measured and closed like any other; the rest of the broker cannot
tell it from one of the system's. Only its number is negative: what is sent on it leaves in envelopes (`Bypassed`) on
the connection to the third broker. That one passes them on if it has a connection of its own to the other end, and says
so if not. An envelope is passed on once, so none goes round in circles.

Owns: envelopes, and over whom a way is looked for. Must not know: when one is needed (`pulse`), which connection is the
best (`book`), what the envelopes hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from causeway.config import BrokerConfig
from causeway.core.effects import Conn, Send
from causeway.core.links.book import UNMEASURED, Book, Bypass
from causeway.core.links.channel import Channel, Link, Stage
from causeway.core.links.greeting import Greeting
from causeway.core.machine import Turn
from causeway.core.messages import Bypassed, Goodbye, Hello, Message, Welcome
from causeway.errors import Code, RemoteProtocolError
from causeway.limits import BYPASSES_MAX, BYPASSES_PER_LINK_MAX
from causeway.types import KEY_BYTES, BrokerId, Duration, Key
from causeway.wire.codec import decode_head, encode_head

NO_WAY = Goodbye(Code.NOT_READY, "the broker between has no connection to the other one")
UNKNOWN = Goodbye(Code.NOT_READY, "this connection is unknown here")


class Bypasses:
    """The ways of one broker over others, and of others over it."""

    def __init__(
        self,
        config: BrokerConfig,
        book: Book,
        greeting: Greeting,
        receive: Callable[[Turn, Conn, Message, bytes], None],
    ) -> None:
        self._patience = config.silence
        self._book = book
        self._greeting = greeting
        self._receive = receive
        """Hands over a frame that came in an envelope."""
        self._inbound_last: Conn = 0

    def seek(self, turn: Turn, link: Link, *, nearer_than: Duration = UNMEASURED) -> None:
        """The link to a broker is broken or slow: ask for a way over the nearest brokers, each time over others."""
        book = self._book
        taken = [c.via for c in book.channels.values() if c.link is link and c.via is not None]
        relays = [
            other
            for other in book.links.values()
            if other is not link and other.peer.id not in taken and self._can_pass_on(turn, other, nearer_than)
        ]
        relays.sort(key=lambda other: (UNMEASURED if other.round_trip is None else other.round_trip, other.peer.id))
        for _ in range(min(len(relays), BYPASSES_PER_LINK_MAX - len(taken))):
            if len(book.ways) >= BYPASSES_MAX:
                return
            relay = relays.pop(link.tried % len(relays))
            link.tried += 1
            number = book.new_conn()
            channel = book.connect(turn, -number, Stage.DIALLING, self._patience, relay.peer.id)
            channel.link = link
            book.ways[-number] = Bypass(relay.peer.id, link.peer.id, number, True)
            self._greeting.on_opened(turn, -number)

    def _can_pass_on(self, turn: Turn, other: Link, nearer_than: Duration) -> bool:
        direct = other.direct
        if direct is None or direct.is_doubtful(turn.now, self._book.doubt_after):
            return False
        return (direct.round_trip or 0) < nearer_than

    # Envelopes that came ------------------------------------------------------------------------------------------
    def on_bypassed(self, turn: Turn, channel: Channel, head: Bypassed, body: bytes) -> None:
        """An envelope came on a connection: for us, or to be passed on."""
        link = channel.link
        assert link is not None
        if channel.via is not None or len(head.to) != KEY_BYTES or len(head.origin) != KEY_BYTES:
            return
        channel.used_at = turn.now
        if head.to == self._book.me.id:
            self._open(turn, channel, link.peer.id, head, body)
        elif head.origin == link.peer.id:
            self._pass_on(turn, channel, head, body)

    def _pass_on(self, turn: Turn, channel: Channel, head: Bypassed, body: bytes) -> None:
        link = self._book.links.get(head.to)
        onward = None if link is None else link.direct
        if onward is None:
            self._answer(turn, channel, head, NO_WAY)
        elif not onward.clogged:  # else it is lost on the way, like any frame that finds no room
            onward.said_at = onward.used_at = turn.now
            turn.send(onward.conn, head, body)

    def _open(self, turn: Turn, channel: Channel, relay: BrokerId, head: Bypassed, body: bytes) -> None:
        try:
            inner = decode_head(head.head)
        except RemoteProtocolError:
            return
        if isinstance(inner, Hello | Welcome) and (inner.peer is None or inner.peer.id != head.origin):
            return
        began = self._book.inbound.get((relay, Key(head.origin), head.number))
        conn = -head.number if not head.dialled else began or 0
        way = self._book.ways.get(conn)
        if way is not None and conn in self._book.channels:
            if (way.relay, way.other, way.dialled) == (relay, head.origin, not head.dialled):
                self._receive(turn, conn, inner, body)
        elif head.dialled and isinstance(inner, Hello):
            self._welcome(turn, channel, head, inner)
        elif not isinstance(inner, Goodbye):
            self._answer(turn, channel, head, UNKNOWN)

    def _welcome(self, turn: Turn, channel: Channel, head: Bypassed, hello: Hello) -> None:
        """Somebody reaches us over a third broker. What it says on a connection of its own counts more: the envelope
        may have been under way since a former life."""
        book, link = self._book, self._book.links.get(head.origin)
        stale = link is not None and link.direct is not None and link.direct.incarnation != hello.incarnation
        if stale or channel.link is None or len(book.ways) >= BYPASSES_MAX:
            return
        self._inbound_last -= 2
        conn, relay = self._inbound_last, channel.link.peer.id
        book.connect(turn, conn, Stage.WAITING, self._patience, relay)
        book.ways[conn] = Bypass(relay, head.origin, head.number, False)
        book.inbound[relay, head.origin, head.number] = conn
        self._receive(turn, conn, hello, b"")

    def _answer(self, turn: Turn, channel: Channel, head: Bypassed, why: Goodbye) -> None:
        turn.send(channel.conn, Bypassed(head.origin, head.to, head.number, not head.dialled, encode_head(why)))

    # Envelopes that go --------------------------------------------------------------------------------------------
    def enclose(self, turn: Turn) -> None:
        """The end of a turn: what was sent on ways over others is put into envelopes."""
        book = self._book
        if not book.ways:
            return
        effects = turn.effects
        effects.sends = self._enclosed(effects.sends)
        effects.persists = [
            msgspec.structs.replace(persist, then=self._enclosed(persist.then)) for persist in effects.persists
        ]
        effects.closes = [close for close in effects.closes if close.conn > 0]
        for conn in book.ended:
            del book.ways[conn]
        book.ended.clear()

    def _enclosed(self, sends: Sequence[Send]) -> list[Send]:
        found: list[Send] = []
        for send in sends:
            way = self._book.ways.get(send.conn)
            if way is None:
                found.append(send)
                continue
            relay = self._book.links[way.relay].direct if way.relay in self._book.links else None
            if relay is not None:
                envelope = Bypassed(way.other, self._book.me.id, way.number, way.dialled, encode_head(send.head))
                found.append(Send(relay.conn, envelope, send.body))
        return found
