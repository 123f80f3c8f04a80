"""Real brokers take their seats in domains, whoever fails meanwhile; what would close a cycle is refused by name."""

from __future__ import annotations

import random
from typing import Any, cast

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.node import Node
from causeway.names import MAP_NAME
from causeway.sim.cluster import Broker
from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.types import MILLISECOND, SECOND, Duration, Peer

TREE = {"broker-0": ("north",), "broker-1": ("north", "south"), "broker-2": ("south",)}
SEATED = {"north": ["broker-0", "broker-1"], "south": ["broker-1", "broker-2"]}


class Network:
    """Brokers with domains; `domains` says whose, at each of its starts."""

    def __init__(
        self, domains: dict[str, tuple[str, ...]] = TREE, *, seed: int = 1, brokers: int = 3, **options: object
    ) -> None:
        self.domains = dict(domains)
        self.run = SimRun(options_calm(seed, brokers=brokers, workloads=[], **options), make_broker=self._make)
        self.run._setup()

    def _make(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> Node:
        return Node(msgspec.structs.replace(config, domains=self.domains.get(config.name, ())), me, incarnation, rng)

    @property
    def brokers(self) -> list[Broker]:
        return self.run.cluster.brokers

    def add(self, *domains: str) -> Broker:
        broker = self.run.cluster.add()
        self.domains[broker.name] = domains
        self.run.cluster.start(broker)
        return broker

    def pass_time(self, duration: Duration) -> None:
        self.run._pass(duration)

    def causal(self, broker: Broker) -> dict[str, Any]:
        assert broker.machine is not None
        return cast("dict[str, Any]", broker.machine.statistics()["causal"])

    def refusal(self, broker: Broker) -> str:
        assert isinstance(broker.machine, Node)
        return broker.machine.refusal

    def owner_of_the_map(self) -> Broker:
        for broker in self.run.cluster.living():
            assert broker.machine is not None
            groups = cast("list[dict[str, Any]]", broker.machine.statistics()["groups"])
            if any(group["name"] == MAP_NAME and group["owner"] == broker.name for group in groups):
                return broker
        raise AssertionError("nobody owns the map")

    def is_seated(self) -> bool:
        """Whether every living broker with domains sits there, and knows all who sit in its own ones."""
        seated = {broker.name: self.causal(broker) for broker in self.run.cluster.living()}
        latest = max(seated.values(), key=lambda found: int(found["version"]))["domains"]
        return all(
            name in latest[domain] and seated[name]["domains"][domain] == latest[domain]
            for name in seated
            for domain in self.domains.get(name, ())
        )


def shape(domains: dict[str, list[str]]) -> dict[str, list[str]]:
    """Who sits where, in whatever order they came."""
    return {name: sorted(seats) for name, seats in sorted(domains.items())}


def test_brokers_take_their_seats_and_know_one_map() -> None:
    network = Network()
    network.pass_time(10 * SECOND)
    for broker in network.brokers:
        found = network.causal(broker)
        assert found["seat"] == broker.name
        assert found["refusal"] == ""
        assert shape(found["domains"]) == SEATED
    assert network.is_seated()


def test_broker_that_would_close_a_cycle_is_refused_and_the_map_is_as_before() -> None:
    network = Network()
    network.pass_time(10 * SECOND)
    before = [network.causal(broker) for broker in network.brokers]
    intruder = network.add("north", "south")
    network.pass_time(10 * SECOND)
    refusal = network.refusal(intruder)
    for name in ("broker-3", "broker-1", "[north]", "[south]", "leave out"):
        assert name in refusal
    found = network.causal(intruder)
    assert (found["seat"], found["refusal"]) == ("", refusal)
    after = [network.causal(broker) for broker in network.brokers[:3]]
    assert [(one["version"], one["domains"]) for one in after] == [(one["version"], one["domains"]) for one in before]


def test_brokers_without_domains_do_not_begin_a_map() -> None:
    network = Network({})
    network.pass_time(10 * SECOND)
    for broker in network.brokers:
        assert broker.machine is not None
        groups = cast("list[dict[str, Any]]", broker.machine.statistics()["groups"])
        assert [group["name"] for group in groups if group["name"].startswith("causeway/")] == ["causeway/root"]
        assert network.causal(broker)["version"] == 0


def test_restarted_broker_has_its_seat_again() -> None:
    network = Network()
    network.pass_time(10 * SECOND)
    version = network.causal(network.brokers[0])["version"]
    router = network.brokers[1]
    network.run.cluster.crash(router, noticed=True)
    network.pass_time(5 * SECOND)
    network.run.cluster.start(router)
    network.pass_time(10 * SECOND)
    found = network.causal(router)
    assert (found["seat"], found["version"], found["refusal"]) == ("broker-1", version, "")


def test_broker_restarted_with_domains_that_close_a_cycle_keeps_the_seat_it_had() -> None:
    network = Network()
    network.pass_time(10 * SECOND)
    broker = network.brokers[0]
    network.run.cluster.crash(broker, noticed=True)
    network.domains[broker.name] = ("north", "south")
    network.run.cluster.start(broker)
    network.pass_time(10 * SECOND)
    assert "[south]" in network.refusal(broker)
    found = network.causal(broker)
    assert found["seat"] == "broker-0"
    assert shape(found["domains"]) == SEATED


@pytest.mark.parametrize("after", [50, 150, 300, 600, 1200])
def test_seat_is_taken_although_the_owner_of_the_map_fails(after: int) -> None:
    network = Network(seed=after, brokers=5)
    network.pass_time(10 * SECOND)
    newcomer = network.add("south", "west")
    network.pass_time(after * MILLISECOND)
    victim = network.owner_of_the_map()
    if victim is newcomer:
        victim = network.brokers[0]
    network.run.cluster.crash(victim, noticed=after % 100 == 0)
    network.pass_time(20 * SECOND)
    assert network.causal(newcomer)["seat"] == newcomer.name
    network.run.cluster.start(victim)
    network.pass_time(10 * SECOND)
    assert network.is_seated()
    expected = {**SEATED, "south": ["broker-1", "broker-2", newcomer.name], "west": [newcomer.name]}
    assert shape(network.causal(newcomer)["domains"]) == expected


@pytest.mark.parametrize("seed", range(3))
def test_who_takes_a_seat_over_goes_by_the_map_that_its_former_holder_went_by(seed: int) -> None:
    """Only the seats of a domain are told of a newcomer there, and who holds one of them next may sit elsewhere."""
    domains = {f"broker-{number}": ("north",) if number in (0, 3) else ("south",) for number in range(6)}
    network = Network(domains, seed=seed, brokers=6)
    network.pass_time(10 * SECOND)
    newcomer = network.add("north")
    network.pass_time(10 * SECOND)
    version = network.causal(newcomer)["version"]
    network.run.cluster.crash(network.brokers[0], noticed=True)
    network.pass_time(5 * SECOND)
    known = {broker.name: network.causal(broker) for broker in network.run.cluster.living()}
    (holder,) = (name for name in known if any(seat["seat"] == "broker-0" for seat in known[name]["seats"]))
    assert domains[holder] == ("south",)
    assert known[holder]["version"] == version


@pytest.mark.parametrize("seed", range(3))
def test_all_are_seated_although_connections_break(seed: int) -> None:
    network = Network(seed=seed, brokers=4, resets=30.0, jitter=20 * MILLISECOND)
    network.run.nemesis.begin()
    network.pass_time(10 * SECOND)
    network.add("south", "west")
    network.pass_time(10 * SECOND)
    network.run.nemesis.heal()
    network.pass_time(15 * SECOND)
    assert network.is_seated()
