"""Large rings in the simulator: brokers with nothing but links and a ring in them, built from full knowledge.

Thousands of brokers that join one by one take hours. Here everybody is told at once whom it would have found: leaves,
one broker for every place of its routing table that somebody can take, and a neighbourhood, all put in by the product's
own tables. From then on everything is real: links are dialled and greeted, upkeep goes on, frames are counted.

Owns: who is told whom, and the machine. Must not know: what is measured.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from causeway.config import BrokerConfig
from causeway.core.effects import Effects
from causeway.core.events import Closed, DriverEvent, Opened, PeerDown, PeerMessage, PeerUp, Received
from causeway.core.links import Links
from causeway.core.machine import Turn
from causeway.core.overlay import Overlay
from causeway.core.overlay.leaves import RING, SIDE, place
from causeway.core.overlay.roster import EXCHANGE, MAINTAIN, Phase
from causeway.core.overlay.tables import COLUMNS, DIGIT_BITS, DIGITS, Tables
from causeway.core.overlay.upkeep import EXCHANGE_SELDOM, MAINTAIN_EVERY
from causeway.limits import NEIGHBOURS_MAX
from causeway.sim.clock import Clock
from causeway.sim.faults import stream
from causeway.sim.network import Network, Weather
from causeway.sim.run_log import RunLog
from causeway.sim.world import World
from causeway.types import MILLISECOND, BrokerId, Duration, Instant, Key, Peer, key_of

PORT: Final = 7400
CLUSTER: Final = "ring"
LATENCY: Final[Duration] = 15 * MILLISECOND


class KnownPeers(NamedTuple):
    """Whom one broker is told of."""

    leaves: list[Peer]
    entries: list[Peer]
    neighbours: list[Peer]


class FullKnowledge:
    """All brokers of a ring in its order, and whom each of them would have found by joining."""

    def __init__(self, brokers: int, seed: int) -> None:
        self._rng = stream(seed, "full knowledge")
        named = [(f"broker-{n}", f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}") for n in range(brokers)]
        peers = [Peer(key_of(name), name, host, PORT, 1 + n) for n, (name, host) in enumerate(named)]
        self.peers = sorted(peers, key=lambda peer: peer.id)
        self.places = [place(peer.id) for peer in self.peers]

    def known_to(self, index: int) -> KnownPeers:
        """Leaves, one of those that fit for each place of the routing table, and some neighbours, all at random."""
        peers, count = self.peers, len(self.peers)
        side = min(SIDE, (count - 1) // 2)
        leaves = [peers[(index + step) % count] for step in range(-side, side + 1) if step]
        others = self._rng.sample(range(count), min(count, NEIGHBOURS_MAX + 1))
        neighbours = [peers[other] for other in others if other != index][:NEIGHBOURS_MAX]
        return KnownPeers(leaves, self._entries(index), neighbours)

    def _entries(self, index: int) -> list[Peer]:
        places, mine, found = self.places, self.places[index], []
        low, high = 0, len(places)
        for row in range(DIGITS):
            if high - low < 2:
                break
            size = RING >> DIGIT_BITS * (row + 1)
            base = mine - mine % (size * COLUMNS)
            edges = [bisect_left(places, base + size * column, low, high) for column in range(COLUMNS + 1)]
            own = (mine - base) // size
            for column in range(COLUMNS):
                if column != own and edges[column] < edges[column + 1]:
                    found.append(self.peers[self._rng.randrange(edges[column], edges[column + 1])])
            low, high = edges[own], edges[own + 1]
        return found

    def tables(self, index: int) -> Tables:
        """The product's tables of one broker, filled."""
        tables = Tables(self.peers[index], lambda broker: None)
        known = self.known_to(index)
        for peer in (*known.neighbours, *known.entries, *known.leaves):
            tables.add_leaf(peer)
            tables.offer(peer)
        return tables


