"""Machines that do what a case tells them, remember everything, and never let a driver break the contract unnoticed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from causeway.config import BrokerConfig
from causeway.core.effects import Dial, Effects, Send
from causeway.core.events import Clogged, Closed, Drained, DriverEvent, Loaded, Opened, Persisted, Received
from causeway.core.messages import Message, Ping, Pong
from causeway.types import Instant, Peer
from tests.conformance.worlds import Place, World

Event = TypeVar("Event")

DIALLING, OPEN, CLOGGED, OVER = "dialling", "open", "clogged", "over"


class Actor:
    """Remembers its turns, answers `Ping(keep=True)`, performs its orders once.

    In every turn it checks what holds in all cases: `handle` is not called while it runs, time does not go back, a
    connection opens once and is silent after its end, storage answers what was asked, once and in order.
    """

    def __init__(self) -> None:
        self.turns: list[tuple[Instant, list[DriverEvent]]] = []
        self.orders: list[tuple[Effects, dict[str, Any]]] = []
        self.deadline: Instant | None = None
        self.left = False
        self.refusal = ""
        self.me: Peer | None = None
        self.ordered_in = -1
        """The turn in which the latest orders were performed."""
        self.on_event: Callable[[DriverEvent], None] | None = None
        self._inside = False
        self._conns: dict[int, str] = {}
        self._persisting: list[int] = []
        self._loading: dict[int, None] = {}

    def make(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> Actor:
        """As a node factory."""
        self.me = me
        return self

    # The contract ----------------------------------------------------------------------------------------------
    def handle(self, events: Sequence[DriverEvent], now: Instant) -> Effects:
        assert not self._inside, "handle was called while it ran"
        assert not self.turns or now >= self.turns[-1][0], "time went back"
        self._inside = True
        self.turns.append((now, list(events)))
        if self.deadline is not None and self.deadline <= now:
            self.deadline = None
        effects = Effects()
        for event in events:
            self._check(event)
            if self.on_event is not None:
                self.on_event(event)
            for head, _ in event.messages if isinstance(event, Received) else ():
                if isinstance(head, Ping) and head.keep:
                    effects.sends.append(Send(event.conn, Pong(head.nonce)))
        orders, self.orders = self.orders, []
        for order, also in orders:
            self.ordered_in = len(self.turns) - 1
            for kind in Effects.__slots__:
                getattr(effects, kind).extend(getattr(order, kind))
            if "deadline_in" in also:
                wait = also["deadline_in"]
                self.deadline = None if wait is None else now + wait
        self._remember(effects)
        self._inside = False
        return effects

    def next_deadline(self) -> Instant | None:
        return self.deadline

    def _check(self, event: DriverEvent) -> None:
        match event:
            case Persisted():
                assert self._persisting[:1] == [event.token], f"{event} while waiting for {self._persisting}"
                del self._persisting[0]
            case Loaded():
                assert event.token in self._loading, event
                del self._loading[event.token]
            case Opened():
                before = self._conns.get(event.conn)
                assert before == (DIALLING if event.conn % 2 else None), f"{event} of a connection that is {before}"
                self._conns[event.conn] = OPEN
            case Closed():
                before = self._conns.get(event.conn)
                assert before not in (None, OVER), f"{event} of a connection that is {before}"
                self._conns[event.conn] = OVER
            case Received():
                assert self._conns.get(event.conn) in (OPEN, CLOGGED), f"{event.messages} while {self._conns}"
            case Clogged():
                assert self._conns.get(event.conn) == OPEN, f"{event} while {self._conns}"
                self._conns[event.conn] = CLOGGED
            case Drained():
                assert self._conns.get(event.conn) == CLOGGED, f"{event} while {self._conns}"
                self._conns[event.conn] = OPEN

    def _remember(self, effects: Effects) -> None:
        self._persisting += [persist.token for persist in effects.persists if persist.token]
        self._loading.update((load.token, None) for load in effects.loads)
        self._conns.update((dial.conn, DIALLING) for dial in effects.dials)
        self._conns.update((close.conn, OVER) for close in effects.closes)

    # What it remembers -----------------------------------------------------------------------------------------
    def events(self, kind: type[Event]) -> list[Event]:
        return [event for _, events in self.turns for event in events if isinstance(event, kind)]

    def of(self, conn: int) -> list[DriverEvent]:
        return [event for _, events in self.turns for event in events if getattr(event, "conn", None) == conn]

    def frames(self, conn: int) -> list[tuple[Message, bytes]]:
        return [message for event in self.events(Received) if event.conn == conn for message in event.messages]

    def nonces(self, conn: int) -> list[int]:
        return [head.nonce for head, _ in self.frames(conn) if isinstance(head, Ping)]


class Player:
    """An actor in its place."""

    def __init__(self, world: World, place: Place) -> None:
        self.world = world
        self.place = place
        self.actor = Actor()
        self._conn = -1
        self.start()

    def start(self) -> None:
        """Begin a life; the actor is a new one."""
        self.actor = Actor()
        self.world.start(self.place, self.actor.make)
        self.world.run_until(lambda: self.actor.turns)

    def crash(self) -> None:
        self.world.crash(self.place)

    def act(self, *, wait: bool = True, **lists: Any) -> None:
        """Let the actor ask for these effects, all in one turn; `deadline_in` sets its deadline (nanoseconds).

        With `wait` it has asked on return, otherwise together with what comes next.
        """
        effects = Effects()
        also = {name: lists.pop(name) for name in ("deadline_in",) if name in lists}
        for name, values in lists.items():
            getattr(effects, name).extend(values)
        self.actor.orders.append((effects, also))
        self.world.poke(self.place)
        if wait:
            self.world.run_until(lambda: not self.actor.orders)

    def since(self) -> tuple[Instant, list[tuple[Instant, list[DriverEvent]]]]:
        """When it last performed orders, and its turns since then."""
        turns = self.actor.turns
        return turns[self.actor.ordered_in][0], turns[self.actor.ordered_in + 1 :]

    def say(self, conn: int, *nonces: int) -> None:
        """Send numbered pings."""
        self.act(sends=[Send(conn, Ping(nonce)) for nonce in nonces])

    def number(self) -> int:
        """The next odd number."""
        self._conn += 2
        return self._conn


class Stage:
    """Players, and what takes two of them."""

    def __init__(self, world: World) -> None:
        self.world = world

    def player(self, name: str, durability: str = "disk", commit_seconds: float = 0.0) -> Player:
        place = self.world.place(name, durability)
        place.commit_seconds = commit_seconds
        return Player(self.world, place)

    def connect(self, one: Player, other: Player) -> tuple[int, int]:
        """The numbers of a new connection: at the one that dials, at the one that is dialled."""
        conn = one.number()
        known = other.actor.events(Opened)
        one.act(dials=[Dial(conn, *other.place.address)])
        self.world.run_until(lambda: one.actor.of(conn) and len(other.actor.events(Opened)) > len(known))
        assert one.actor.of(conn) == [Opened(conn)]
        fresh = [event.conn for event in other.actor.events(Opened) if event not in known]
        assert len(fresh) == 1
        return conn, fresh[0]

    def rounds(self, one: Player, conn: int, count: int = 4) -> None:
        """Round trips: whatever was on its way between these two before has arrived afterwards."""
        for nonce in range(count):
            seen = len(one.actor.frames(conn))
            one.act(sends=[Send(conn, Ping(nonce, keep=True))])
            self.world.run_until(lambda seen=seen: len(one.actor.frames(conn)) > seen)
