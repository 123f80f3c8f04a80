"""The brokers of a run: machines in simulated processes, with storages that outlive them.

Owns: starting, crashing, restarting, leaving; which storage a broker has. Must not know: why anything happens, nor
what is inside a broker (the real Node, or a part of it that a test looks at alone).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol, cast

from causeway.config import BrokerConfig
from causeway.core.events import LeaveRequested
from causeway.core.machine import Machine
from causeway.sim.clock import Clock
from causeway.sim.disk import Disk, RottingStore
from causeway.sim.faults import Addresses, Options, stream
from causeway.sim.random_layout import random_tree, seat_for_newcomer
from causeway.sim.world import Process, World
from causeway.store.memory import MemoryStore
from causeway.types import Peer, key_of

PORT = 7400


class BrokerMachine(Machine, Protocol):
    """What a broker shows besides the machine contract."""

    left: bool
    """It has handed over everything and may be stopped."""

    def statistics(self) -> dict[str, object]:
        """For people and for the checkers of convergence."""


MakeBroker = Callable[[BrokerConfig, Peer, int, random.Random], BrokerMachine]


class Broker:
    """One broker through all its lives."""

    def __init__(self, process: Process, name: str) -> None:
        self.process = process
        self.name = name
        self.id = key_of(name)
        self.lives = 0
        self.storages = 0
        self.store: RottingStore | None = None
        self.disk: Disk | None = None
        self.joined = False
        """Was started at least once."""
        self.roams = False
        """Listens on another port in every life. Never all of them: a client must find somebody where its URL says."""
        self.leaving = False
        self.gone = False
        """Left the cluster for good."""

    @property
    def machine(self) -> BrokerMachine | None:
        """The machine of the present life."""
        return cast("BrokerMachine | None", self.process.machine)

    @property
    def up(self) -> bool:
        """Alive (a stopped one is)."""
        return self.process.alive


class Cluster:
    """All brokers, in the order they were added."""

    def __init__(self, world: World, options: Options, make_broker: MakeBroker) -> None:
        self.world = world
        self.options = options
        self.make_broker = make_broker
        self.seeds_max = 5
        """Addresses a broker is told to join through."""
        self.via: Broker | None = None
        """The broker through which newcomers are told to join, instead of the first ones."""
        self.brokers: list[Broker] = []
        self.refounds = False
        """The first broker is told to found at every start, as by a supervisor: its seeds must keep it from that."""
        self._places = stream(options.seed, "seating")
        self.seating = random_tree(self._places, [f"broker-{n}" for n in range(options.brokers)], options.seated)
        """Domains by broker, each of its lives."""
        self._clocks = stream(options.seed, "clocks")
        self._stores = stream(options.seed, "stores")

    def add(self) -> Broker:
        """A broker that was never started."""
        index = len(self.brokers)
        name = f"broker-{index}"
        if name not in self.seating:
            self.seating[name] = seat_for_newcomer(self._places, self.seating)
        process = self.world.process(name, (f"10.0.0.{index}", PORT))
        process.cost_turn, process.cost_event = self.options.turn_cost, self.options.event_cost
        broker = Broker(process, name)
        broker.roams = self.options.roaming and index % 2 == 1
        self.brokers.append(broker)
        return broker

    def start(self, broker: Broker) -> None:
        """Begin a life, with the storage it has or an empty one."""
        assert not broker.gone
        if broker.store is None or self.options.durability == "memory":
            broker.store = RottingStore(MemoryStore(lambda: self._stores.getrandbits(62) + 1))
            broker.storages += 1
        options = self.options
        memory = options.durability == "memory"
        disk = Disk(broker.store, stream(options.seed, f"disk/{broker.name}/{broker.lives}"), instant=memory)
        disk.commit_ns, disk.read_ns, disk.jitter_ns = options.commit, options.commit // 4, options.commit_jitter
        broker.store.page_rows = options.page_rows
        broker.disk = disk
        if broker.roams and broker.joined:
            broker.process.move((f"10.0.0.{broker.process.index}", PORT + broker.lives))
        address = broker.process.address
        assert address is not None
        # Only the first storage of the first broker may begin a cluster: after its loss the cluster is elsewhere.
        founder = broker is self.brokers[0] and (broker.storages == 1 or self.refounds)
        config = options.broker_config(
            broker.name, address, seeds=self.seeds(broker), founder=founder, domains=self.seating[broker.name]
        )
        me = Peer(broker.id, broker.name, address[0], address[1], broker.store.id)
        broker.joined = True
        broker.leaving = False
        broker.lives += 1
        rng = stream(options.seed, f"node/{broker.name}/{broker.lives}")
        machine = self.make_broker(config, me, rng.getrandbits(48) + 1, rng)
        broker.process.start(machine, self.clock(), disk)

    def crash(self, broker: Broker, *, noticed: bool) -> None:
        """End a life; with `memory` durability what it held is gone."""
        broker.process.crash(noticed=noticed)

    def leave(self, broker: Broker) -> None:
        """Ask a broker to hand over and go; `reap` ends it when it has."""
        broker.leaving = True
        broker.process.deliver(LeaveRequested())

    def reap(self) -> None:
        """End brokers that have left."""
        for broker in self.brokers:
            machine = broker.machine
            if broker.leaving and machine is not None and machine.left:
                broker.gone = True
                broker.process.crash(noticed=True)

    def seeds(self, broker: Broker) -> Addresses:
        """Addresses to join through: a few others that did not leave, the living first."""
        if self.via is not None and self.via.process.address is not None:
            return (self.via.process.address,)
        others = [other for other in self.brokers if other is not broker and other.joined and not other.gone]
        others.sort(key=lambda other: (not other.up, other.process.index))
        return tuple(other.process.address for other in others[: self.seeds_max] if other.process.address is not None)

    def members(self) -> list[Broker]:
        """Brokers that belong to the cluster, up or down."""
        return [broker for broker in self.brokers if broker.joined and not broker.gone]

    def living(self) -> list[Broker]:
        """Brokers that run."""
        return [broker for broker in self.members() if broker.up]

    def clock(self) -> Clock:
        """Another clock: set differently and of another quality."""
        skew, drift = self.options.skew, self.options.drift_ppb
        return Clock(self._clocks.randint(-skew, skew), self._clocks.randint(-drift, drift))
