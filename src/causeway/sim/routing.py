"""How many hops lookups take in a settled overlay of full brokers that joined each other through the world.

Every broker is the real Node and joins by real messages through a random broker that is already there. Then lookups
follow `next_hop` from broker to broker; where each ends is compared with brute force over all of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

import msgspec

from causeway.core.node import Node
from causeway.sim.cluster import Broker, Cluster, MakeBroker
from causeway.sim.faults import Options, stream
from causeway.sim.journal import Journal
from causeway.sim.network import Network
from causeway.sim.world import World
from causeway.types import MILLISECOND, SECOND, BrokerId, Key

RING = 1 << 128
ROUND = SECOND
ROUNDS_MAX = 600
"""Virtual seconds that an overlay may take to settle."""


class RoutingResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured."""

    brokers: int
    lookups: int
    hops_mean: float
    hops_max: int
    histogram: dict[int, int]
    """Lookups by hops between brokers."""
    bound: int
    """ceil(log16 N)."""
    within_bound_plus_one: float
    """Share of lookups that took at most one hop more than the bound."""
    wrong: int
    """Lookups that did not end at the numerically closest broker."""
    virtual_seconds: float
    events: int


class NotSettled(Exception):
    """The overlay did not settle in time; the text says what is missing."""


class Overlays:
    """A growing cluster of Nodes without faults."""

    def __init__(
        self, seed: int, brokers: int, *, options: Options | None = None, make_broker: MakeBroker = Node
    ) -> None:
        self.options = options or Options(
            seed=seed,
            brokers=brokers,
            heartbeat=10 * SECOND,
            silence=60 * SECOND,
            latency=15 * MILLISECOND,
            jitter=MILLISECOND,
        )
        network = Network(stream(seed, "network"), self.options.weather())
        self.world = World(Journal(), network)
        self.cluster = Cluster(self.world, self.options, make_broker)
        self.cluster.seeds_max = 1
        self.rng = stream(seed, "routing")
        self.names: dict[BrokerId, Broker] = {}

    def grow(self, brokers: int, wave: int, tell: Callable[[int], None]) -> None:
        """Join brokers in waves; each waits until the one before is in."""
        while len(self.cluster.brokers) < brokers:
            count = min(wave, brokers - len(self.cluster.brokers), max(1, len(self.cluster.brokers)))
            there = self.cluster.living()
            for _ in range(count):
                broker = self.cluster.add()
                self.cluster.via = self.rng.choice(there) if there else None
                self.cluster.start(broker)
                self.names[broker.id] = broker
            self._await(lambda: next((b.name for b in self.cluster.brokers if not node_of(b)._overlay.active), None))
            tell(len(self.cluster.brokers))

    def settle(self) -> None:
        """Let the overlay come to rest: every broker's leaf set is what brute force says."""
        ordered = sorted(self.cluster.brokers, key=lambda broker: broker.id)
        half = min(8, (len(ordered) - 1) // 2)

        def unsettled() -> str | None:
            for at, broker in enumerate(ordered):
                known = {peer.id for peer in node_of(broker)._overlay.leaf_set()}
                for step in range(1, half + 1):
                    for other in (ordered[(at + step) % len(ordered)], ordered[at - step]):
                        if other.id not in known:
                            return f"{broker.name} lacks its neighbour {other.name}"
            return None

        self._await(unsettled)

    def lookup(self, source: Broker, key: Key) -> tuple[Broker, int]:
        """Where the chain of next hops ends, and its length."""
        hops = 0
        at = source
        while (hop := node_of(at)._overlay.next_hop(key)) is not None:
            at = self.names[hop]
            hops += 1
            assert hops <= len(self.names), f"a lookup of {key.hex()} goes round in circles"
        return at, hops

    def _await(self, missing: Callable[[], str | None]) -> None:
        reason: str | None = ""
        for _ in range(ROUNDS_MAX):
            self.world.run(self.world.now + ROUND)
            reason = missing()
            if reason is None:
                return
        raise NotSettled(f"{len(self.cluster.brokers)} brokers after {self.world.now / SECOND:.0f} s: {reason}")


def measure_routing(
    brokers: int, lookups: int, seed: int, *, wave: int = 32, tell: Callable[[int], None] = lambda joined: None
) -> RoutingResult:
    """Join that many brokers and route that many random keys from random brokers."""
    overlays = Overlays(seed, brokers)
    overlays.grow(brokers, wave, tell)
    overlays.settle()
    places = sorted(int.from_bytes(broker.id, "big") for broker in overlays.cluster.brokers)
    bound = max(1, math.ceil(math.log(brokers, 16) - 1e-9))
    histogram: dict[int, int] = {}
    wrong = 0
    for _ in range(lookups):
        key = Key(overlays.rng.randbytes(16))
        found, hops = overlays.lookup(overlays.rng.choice(overlays.cluster.brokers), key)
        histogram[hops] = histogram.get(hops, 0) + 1
        wrong += gap(int.from_bytes(found.id, "big"), key) != closest_gap(places, key)
    return RoutingResult(
        brokers=brokers,
        lookups=lookups,
        hops_mean=sum(hops * count for hops, count in histogram.items()) / lookups,
        hops_max=max(histogram),
        histogram=dict(sorted(histogram.items())),
        bound=bound,
        within_bound_plus_one=sum(count for hops, count in histogram.items() if hops <= bound + 1) / lookups,
        wrong=wrong,
        virtual_seconds=overlays.world.now / SECOND,
        events=overlays.world.events,
    )


def gap(place: int, key: Key) -> int:
    """Distance on the ring."""
    apart = abs(place - int.from_bytes(key, "big"))
    return min(apart, RING - apart)


def closest_gap(places: list[int], key: Key) -> int:
    """The distance of the closest broker, by looking at both neighbours of the key."""
    at = bisect_left(places, int.from_bytes(key, "big"))
    return min(gap(places[at % len(places)], key), gap(places[at - 1], key))


def node_of(broker: Broker) -> Node:
    """The broker's machine."""
    assert isinstance(broker.machine, Node)
    return broker.machine
