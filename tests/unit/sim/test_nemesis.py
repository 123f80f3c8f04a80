from __future__ import annotations

import random

import pytest

from causeway.config import BrokerConfig
from causeway.core.effects import Dial, Effects
from causeway.sim.clock import Clock
from causeway.sim.cluster import Cluster
from causeway.sim.faults import Options, options_calm
from causeway.sim.nemesis import BROKERS_MAX, MEMBERS_MIN, Nemesis
from causeway.sim.world import World
from causeway.types import SECOND, Peer
from tests.unit.sim.fake_machines import Recorder, make_world


class FakeBroker(Recorder):
    """A broker that does nothing and leaves when asked."""

    left = False

    def statistics(self) -> dict[str, object]:
        return {}


def make_broker(config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> FakeBroker:
    return FakeBroker()


def scene(**options: object) -> tuple[World, Cluster, Nemesis, Options]:
    drawn = options_calm(1, **{"brokers": 5, "down_max": SECOND // 10, **options})
    world = make_world()
    cluster = Cluster(world, drawn, make_broker)
    for _ in range(drawn.brokers):
        cluster.start(cluster.add())
    return world, cluster, Nemesis(world, cluster, drawn), drawn


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("crashes", "crash"),
        ("partitions", "partition"),
        ("stops", "stop"),
        ("slow_links", "slow link"),
        ("slow_disks", "slow disk"),
        ("joins", "join"),
        ("leaves", "leave"),
    ],
)
def test_nemesis_makes_the_faults_it_has_a_rate_for_and_no_others(fault: str, word: str) -> None:
    world, _, nemesis, _ = scene(**{fault: 120.0})
    nemesis.begin()
    world.run(10 * SECOND)
    assert any(what.startswith(word) for what in nemesis.counts)
    others = {"crash", "partition", "stop", "slow link", "slow disk", "join", "leave", "lose", "rot"} - {word}
    assert not any(what.startswith(other) for what in nemesis.counts for other in others)


def test_cuts_part_one_client_from_one_broker_it_is_connected_to_and_nobody_else() -> None:
    world, cluster, nemesis, _ = scene(client_cuts=600.0, client_cut_max=SECOND // 10, one_way=0.0)
    client = world.process("client")
    nemesis.clients.append(client)
    nemesis.begin()
    world.run(SECOND)
    assert nemesis.counts == {}, "there is no connection"
    client.start(Recorder(), Clock(), None)
    client.machine.todo = Effects(dials=[Dial(1, *cluster.brokers[2].process.address)])  # type: ignore[union-attr]
    client.poke()
    cut: dict[tuple[str, str], None] = {}
    for _ in range(200):
        world.run(world.now + SECOND // 100)
        everybody = world.processes
        cut.update({(a.name, b.name): None for a in everybody for b in everybody if world.network.is_cut(a, b)})
    broker = cluster.brokers[2].name
    assert sorted(cut) == sorted([("client", broker), (broker, "client")])
    assert {what.split(" ")[0] for what in nemesis.counts} == {"cut", "mend"}


def test_heal_ends_everything_and_brings_everybody_back() -> None:
    world, cluster, nemesis, _ = scene(
        crashes=120.0, partitions=120.0, stops=120.0, loss=0.1, down_max=100 * SECOND, partition_max=100 * SECOND
    )
    nemesis.begin()
    world.run(10 * SECOND)
    nemesis.heal()
    made = dict(nemesis.counts)
    assert all(broker.up for broker in cluster.members())
    assert not any(process.stopped for process in world.processes)
    assert not any(world.network.is_cut(a, b) for a in world.processes for b in world.processes)
    assert world.network.weather.loss == 0.0
    world.run(30 * SECOND)
    assert nemesis.counts == made


def test_storages_are_lost_one_at_a_time_and_only_while_all_groups_are_whole() -> None:
    world, cluster, nemesis, _ = scene(disk_losses=600.0)
    lost: list[str] = []
    nemesis.on_storage_lost = lambda broker: lost.append(broker.name)
    nemesis.whole = lambda: "a copy is missing"
    nemesis.begin()
    world.run(5 * SECOND)
    assert lost == []
    nemesis.whole = lambda: None if not lost else "being rebuilt"
    world.run(10 * SECOND)
    assert len(lost) == 1
    before = {broker.name: broker.store.id for broker in cluster.brokers if broker.store is not None}
    nemesis.whole = lambda: None
    world.run(20 * SECOND)
    nemesis.heal()
    assert len(lost) > 1
    assert any(broker.store is not None and before.get(broker.name) != broker.store.id for broker in cluster.brokers)


def test_crash_in_memory_mode_is_the_loss_of_a_storage() -> None:
    world, cluster, nemesis, _ = scene(crashes=600.0, durability="memory")
    nemesis.whole = lambda: None
    first = {broker.name: broker.store.id for broker in cluster.brokers if broker.store is not None}
    nemesis.begin()
    world.run(5 * SECOND)
    nemesis.heal()
    assert any(what.startswith("lose storage") for what in nemesis.counts)
    assert any(broker.store is not None and first[broker.name] != broker.store.id for broker in cluster.brokers)


def test_rows_rot_on_one_broker_only() -> None:
    world, cluster, nemesis, _ = scene(rots=600.0)
    nemesis.whole = lambda: None
    from causeway.store.base import Put

    for broker in cluster.brokers:
        assert broker.store is not None
        broker.store.commit([Put(bytes(range(16)), bytes([n]), 1, b"v") for n in range(20)])
    nemesis.begin()
    world.run(5 * SECOND)
    spoiled = [broker for broker in cluster.brokers if broker.store is not None and broker.store.rotten]
    assert len(spoiled) == 1


def test_cluster_neither_grows_nor_shrinks_without_bound() -> None:
    world, cluster, nemesis, _ = scene(joins=600.0)
    nemesis.begin()
    world.run(60 * SECOND)
    assert len(cluster.brokers) == BROKERS_MAX
    world, cluster, nemesis, _ = scene(leaves=600.0)
    nemesis.begin()
    for _ in range(100):
        world.run(world.now + SECOND // 10)
        for broker in cluster.members():
            if broker.leaving and isinstance(broker.machine, FakeBroker):
                broker.machine.left = True
        cluster.reap()
    assert len(cluster.members()) == MEMBERS_MIN