class RingBroker:
    """A broker that is only a member of a ring: the real links and the real overlay."""

    def __init__(self, config: BrokerConfig, me: Peer, known: KnownPeers, rng: random.Random) -> None:
        self.links = Links(config, me, 1, rng)
        self.overlay = Overlay(config, self.links, rng)
        self._known: KnownPeers | None = known
        self._rng = rng

    def handle(self, events: Sequence[DriverEvent], now: Instant) -> Effects:
        """See `Machine`."""
        turn = Turn(now)
        if self._known is not None:
            self._begin(turn, self._known)
            self._known = None
        for event in events:
            if isinstance(event, Received):
                for head, body in event.messages:
                    self.links.on_received(turn, event.conn, head, body)
            elif isinstance(event, Opened):
                self.links.on_opened(turn, event.conn, event.remote)
            elif isinstance(event, Closed):
                self.links.on_closed(turn, event.conn, event.reason)
            self._drain(turn)
        for part in (self.links, self.overlay):
            due = part.next_deadline()
            if due is not None and due <= now:
                part.on_deadline(turn)
                self._drain(turn)
        return turn.effects

    def next_deadline(self) -> Instant | None:
        """See `Machine`."""
        due = [at for at in (self.links.next_deadline(), self.overlay.next_deadline()) if at is not None]
        return min(due, default=None)

    def _begin(self, turn: Turn, known: KnownPeers) -> None:
        """As a member that has been there for long: what it repeats has its slowest pace, at any phase of it."""
        roster, upkeep = self.overlay._roster, self.overlay._upkeep
        self.links.set_cluster(turn, CLUSTER)
        for peer in (*known.neighbours, *known.entries, *known.leaves):
            self.links.learn(peer)
            roster.heard_active(turn, peer)
        roster.phase = Phase.ACTIVE
        self.overlay.active = True
        upkeep._maintain_pause, upkeep._exchange_pause = MAINTAIN_EVERY, EXCHANGE_SELDOM
        upkeep._compared = roster.tables.leaves.ids()
        roster.timers.set(MAINTAIN, turn.now + self._rng.randrange(MAINTAIN_EVERY))
        roster.timers.set(EXCHANGE, turn.now + self._rng.randrange(EXCHANGE_SELDOM))
        turn.inbox.clear()  # news of membership, which nobody here waits for
        for peer in known.leaves:
            if self.links.me.id < peer.id:  # who has the smaller id dials: each link once
                self.links._book.dial_when_rested(turn, self.links._book.link(peer))

    def _drain(self, turn: Turn) -> None:
        while turn.inbox:
            event = turn.inbox.popleft()
            if isinstance(event, PeerMessage):
                self.overlay.on_message(turn, event.peer, event.head, event.body)
            elif isinstance(event, PeerUp):
                self.overlay.on_peer_up(turn, event.peer)
            elif isinstance(event, PeerDown):
                self.overlay.on_peer_down(turn, event.peer)


class KnownRing:
    """A world of such brokers."""

    def __init__(self, brokers: int, seed: int, *, heartbeat: Duration, silence: Duration) -> None:
        self.knowledge = FullKnowledge(brokers, seed)
        weather = Weather(latency=LATENCY, jitter=MILLISECOND)
        self.world = World(RunLog(), Network(stream(seed, "network"), weather))
        self.brokers: dict[BrokerId, RingBroker] = {}
        usual = BrokerConfig(name="broker", host="10.0.0.0", port=PORT, heartbeat=heartbeat, silence=silence).check()
        for index, peer in enumerate(self.knowledge.peers):
            config = msgspec.structs.replace(usual, name=peer.name, host=peer.host)
            rng = stream(seed, f"ring/{peer.name}")
            machine = RingBroker(config, peer, self.knowledge.known_to(index), rng)
            self.brokers[peer.id] = machine
            self.world.process(peer.name, (peer.host, peer.port)).start(machine, Clock(), None)

    def next_hop(self, at: BrokerId, key: Key) -> BrokerId | None:
        """Where a broker sends what is for a key."""
        return self.brokers[at].overlay.next_hop(key)
