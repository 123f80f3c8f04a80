"""A settled overlay of full brokers that joined each other through the world, for those who measure routes in it.

Every broker is the real Node and joins by real messages through a random broker that is already there.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.core.node import Node
from causeway.sim.cluster import Broker, Cluster, MakeBroker
from causeway.sim.faults import Options, stream
from causeway.sim.network import Network
from causeway.sim.run_log import RunLog
from causeway.sim.world import World
from causeway.types import MILLISECOND, SECOND, Key

RING = 1 << 128
ROUND = SECOND
ROUNDS_MAX = 600
"""Virtual seconds that an overlay may take to settle."""


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
        self.world = World(RunLog(), network)
        self.cluster = Cluster(self.world, self.options, make_broker)
        self.cluster.seeds_max = 1
        self.rng = stream(seed, "routing")

    def grow(self, brokers: int, wave: int, tell: Callable[[int], None]) -> None:
        """Join brokers in waves; each waits until the one before is in."""
        while len(self.cluster.brokers) < brokers:
            count = min(wave, brokers - len(self.cluster.brokers), max(1, len(self.cluster.brokers)))
            there = self.cluster.living()
            for _ in range(count):
                broker = self.cluster.add()
                self.cluster.via = self.rng.choice(there) if there else None
                self.cluster.start(broker)
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

    def _await(self, missing: Callable[[], str | None]) -> None:
        reason: str | None = ""
        for _ in range(ROUNDS_MAX):
            self.world.run(self.world.now + ROUND)
            reason = missing()
            if reason is None:
                return
        raise NotSettled(f"{len(self.cluster.brokers)} brokers after {self.world.now / SECOND:.0f} s: {reason}")


def gap(place: int, key: Key) -> int:
    """Distance on the ring."""
    apart = abs(place - int.from_bytes(key, "big"))
    return min(apart, RING - apart)


def node_of(broker: Broker) -> Node:
    """The broker's machine."""
    assert isinstance(broker.machine, Node)
    return broker.machine
