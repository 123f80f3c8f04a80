"""A small world for the ring alone: real Links and real Overlays in virtual time, on a seeded network.

Connections are FIFO like TCP; frames that are not part of a handshake may be lost, doubled or late, whole processes
may stop, and groups may be cut off from each other. Nothing here decides anything: it only moves effects to events.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from causeway.config import BrokerConfig
from causeway.core.effects import Effects
from causeway.core.events import MembershipChanged, PeerDown, PeerMessage, PeerUp
from causeway.core.links import Links
from causeway.core.machine import Turn
from causeway.core.messages import Goodbye, Hello, Message, Welcome
from causeway.core.overlay import Overlay
from causeway.types import MILLISECOND, SECOND, BrokerId, Key, Peer, key_of

START = 1_000 * SECOND
HANDSHAKE = (Hello, Welcome, Goodbye)


def circle_distance(a: bytes, b: bytes) -> int:
    """The oracle's own arithmetic: slow and obvious."""
    apart = abs(int.from_bytes(a, "big") - int.from_bytes(b, "big"))
    return min(apart, 2**128 - apart)


class Broker:
    """One process: what `node` will be, with nothing but links and a ring in it."""

    def __init__(self, world: World, name: str, life: int, *, store: int, config: dict[str, Any]) -> None:
        self.world = world
        self.peer = Peer(key_of(name), name, name, 7000, store)
        self.config = BrokerConfig(name=name, host=name, port=7000, **config).check()
        self.links = Links(self.config, self.peer, life, random.Random(f"links {name} {life} {world.seed}"))
        self.overlay = Overlay(self.config, self.links, random.Random(f"overlay {name} {life} {world.seed}"))
        self.life = life
        self.alive = True
        self.timer: int | None = None
        self.turns = 0
        self.membership_changes = 0
        self.spot = (world.rng.random(), world.rng.random())

    @property
    def id(self) -> BrokerId:
        return self.peer.id

    def begin(self, known: Sequence[Peer] = (), cluster: str = "") -> None:
        self.turn(lambda turn: self.overlay.start(turn, known, cluster))

    def turn(self, *stimuli: Callable[[Turn], None]) -> None:
        """One wake-up: everything that happened, then what is due, then the effects."""
        if not self.alive:
            return
        self.turns += 1
        now = self.world.now
        turn = Turn(now)
        for stimulus in stimuli:
            stimulus(turn)
            self._drain(turn)
        due = self.links.next_deadline()
        if due is not None and due <= now:
            self.links.on_deadline(turn)
            self._drain(turn)
        due = self.overlay.next_deadline()
        if due is not None and due <= now:
            self.overlay.on_deadline(turn)
            self._drain(turn)
        self.world.perform(self, turn.effects)
        self._arm()

    def _drain(self, turn: Turn) -> None:
        while turn.inbox:
            event = turn.inbox.popleft()
            if isinstance(event, PeerMessage):
                self.overlay.on_message(turn, event.peer, event.head, event.body)
            elif isinstance(event, PeerUp):
                self.overlay.on_peer_up(turn, event.peer)
            elif isinstance(event, PeerDown):
                self.overlay.on_peer_down(turn, event.peer)
            elif isinstance(event, MembershipChanged):
                self.membership_changes += 1
                self.overlay.on_membership_changed(turn)

    def _arm(self) -> None:
        due = [at for at in (self.links.next_deadline(), self.overlay.next_deadline()) if at is not None]
        if due and (self.timer is None or min(due) < self.timer):
            self.timer = max(min(due), self.world.now)
            self.world.at(self.timer, self._fire, self.timer)

    def _fire(self, at: int) -> None:
        if self.timer == at:
            self.timer = None
            self.turn()


class End:
    """One end of a connection."""

    __slots__ = ("broker", "conn", "free_at", "open", "other")

    def __init__(self, broker: Broker, conn: int) -> None:
        self.broker, self.conn = broker, conn
        self.other: End | None = None
        self.open = True
        self.free_at = 0


