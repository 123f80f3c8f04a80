"""One broker without a network: a greeted client and a greeted broker that say whatever a test likes, for tests."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from causeway.config import BrokerConfig
from causeway.core.effects import Effects, Send
from causeway.core.events import Closed, DriverEvent, Loaded, Opened, Persisted, Received
from causeway.core.messages import PROTOCOL_VERSION, Hail, Hello, Leaves, Message, Ping
from causeway.core.node import Node
from causeway.limits import FRAME_BYTES_MAX, HEAD_BYTES_MAX
from causeway.store.memory import MemoryStore
from causeway.types import SECOND, Peer, key_of
from causeway.wire.codec import encode_head

ME = Peer(key_of("b1"), "b1", "127.0.0.1", 7001, 11)
OTHER = Peer(key_of("b2"), "b2", "127.0.0.1", 7002, 22)
CLIENT = "app"
INCARNATION = 7
DEADLINES_MAX = 6
"""Timers let fire after each message."""


class LoneBroker:
    """A founder with a memory store. Every frame it sends must fit; a dialled connection never comes up."""

    def __init__(self, **settings: Any) -> None:
        self.store = MemoryStore(lambda: ME.store)
        self.store.open()
        config = BrokerConfig(name=ME.name, port=ME.port, founder=True, **settings)
        self.node = Node(config, ME, 1, random.Random(1))
        self.now = 10**18
        self.events: deque[DriverEvent] = deque()
        self.said: list[Message] = []
        """To the client, beside signs of life."""
        self.bodies: list[bytes] = []
        self._conn = 0
        self._open: dict[int, str] = {}
        self._happen()
        self.pass_time()

    def client_says(self, head: Message, body: bytes = b"") -> None:
        """A frame from the client, greeted again if its connection was closed."""
        self._say("client", Hello(PROTOCOL_VERSION, CLIENT, INCARNATION), head, body)

    def broker_says(self, head: Message, body: bytes = b"") -> None:
        """A frame from the other broker."""
        hello = Hello(PROTOCOL_VERSION, OTHER.name, 5, OTHER)
        self._say("broker", hello, head, body)

    def join_other(self) -> None:
        """The other broker takes its place on the ring; it will never answer anything."""
        self.broker_says(Hail(True, False))
        self.broker_says(Leaves(True, False, (ME,), ()))

    def client_leaves(self) -> None:
        """The client's connection ends."""
        self.client_event(lambda conn: Closed(conn, "gone"))
        self._open = {conn: who for conn, who in self._open.items() if who != "client"}

    def client_event(self, make: Callable[[int], DriverEvent]) -> None:
        """Something happens to the client's connection."""
        self.happens(make(next(conn for conn, who in self._open.items() if who == "client")))

    def happens(self, event: DriverEvent) -> None:
        """The driver has something to say."""
        self._happen(event)

    def pass_time(self) -> None:
        """Let the next few timers fire."""
        for _ in range(DEADLINES_MAX):
            due = self.node.next_deadline()
            if due is None or due > self.now + 3 * SECOND:
                return
            self.now = max(self.now, due)
            self._happen()

    def _say(self, who: str, hello: Hello, head: Message, body: bytes) -> None:
        conn = next((conn for conn, name in self._open.items() if name == who), 0)
        if not conn:
            self._conn += 2
            conn = self._conn
            self._open[conn] = who
            self._happen(Opened(conn), Received(conn, [(hello, b"")]))
        self._happen(Received(conn, [(head, body)]))

    def _happen(self, *events: DriverEvent) -> None:
        self._perform(self.node.handle(events, self.now))
        while self.events:
            self._perform(self.node.handle([self.events.popleft()], self.now))

    def _perform(self, effects: Effects) -> None:
        assert len(effects.persists) <= 1, "a turn writes once"
        for persist in effects.persists:
            self.store.commit(persist.writes)
            self._send(persist.then)
            if persist.token:
                self.events.append(Persisted(persist.token))
        for load in effects.loads:
            page = self.store.scan(load.group, load.start, load.stop, load.bytes_max)
            self.events.append(Loaded(load.token, page))
        self.events.extend(Closed(dial.conn, "nobody listens there") for dial in effects.dials)
        self._send(effects.sends)
        for close in effects.closes:
            self._open.pop(close.conn, None)

    def _send(self, sends: Sequence[Send]) -> None:
        for send in sends:
            head = encode_head(send.head)
            assert len(head) <= HEAD_BYTES_MAX, f"{type(send.head).__name__}: a head of {len(head)} bytes"
            assert len(head) + len(send.body) <= FRAME_BYTES_MAX
            if self._open.get(send.conn) == "client" and not isinstance(send.head, Ping):
                self.said.append(send.head)
                self.bodies.append(send.body)
