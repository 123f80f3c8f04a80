"""A session with a scripted broker: every frame it sends is seen, every answer is chosen by the test."""

from __future__ import annotations

import random
from typing import TypeVar

import msgspec

from causeway.client.message import Delivery
from causeway.client.outcomes import Outcome
from causeway.client.reader import MailReader
from causeway.client.session import Session
from causeway.client.settings import SessionConfig
from causeway.core.effects import Close, Dial, Effects, Persist, Send
from causeway.core.events import Clogged, Closed, Drained, DriverEvent, Loaded, Opened, Persisted, Received
from causeway.core.messages import PROTOCOL_VERSION, Accepted, Attached, Deliver, Deposit, Message, Welcome
from causeway.store.base import Delete, Page, Put, Row
from causeway.types import Flag, Peer, key_of
from causeway.wire import body as bodies

Head = TypeVar("Head")
INCARNATION = 0xABC


def peer(name: str) -> Peer:
    """A broker at an address made from its name."""
    return Peer(key_of(name), name, name, 7400, 1)


class Stage:
    """One session, its connections by broker name, and everything it said."""

    def __init__(self, rows: dict[bytes, bytes] | None = None, **settings: object) -> None:
        # It speaks when spoken to: whoever tests roaming switches it on.
        settings = {"name": "billing", "addresses": (("b1", 7400), ("b2", 7400)), "roam": False, **settings}
        self.config = msgspec.convert(settings, SessionConfig)
        self.session = Session(self.config, INCARNATION, random.Random(1))
        self.now = 1_000 * 1_000_000_000
        self.dials: dict[int, Dial] = {}
        self.conns: dict[str, int] = {}
        self.sent: list[Send] = []
        self.closes: list[Close] = []
        self.told: list[Outcome] = []
        self.persists: list[Persist] = []
        self.rows = {} if rows is None else rows
        self.serial = 0

    # Turns -----------------------------------------------------------------------------------------------------
    def turn(self, *events: DriverEvent, after: int = 0) -> Effects:
        """Let time pass and events happen; the store answers at once unless `persists` are being held."""
        self.now += after
        effects = self.session.handle(events, self.now)
        for dial in effects.dials:
            self.dials[dial.conn] = dial
        self.sent += effects.sends
        for close in effects.closes:
            self.closes.append(close)
            self.forget(close.conn)
        self.told += self.session.outcomes()
        self.persists += effects.persists
        for load in effects.loads:
            found = [Row(key, 0, value) for key, value in sorted(self.rows.items())]
            self.turn(Loaded(load.token, Page(found, [], None)))
        return effects

    def sleep(self, duration: int) -> None:
        """Let time pass, waking the session whenever it asked for it."""
        end = self.now + duration
        for _ in range(10_000):
            due = self.session.next_deadline()
            if due is None or due > end:
                self.now = end
                return
            self.now = max(self.now, due)
            self.turn()
        raise AssertionError("the session never rests")

    def store(self) -> None:
        """The disk catches up."""
        for _ in range(10):
            waiting, self.persists = self.persists, []
            for persist in waiting:
                for write in persist.writes:
                    if isinstance(write, Put):
                        self.rows[write.key] = write.value
                    elif isinstance(write, Delete):
                        self.rows.pop(write.start, None)
                self.turn(Persisted(persist.token))

    # Connections -----------------------------------------------------------------------------------------------
    def dialled(self, name: str) -> int:
        """The latest connection to this broker's address that was not answered yet."""
        found = [conn for conn, dial in self.dials.items() if dial.host == name]
        assert found, f"nobody dialled {name}; dials: {list(self.dials.values())}"
        return found[-1]

    def open(self, name: str = "", *, ready: bool = True, others: tuple[str, ...] = ("b1", "b2", "b3")) -> str:
        """Let a dialled connection come up and be welcomed; the broker's name."""
        if not self.dials and not name:
            self.turn()
        name = name or next(iter(self.dials.values())).host
        conn = self.dialled(name)
        del self.dials[conn]
        self.turn(Opened(conn))
        self.conns[name] = conn
        known = tuple(peer(other) for other in others if other != name)
        welcome = Welcome(PROTOCOL_VERSION, peer(name), 7, ready=ready, others=known)
        self.turn(Received(conn, [(welcome, b"")]))
        return name

    def refuse(self, name: str) -> None:
        """A dialled connection could not be made."""
        conn = self.dialled(name)
        del self.dials[conn]
        self.turn(Closed(conn, "connection refused"))

    def cut(self, name: str) -> None:
        """A connection breaks."""
        self.turn(Closed(self.conns.pop(name), "connection reset"))

    def forget(self, conn: int) -> None:
        self.dials.pop(conn, None)
        self.conns = {name: known for name, known in self.conns.items() if known != conn}

    def clog(self, name: str) -> None:
        self.turn(Clogged(self.conns[name]))

    def drain(self, name: str) -> None:
        self.turn(Drained(self.conns[name]))

    # Frames ----------------------------------------------------------------------------------------------------
    def receive(self, name: str, head: Message, body: bytes = b"") -> None:
        """A frame from a broker."""
        self.turn(Received(self.conns[name], [(head, body)]))

    def said(self, kind: type[Head], name: str | None = None) -> list[Head]:
        """Frames of one kind (to one broker), since they were last asked for with `take_sent`."""
        conn = None if name is None else self.conns[name]
        return [send.head for send in self.sent if isinstance(send.head, kind) and conn in (None, send.conn)]

    def take_sent(self) -> list[Send]:
        """Everything said so far; forgotten afterwards."""
        sent, self.sent = self.sent, []
        return sent

    def outcomes(self, kind: type[Head]) -> list[Head]:
        """Outcomes of one kind so far."""
        return [outcome for outcome in self.told if isinstance(outcome, kind)]

    def accept(self, name: str, deposit: Deposit, *, delivered: bool = False) -> None:
        """The broker acknowledges a batch."""
        last = deposit.first + deposit.count - 1
        self.receive(
            name,
            Accepted(deposit.source, deposit.incarnation, deposit.dest, deposit.stream, deposit.first, last, delivered),
        )

    # Consuming -------------------------------------------------------------------------------------------------
    def consume(self, broker: str, mailbox: str = "orders", credit: int = 100) -> MailReader:
        """A consumer that this broker serves."""
        consumer = self.session.attach(mailbox, credit)
        self.turn()
        self.receive(broker, Attached(mailbox, consumer.number))
        return consumer

    def deliver(
        self,
        broker: str,
        consumer: MailReader,
        seq: int,
        first: int,
        count: int = 1,
        *,
        source: str = "shop",
        stream: int = 2,
        flags: int = int(Flag.RELIABLE),
        deliveries: int = 0,
    ) -> None:
        """Messages whose bodies are their ids."""
        messages = [str(number).encode() for number in range(first, first + count)]
        head = Deliver(consumer.mailbox, consumer.number, seq, source, 5, stream, first, count, flags, 4, deliveries)
        self.receive(broker, head, bodies.join(messages))

    def shown(self, consumer: MailReader, limit: int = 1000) -> list[Delivery]:
        """What the application gets now."""
        return self.session.take(consumer, limit, Delivery)

    def bodies_shown(self, consumer: MailReader, limit: int = 1000) -> list[bytes]:
        return [message.body for message in self.shown(consumer, limit)]