class World:
    """All brokers and the network between them."""

    def __init__(self, seed: int = 0, **config: Any) -> None:
        self.seed = seed
        self.rng = random.Random(f"world {seed}")
        self.now = START
        self.config = config
        self.brokers: dict[str, Broker] = {}
        self.loss = self.duplicate = self.late = 0.0
        self.delay_min, self.delay_max = MILLISECOND // 2, 10 * MILLISECOND
        self.sides: dict[str, int] = {}
        """Brokers with different numbers cannot reach each other."""
        self.frames = 0
        self.dials: dict[str, int] = {}
        """How often each broker dialled."""
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sequence = 0
        self._ends: dict[tuple[str, int, int], End] = {}
        self._inbound: dict[tuple[str, int], int] = {}

    # Time --------------------------------------------------------------------------------------------------------
    def at(self, instant: int, action: Callable[..., None], *args: Any) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (instant, self._sequence, action, args))

    def run(self, duration: int) -> None:
        self.run_until(lambda: False, duration, required=False)

    def run_until(self, condition: Callable[[], bool], within: int, *, required: bool = True) -> None:
        """Let time pass until the condition holds (looked at every 50 ms); fail if it does not in time."""
        stop, check = self.now + within, self.now
        heap = self._heap
        while heap and heap[0][0] <= stop:
            if heap[0][0] >= check:
                self.now = max(self.now, check)
                if condition():
                    return
                check = heap[0][0] + 50 * MILLISECOND
            self.now, _, action, args = heapq.heappop(heap)
            action(*args)
        self.now = stop
        assert not required or condition(), f"not within {within / SECOND} s (seed {self.seed})"

    # Brokers -----------------------------------------------------------------------------------------------------
    def add(self, name: str, *, store: int = 1, begin: bool = True, **config: Any) -> Broker:
        """A new process; a name that was there before is a restart."""
        life = self.brokers[name].life + 1 if name in self.brokers else 1
        broker = Broker(self, name, life, store=store, config={**self.config, **config})
        self.brokers[name] = broker
        if begin:
            broker.begin()
        return broker

    def kill(self, name: str, *, silently: bool = False) -> None:
        """SIGKILL: the system closes the connections; silently (power loss), nobody closes anything."""
        broker = self.brokers[name]
        broker.alive = False
        for key, end in list(self._ends.items()):
            if key[:2] == (name, broker.life):
                self._drop(end, told=not silently)

    def restart(self, name: str, *, store: int | None = None, forgetful: bool = False) -> Broker:
        """The same broker again, with what it remembered, or without."""
        old = self.brokers[name]
        known, cluster = ([], "") if forgetful else (old.overlay.known(), old.overlay.cluster)
        broker = self.add(name, store=old.peer.store if store is None else store, begin=False)
        broker.spot = old.spot
        broker.begin(known, cluster)
        return broker

    def alive(self) -> list[Broker]:
        return [broker for broker in self.brokers.values() if broker.alive]

    def grow(self, count: int, *, every: int = 20 * MILLISECOND, within: int = 60 * SECOND) -> list[Broker]:
        """A founder and others that join through a random earlier one; returns when all are active."""
        names = [f"broker-{number}" for number in range(count)]
        self.add(names[0], founder=True)
        for number in range(1, count):
            self.run(every)
            self.add(names[number], seeds=((names[self.rng.randrange(number)], 7000),))
        self.run_until(self.all_active, within)
        return [self.brokers[name] for name in names]

    # The network -------------------------------------------------------------------------------------------------
    def delay(self, a: Broker, b: Broker) -> int:
        apart = ((a.spot[0] - b.spot[0]) ** 2 + (a.spot[1] - b.spot[1]) ** 2) ** 0.5
        return self.delay_min + int(apart / 1.5 * (self.delay_max - self.delay_min))

    def split(self, *groups: Iterable[str]) -> None:
        self.sides = {name: side for side, group in enumerate(groups) for name in group}

    def heal(self) -> None:
        self.sides = {}

    def _cut(self, a: Broker, b: Broker) -> bool:
        return self.sides.get(a.peer.name) != self.sides.get(b.peer.name)

    def perform(self, broker: Broker, effects: Effects) -> None:
        for dial in effects.dials:
            assert dial.conn % 2 == 1
            self.dials[broker.peer.name] = self.dials.get(broker.peer.name, 0) + 1
            end = self._ends[(broker.peer.name, broker.life, dial.conn)] = End(broker, dial.conn)
            target = self.brokers.get(dial.host)
            if target is None or (not target.alive and not self._cut(broker, target)):
                self.at(self.now + MILLISECOND, self._refused, end)
            elif not self._cut(broker, target):
                self.at(self.now + self.delay(broker, target), self._accept, end, target)
        for send in effects.sends:
            end_or_none = self._ends.get((broker.peer.name, broker.life, send.conn))
            if end_or_none is not None and end_or_none.other is not None:
                self._transmit(end_or_none, send.head, send.body)
        for close in effects.closes:
            closing = self._ends.get((broker.peer.name, broker.life, close.conn))
            if closing is not None:
                self._drop(closing, told=True)

    def _accept(self, end: End, target: Broker) -> None:
        if not end.open:
            return
        if not target.alive:
            self._refused(end)
            return
        key = (target.peer.name, target.life)
        conn = self._inbound[key] = self._inbound.get(key, 0) + 2
        other = self._ends[(*key, conn)] = End(target, conn)
        end.other, other.other = other, end
        target.turn(lambda turn: target.links.on_opened(turn, conn))
        self.at(self.now + self.delay(end.broker, target), self._opened, end)

    def _opened(self, end: End) -> None:
        if end.open:
            end.broker.turn(lambda turn: end.broker.links.on_opened(turn, end.conn))

    def _refused(self, end: End) -> None:
        if end.open:
            self._drop(end, told=False)
            end.broker.turn(lambda turn: end.broker.links.on_closed(turn, end.conn, "refused"))

    def _transmit(self, end: End, head: Message, body: bytes) -> None:
        other = end.other
        assert other is not None
        self.frames += 1
        if self._cut(end.broker, other.broker):
            return
        at = self.now + self.delay(end.broker, other.broker)
        if not isinstance(head, HANDSHAKE):
            draw = self.rng.random()
            if draw < self.loss:
                return
            if draw < self.loss + self.duplicate:
                self.at(at + self.rng.randrange(self.delay_max), self._arrive, other, head, body)
            elif draw < self.loss + self.duplicate + self.late:
                self.at(at + self.rng.randrange(3 * self.delay_max), self._arrive, other, head, body)
                return
        at = end.free_at = max(at, end.free_at)
        self.at(at, self._arrive, other, head, body)

    def _arrive(self, end: End, head: Message, body: bytes) -> None:
        if end.open:
            end.broker.turn(lambda turn: end.broker.links.on_received(turn, end.conn, head, body))

    def _drop(self, end: End, *, told: bool) -> None:
        end.open = False
        self._ends.pop((end.broker.peer.name, end.broker.life, end.conn), None)
        other = end.other
        if told and other is not None and not self._cut(end.broker, other.broker):
            at = max(self.now + self.delay(end.broker, other.broker), end.free_at)
            self.at(at, self._closed, other)

    def _closed(self, end: End) -> None:
        if end.open:
            end.open = False
            self._ends.pop((end.broker.peer.name, end.broker.life, end.conn), None)
            end.broker.turn(lambda turn: end.broker.links.on_closed(turn, end.conn, "closed by peer"))

    # What must hold ----------------------------------------------------------------------------------------------
    def all_active(self) -> bool:
        return all(broker.overlay.active for broker in self.alive())

    def closest(self, key: bytes, count: int = 1) -> list[bytes]:
        """The oracle: all living brokers, sorted."""
        ids = [broker.id for broker in self.alive()]
        return sorted(ids, key=lambda broker: (circle_distance(broker, key), broker))[:count]

    def leaf_sets_are_right(self) -> bool:
        """Every living broker has exactly its true leaf set."""
        ring = sorted(broker.id for broker in self.alive())
        size = len(ring)
        for broker in self.alive():
            at = ring.index(broker.id)
            true = {ring[(at + step) % size] for step in range(-8, 9)} - {broker.id}
            if not broker.overlay.active or {peer.id for peer in broker.overlay.leaf_set()} != true:
                return False
        return True

    def walk(self, source: Broker, key: Key) -> list[BrokerId]:
        """The brokers a message to `key` visits, the source first; every hop is one forward between brokers."""
        by_id = {broker.id: broker for broker in self.alive()}
        path = [source.id]
        while (hop := by_id[path[-1]].overlay.next_hop(key)) is not None:
            path.append(hop)
            assert len(path) <= 64, "a loop"
        return path
