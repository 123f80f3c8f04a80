"""The first frames of a connection: Hello, Welcome, or a Goodbye that says what was wrong.

Owns: what a broker says of itself, and who may come in. Must not know: what happens on a connection afterwards.
"""

from __future__ import annotations

from causeway.config import BrokerConfig
from causeway.core.effects import Conn
from causeway.core.links.book import Book
from causeway.core.links.channel import Channel, Stage
from causeway.core.links.handshake import complaint_about_hello, complaint_about_welcome
from causeway.core.links.locator import Locator
from causeway.core.links.standing import Standing
from causeway.core.machine import Turn
from causeway.core.messages import PROTOCOL_VERSION, Burden, Goodbye, Hello, Message, Welcome
from causeway.errors import Code
from causeway.limits import CONNECTIONS_MAX, HELLO_SECONDS_MAX, OTHERS_MAX
from causeway.types import SECOND, Peer


def refusal(goodbye: Goodbye) -> str:
    """Why the other end closed, for our own records: its words, but not without end."""
    return f"refused: {goodbye.detail[:200]}"


class Greeting:
    """Both sides of the greeting."""

    def __init__(self, config: BrokerConfig, standing: Standing, book: Book, locator: Locator) -> None:
        self._clients_max = config.connections_max
        self._standing = standing
        self._book = book
        self._locator = locator

    def on_opened(self, turn: Turn, conn: Conn, remote: str = "") -> None:
        """A connection is up: whoever dialled speaks first."""
        book = self._book
        if conn % 2 == 0:
            channel = book.connect(turn, conn, Stage.WAITING, HELLO_SECONDS_MAX * SECOND)
            channel.remote = remote
            if len(book.channels) > CONNECTIONS_MAX:
                detail = f"this broker has {CONNECTIONS_MAX} connections, its limit; connect to another broker"
                book.refuse(turn, channel, Code.OVERLOADED, detail)
            return
        dialled = book.channels.get(conn)
        if dialled is None:
            return
        dialled.stage = Stage.GREETING
        dialled.timed_at = turn.now
        us = self._standing
        burden = self._locator.greet(turn, dialled)
        turn.send(
            conn, Hello(PROTOCOL_VERSION, us.me.name, us.incarnation, us.me, us.cluster, us.root, burden, us.shards)
        )

    def on_first_frame(self, turn: Turn, channel: Channel, head: Message) -> None:
        """The first frame on an inbound connection."""
        book = self._book
        if not isinstance(head, Hello):
            detail = f"the first frame is {type(head).__name__}; a connection begins with Hello"
            book.refuse(turn, channel, Code.BAD_FRAME, detail)
            return
        wrong = complaint_about_hello(head, self._standing)
        if wrong is not None:
            book.refuse(turn, channel, *wrong)
            return
        book.timers.cancel(("greet", channel.conn))
        if head.peer is not None:
            self._standing.hear_root(turn, head.root)
            self._welcome(turn, channel, (), self._locator.greet(turn, channel))
            book.established(turn, channel, head.peer, head.incarnation, head.cluster)
            self._locator.hear(turn, channel, head.burden)
            return
        if len(book.clients) >= self._clients_max:
            self._send_on(turn, channel)
            return
        channel.stage = Stage.CLIENT
        channel.name, channel.incarnation = head.name, head.incarnation
        book.clients[channel.conn] = channel
        self._welcome(turn, channel, tuple(book.up()[:OTHERS_MAX]), None)

    def _send_on(self, turn: Turn, channel: Channel) -> None:
        """One client too many: tell it where there is room."""
        others = self._locator.refuges(turn, channel.remote)
        named = " or ".join(f"{peer.name} at {peer.host}:{peer.port}" for peer in others)
        detail = (
            f"this broker has {self._clients_max} clients, its connections_max; connect to {named or 'another broker'}"
        )
        turn.send(channel.conn, Goodbye(Code.OVERLOADED, detail, others))
        self._book.cut(turn, channel, detail)

    def _welcome(self, turn: Turn, channel: Channel, others: tuple[Peer, ...], burden: Burden | None) -> None:
        us = self._standing
        channel.said_at = turn.now
        said = (us.cluster, us.root, us.ready, others, burden, us.shards)
        turn.send(channel.conn, Welcome(PROTOCOL_VERSION, us.me, us.incarnation, *said))

    def on_answer(self, turn: Turn, channel: Channel, head: Message) -> None:
        """The first frame on a connection that we dialled."""
        book = self._book
        if isinstance(head, Goodbye):
            book.cut(turn, channel, refusal(head))
            return
        if not isinstance(head, Welcome):
            detail = f"the first frame is {type(head).__name__}; the answer to Hello is Welcome"
            book.refuse(turn, channel, Code.BAD_FRAME, detail)
            return
        wrong = complaint_about_welcome(head, self._standing)
        if wrong is not None:
            book.refuse(turn, channel, *wrong)
            return
        book.timers.cancel(("greet", channel.conn))
        book.forget_address(channel)
        expected = channel.link
        if expected is not None:
            if expected.dial is channel:
                expected.dial = None
            if expected.peer.id != head.peer.id:
                book.dial_failed(turn, expected)
        self._standing.hear_root(turn, head.root)
        channel.measured(turn.now - channel.timed_at)
        link = book.established(turn, channel, head.peer, head.incarnation, head.cluster)
        if link.channel is channel:
            link.measured(turn.now - channel.timed_at)
        self._locator.hear(turn, channel, head.burden)

    @staticmethod
    def is_echo(channel: Channel, head: Message) -> bool:
        """Whether a Hello or Welcome only repeats the one that we have acted on."""
        if isinstance(head, Hello):
            if channel.link is None:
                return (head.name, head.incarnation) == (channel.name, channel.incarnation)
            return not channel.dialled and head.incarnation == channel.link.incarnation
        return isinstance(head, Welcome) and channel.dialled and channel.link is not None
