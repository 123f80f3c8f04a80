from __future__ import annotations

import random

from causeway.config import BrokerConfig
from causeway.core.events import LeaveRequested
from causeway.sim.cluster import Cluster
from causeway.sim.faults import options_calm
from causeway.types import Peer
from tests.unit.sim.fake_machines import make_world
from tests.unit.sim.test_nemesis import FakeBroker


class Factory:
    """Remembers what brokers were made with."""

    def __init__(self) -> None:
        self.made: list[tuple[BrokerConfig, Peer, int]] = []

    def __call__(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> FakeBroker:
        self.made.append((config, me, incarnation))
        return FakeBroker()


def make(durability: str = "disk") -> tuple[Cluster, Factory]:
    factory = Factory()
    return Cluster(make_world(), options_calm(1, durability=durability), factory), factory


def test_only_the_first_broker_founds_and_others_are_told_to_join_it() -> None:
    cluster, factory = make()
    for _ in range(3):
        cluster.start(cluster.add())
    assert [config.founder for config, _, _ in factory.made] == [True, False, False]
    assert [len(config.seeds) for config, _, _ in factory.made] == [0, 1, 2]


def test_restart_keeps_the_storage_and_changes_the_incarnation() -> None:
    cluster, factory = make()
    broker = cluster.add()
    cluster.start(broker)
    cluster.crash(broker, noticed=True)
    cluster.start(broker)
    (_, first, one), (_, second, two) = factory.made
    assert first == second
    assert one != two


def test_founder_that_lost_its_storage_does_not_found_again() -> None:
    cluster, factory = make()
    broker = cluster.add()
    cluster.start(broker)
    cluster.crash(broker, noticed=True)
    broker.store = None
    cluster.start(broker)
    assert [config.founder for config, _, _ in factory.made] == [True, False]
    assert factory.made[0][1].store != factory.made[1][1].store


def test_founder_may_be_told_to_found_at_every_start() -> None:
    cluster, factory = make()
    cluster.refounds = True
    broker = cluster.add()
    cluster.start(broker)
    cluster.start(cluster.add())
    cluster.crash(broker, noticed=True)
    broker.store = None
    cluster.start(broker)
    assert [(config.founder, len(config.seeds)) for config, _, _ in factory.made] == [(True, 0), (False, 1), (True, 1)]


def test_memory_mode_begins_every_life_with_an_empty_storage() -> None:
    cluster, factory = make("memory")
    broker = cluster.add()
    cluster.start(broker)
    cluster.crash(broker, noticed=False)
    cluster.start(broker)
    assert factory.made[0][1].store != factory.made[1][1].store


def test_broker_that_has_left_is_gone() -> None:
    cluster, _ = make()
    broker = cluster.add()
    cluster.start(broker)
    cluster.leave(broker)
    cluster.world.run(cluster.world.now + 1_000_000)
    machine = broker.machine
    assert isinstance(machine, FakeBroker)
    assert LeaveRequested() in machine.events
    cluster.reap()
    assert cluster.members() == [broker]
    machine.left = True
    cluster.reap()
    assert cluster.members() == []
