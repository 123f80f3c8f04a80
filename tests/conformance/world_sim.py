"""The simulator's driver behind the suite's interface: virtual time, a calm network, a disk that takes a while."""

from __future__ import annotations

import random
from collections.abc import Callable

from causeway.config import BrokerConfig
from causeway.core.events import LeaveRequested
from causeway.core.machine import Machine
from causeway.drivers.aio.broker import NodeFactory
from causeway.sim.clock import Clock
from causeway.sim.disk import Disk, RottingStore
from causeway.sim.network import Network, Weather
from causeway.sim.run_log import RunLog
from causeway.sim.world import Process
from causeway.sim.world import World as VirtualWorld
from causeway.types import MICROSECOND, MILLISECOND, SECOND, Peer, key_of
from tests.conformance.worlds import SECONDS_MAX, Address, ObservedMemory, Place, World

PORT = 7400
STEP = 500 * MICROSECOND


class SimPlace(Place):
    def __init__(self, name: str, durability: str) -> None:
        super().__init__(name, durability)
        self.process: Process | None = None
        self.store: RottingStore | None = None
        self.lives = 0


class SimWorld(World):
    def __init__(self, seed: int = 1) -> None:
        self._rng = random.Random(seed)
        # `wire`: every frame is encoded and decoded, as between real processes.
        network = Network(random.Random(seed), Weather(latency=MILLISECOND // 2, jitter=MILLISECOND // 10), wire=True)
        self._world = VirtualWorld(RunLog(), network)
        self._count = 0

    def place(self, name: str, durability: str = "disk") -> Place:
        return SimPlace(name, durability)

    def start(self, place: Place, make: NodeFactory, config: BrokerConfig | None = None) -> None:
        assert isinstance(place, SimPlace)
        if place.process is None:
            self._count += 1
            place.address = (f"10.0.0.{self._count}", PORT)
            place.process = self._world.process(place.name, place.address)
        if place.store is None or place.durability == "memory":
            place.store = RottingStore(ObservedMemory(place, lambda: self._rng.getrandbits(62) + 1))
        disk = Disk(place.store, random.Random(self._rng.random()), instant=place.durability == "memory")
        disk.commit_ns = MILLISECOND + round(place.commit_seconds * SECOND)
        disk.jitter_ns = MILLISECOND
        place.lives += 1
        host, port = place.address
        me = Peer(key_of(place.name), place.name, host, port, place.store.id)
        config = config or BrokerConfig(name=place.name, durability=place.durability)
        place.machine = make(config, me, place.lives, random.Random(self._rng.random()))
        place.process.start(place.machine, Clock(), disk)

    def start_client(self, place: Place, machine: Machine, on_turn: Callable[[], None]) -> None:
        assert isinstance(place, SimPlace)
        if place.process is None:
            place.process = self._world.process(place.name)
        place.machine = machine
        place.process.start(machine, Clock(), None)
        place.process.after_turn = on_turn

    def crash(self, place: Place) -> None:
        assert isinstance(place, SimPlace)
        assert place.process is not None
        place.machine = None
        place.process.crash(noticed=True)

    def leave(self, place: Place) -> None:
        assert isinstance(place, SimPlace)
        assert place.process is not None
        machine = place.machine
        place.process.deliver(LeaveRequested())
        self.run_until(lambda: getattr(machine, "left", False))
        self.crash(place)

    def poke(self, place: Place) -> None:
        assert isinstance(place, SimPlace)
        assert place.process is not None
        place.process.poke()

    def nowhere(self) -> Address:
        return "10.0.0.0", PORT

    def run_until(self, what: Callable[[], object], seconds_max: float = SECONDS_MAX) -> None:
        end = self._world.now + round(seconds_max * SECOND)
        while not what():
            assert self._world.now < end, f"did not come true within {seconds_max} s of virtual time"
            self._world.run(self._world.now + STEP)

    def close(self) -> None:
        """Nothing is open."""
