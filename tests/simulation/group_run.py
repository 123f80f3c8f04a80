"""One run of the group protocol alone: options, faults, healing, verdict."""

from __future__ import annotations

import random

from causeway.config import BrokerConfig
from causeway.core.groups.registry import ROOT_NAME
from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.owner import SingleOwner
from causeway.sim.cluster import BrokerMachine, Cluster
from causeway.sim.faults import Options, stream
from causeway.sim.nemesis import Nemesis
from causeway.sim.network import Network
from causeway.sim.run_log import RunLog
from causeway.sim.world import World
from causeway.types import MILLISECOND, SECOND, Peer, key_of
from tests.simulation.group_machine import Book, GroupMachine, distance


class GroupRun:
    """A cluster of GroupMachines with a few groups, under the faults of the options."""

    def __init__(self, options: Options, groups: int, run_log: RunLog) -> None:
        self.options = options
        self.names = [f"group-{n}" for n in range(groups)]
        self.book = Book()
        network = Network(stream(options.seed, "network"), options.weather(), wire=options.wire)
        self.world = World(run_log, network)
        self.book.clock = lambda: self.world.now
        self.cluster = Cluster(self.world, options, self._make)
        for name in (*self.names, ROOT_NAME):
            network.describer.name(name)
        self.cluster.seeds_max = 99  # there is no overlay here: everybody must know everybody
        self.nemesis = Nemesis(self.world, self.cluster, options)
        self.nemesis.whole = self.pending
        self.owner = SingleOwner()
        self.nemesis.on_storage_lost = lambda broker: self.owner.forget(broker.name)
        for kind in SingleOwner.kinds:
            self.world.watch(kind, self._watch)

    def run(self) -> str | None:
        """Why the run did not converge, None when it did. Raises Wrong and ProductCrash."""
        for _ in range(self.options.brokers):
            self.cluster.start(self.cluster.add())
        self._pass(3 * SECOND)
        self.nemesis.begin()
        self._pass(self.options.safety)
        self.nemesis.heal()
        reason: str | None = "nothing happened"
        for _ in range(self.options.patience // SECOND):
            self._pass(SECOND)
            reason = self.pending()
            if reason is None:
                return None
        return reason

    def pending(self) -> str | None:
        """Why not every group has all its copies at the right places."""
        living = [b for b in self.cluster.members() if not b.leaving]
        for broker in self.cluster.members():
            if not broker.up:
                return f"{broker.name} is down"
            if broker.leaving:
                return f"{broker.name} is leaving"
        for name in self.names:
            key = key_of(name)
            near = sorted(living, key=lambda b: distance(b.id, key))[: self.options.copies]
            for broker in near:
                machine = broker.machine
                assert isinstance(machine, GroupMachine)
                group = machine.groups._r.groups.get(key)
                if group is None:
                    return f"{name}: {broker.name} is no member"
                names = [m.peer.name for m in group.config.members]
                if sorted(names) != sorted(b.name for b in near) or group.config.owner != near[0].id:
                    return f"{name}: {broker.name} has members {names}, wanted {[b.name for b in near]}"
                if group.config.incomplete:
                    return f"{name}: incomplete"
                if group.meta.promised[0] or group.meta.accepted is not None:
                    return f"{name}: {broker.name} has promised another epoch"
            owner = near[0].machine
            assert isinstance(owner, GroupMachine)
            if not owner.groups.serving(key):
                return f"{name}: {near[0].name} does not serve"
            if owner.groups._policy.exposed(owner.groups._r.groups[key]):
                return f"{name}: would stop with the next broker that fails"
        return None

    def _pass(self, duration: int) -> None:
        stop = self.world.now + duration
        while self.world.now < stop:
            self.world.run(min(stop, self.world.now + 50 * MILLISECOND))
            self.cluster.reap()
            if self.book.complaints:
                raise Wrong("book", self.book.complaints[0])

    def _make(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> BrokerMachine:
        machine = GroupMachine(config, me, incarnation, rng)
        machine.book, machine.names = self.book, self.names
        machine.first_life = self.cluster.brokers[0].lives == 1
        return machine

    def _watch(self, sender: object, receiver: object, head: object) -> None:
        self.owner.now = self.world.now
        self.owner.watch(sender.name, receiver.name, head, brokers=True)  # type: ignore[attr-defined,arg-type]
