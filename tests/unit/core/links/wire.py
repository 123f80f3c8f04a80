"""Several real Links joined by a wire that the test moves step by step: every frame's arrival is the test's choice."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from causeway.config import BrokerConfig
from causeway.core.effects import Effects
from causeway.core.events import InternalEvent, PeerMessage
from causeway.core.links import Links
from causeway.core.machine import Turn
from causeway.core.messages import Message
from causeway.types import SECOND, Peer, key_of

START = 1_000 * SECOND


def peer_named(name: str, *, store: int = 1) -> Peer:
    return Peer(key_of(name), name, name, 7000, store)


class Pipe:
    """One direction of a connection: what was sent on it and has not arrived."""

    def __init__(self, source: Station | None, target: Station, conn: int) -> None:
        self.source, self.target, self.conn = source, target, conn
        self.items: deque[tuple[str, Any, Any]] = deque()


class Station:
    """One Links, what it told its broker, and what it asked of the world."""

    def __init__(self, wire: Wire, name: str, *, store: int = 1, incarnation: int = 1, **config: Any) -> None:
        self.wire = wire
        self.peer = peer_named(name, store=store)
        self.config = BrokerConfig(name=name, host=name, port=7000, **config)
        self.links = Links(self.config, self.peer, incarnation, random.Random(name))
        self.told: list[InternalEvent] = []
        self.sent: list[tuple[int, Message]] = []
        self.closes: dict[int, str] = {}
        self.dials: list[tuple[str, int]] = []
        self.listening = True
        self.inbound = 0
        self.out: dict[int, Pipe] = {}

    # What a test does --------------------------------------------------------------------------------------------
    def send(self, to: Station | Peer, head: Message, body: bytes = b"") -> None:
        target = to if isinstance(to, Peer) else to.peer
        self.run(lambda turn: self.links.send(turn, target.id, head, body))

    def accept(self) -> int:
        """An inbound connection from nobody we simulate."""
        self.inbound += 2
        conn = self.inbound
        self.run(lambda turn: self.links.on_opened(turn, conn))
        return conn

    def receive(self, conn: int, head: Message, body: bytes = b"") -> None:
        self.run(lambda turn: self.links.on_received(turn, conn, head, body))

    def run(self, action: Any) -> Effects:
        turn = Turn(self.wire.now)
        action(turn)
        self.links.enclose(turn)
        self.told.extend(turn.inbox)
        effects = turn.effects
        for dial in effects.dials:
            self.dials.append((dial.host, dial.port))
            self.wire.dial(self, dial.conn, dial.host)
        for send in effects.sends:
            self.sent.append((send.conn, send.head))
            if send.conn in self.out:
                self.out[send.conn].items.append(("frame", send.head, send.body))
        for close in effects.closes:
            self.closes[close.conn] = close.reason
            pipe = self.out.pop(close.conn, None)
            if pipe is not None:
                pipe.items.append(("closed", None, None))
        return effects

    # What a test looks at ----------------------------------------------------------------------------------------
    def told_kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.told]

    def frames(self) -> list[Message]:
        return [event.head for event in self.told if isinstance(event, PeerMessage)]

    def said(self, conn: int) -> list[Message]:
        return [head for sent_on, head in self.sent if sent_on == conn]

    def last(self) -> Message:
        return self.sent[-1][1]


class Wire:
    """The stations, the pipes between them, and the time."""

    def __init__(self) -> None:
        self.now = START
        self.stations: dict[str, Station] = {}
        self.pipes: list[Pipe] = []
        self.cut = False
        """Nothing arrives any more, and nobody is told."""
        self.cuts: set[tuple[Station, Station]] = set()
        """Nothing arrives from the one at the other any more; who dials hears nothing."""

    def add(self, name: str, **options: Any) -> Station:
        self.stations[name] = Station(self, name, **options)
        return self.stations[name]

    def pair(self, **options: Any) -> tuple[Station, Station]:
        """Two stations that know each other's address; the first has the smaller id."""
        low, high = sorted(("ash", "beech"), key=key_of)
        a, b = self.add(low, **options), self.add(high, **options)
        a.links.learn(b.peer)
        b.links.learn(a.peer)
        return a, b

    def cut_link(self, a: Station, b: Station) -> None:
        self.cuts |= {(a, b), (b, a)}

    def dial(self, source: Station, conn: int, host: str) -> None:
        target = self.stations.get(host)
        refusal = Pipe(target, source, conn)
        self.pipes.append(refusal)
        if target is None or not target.listening:
            refusal.items.append(("closed", None, None))
            return
        target.inbound += 2
        there, back = Pipe(source, target, target.inbound), refusal
        self.pipes.append(there)
        source.out[conn], target.out[target.inbound] = there, back
        there.items.append(("opened", None, None))
        back.items.append(("opened", None, None))

    def waiting(self) -> list[Pipe]:
        if self.cut:
            return []
        return [pipe for pipe in self.pipes if pipe.items and (pipe.source, pipe.target) not in self.cuts]

    def step(self, pipe: Pipe) -> None:
        """Let the next thing on one pipe arrive."""
        what, head, body = pipe.items.popleft()
        station, conn = pipe.target, pipe.conn
        if conn in station.closes or self.stations.get(station.peer.name) is not station:
            return
        if what == "opened":
            station.run(lambda turn: station.links.on_opened(turn, conn))
        elif what == "frame":
            station.run(lambda turn: station.links.on_received(turn, conn, head, body))
        else:
            station.out.pop(conn, None)
            station.run(lambda turn: station.links.on_closed(turn, conn, "closed"))

    def settle(self, rng: random.Random | None = None) -> None:
        """Let everything arrive: in order, or (per connection in order) as the generator likes."""
        for _ in range(10_000):
            waiting = self.waiting()
            if not waiting:
                return
            self.step(waiting[0] if rng is None else rng.choice(waiting))
        raise AssertionError("frames without end")

    def pass_time(self, duration: int) -> None:
        """Fire all deadlines of the next while, and let everything arrive in between."""
        stop = self.now + duration
        for _ in range(100_000):
            due = [at for station in self.stations.values() if (at := station.links.next_deadline()) is not None]
            if not due or min(due) > stop:
                break
            self.now = max(self.now, min(due))
            for station in list(self.stations.values()):
                at = station.links.next_deadline()
                if at is not None and at <= self.now:
                    station.run(station.links.on_deadline)
            self.settle()
        self.now = stop

    def crash(self, station: Station, *, told: bool = True) -> None:
        """The process is gone; the system closes its connections, or (power loss) nobody does."""
        del self.stations[station.peer.name]
        for pipe in station.out.values():
            pipe.items.clear()
            if told:
                pipe.items.append(("closed", None, None))
        station.out.clear()
