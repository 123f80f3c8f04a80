"""Events go nowhere but towards those who want them: watched on every connection between thirty brokers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from causeway.client.settings import SessionConfig
from causeway.client.subscriptions import durable_mailbox
from causeway.core.node import Node
from causeway.core.topics.leases import LEASE
from causeway.sim.application import Application
from causeway.sim.checkers.subscribing import Wish, wants
from causeway.sim.cluster import Broker
from causeway.sim.faults import options_calm, stream
from causeway.sim.letters import PUBLISHED
from causeway.sim.run import SimRun
from causeway.topics import item_of
from causeway.types import MILLISECOND, SECOND, BrokerId, ServiceClass, key_of

BROKERS = 30
WANTED = ("roads/a1", "roads/b2", "rails/x/delay", "rails/y", "air/lhr")
UNWANTED = ("roads/zz", "roads/a1/deeper", "air/cdg", "sea/dover", "space/iss")
"""Some in items where others are wanted, some in items nobody asks for."""
PATTERNS = {"one": "roads/a1", "two": "roads/b2", "three": "rails/#", "four": "air/lhr", "five": "rails/*"}
_EVENT = re.compile(rb"(publisher-\d+)\|\d+\|" + re.escape(PUBLISHED.encode()) + rb"([a-z0-9/]+)\|")


class Watched:
    """A settled network with publishers at several brokers, and where each event was seen."""

    def __init__(self) -> None:
        self.run = SimRun(options_calm(7, brokers=BROKERS, workloads=[], latency=MILLISECOND))
        self.seen: set[tuple[str, str, str]] = set()
        """Publisher, topic, broker that received it from another one."""
        self._watch()
        self.run._setup()
        self.run._pass(12 * SECOND)
        self.homes = {f"publisher-{number}": self.brokers[5 * number + 2] for number in range(5)}
        self.publishers = [self._start(name, home) for name, home in self.homes.items()]
        self.readers = {name: self._start(name, self.brokers[at]) for at, name in enumerate(PATTERNS)}

    @property
    def brokers(self) -> list[Broker]:
        return self.run.cluster.brokers

    def _watch(self) -> None:
        network: Any = self.run.world.network
        transmit = network._transmit

        def watched(end: Any, item: Any) -> None:
            if isinstance(item, tuple) and end.process.broker and end.peer.process.broker:
                for source, topic in _EVENT.findall(item[1]):
                    self.seen.add((source.decode(), topic.decode(), end.peer.process.name))
            transmit(end, item)

        network._transmit = watched

    def _start(self, name: str, home: Broker) -> Application:
        application = self.run.application(name)
        assert home.process.address is not None
        config = SessionConfig(name=name, addresses=(home.process.address,))
        application.start(config, stream(7, f"session/{name}"), self.run.cluster.clock(), None)
        return application

    def subscribe(self) -> None:
        for name, pattern in PATTERNS.items():
            reader = self.readers[name]
            reader.on_letter = reader.settle
            reader.subscribe(self.mailbox(name), Wish(pattern), 64)
        self.run._pass(5 * SECOND)
        assert self.run.panel.counts["begun subscriptions"] == len(PATTERNS)

    @staticmethod
    def mailbox(name: str) -> str:
        return durable_mailbox(name, "all", shared=False)

    def publish(self, topics: tuple[str, ...], rounds: int) -> int:
        """Everybody publishes on every topic; how many letters were acknowledged."""
        before = self.run.panel.counts.get("acknowledged", 0)
        for _ in range(rounds):
            for publisher in self.publishers:
                for topic in topics:
                    for service in (ServiceClass.TRANSACTIONAL, ServiceClass.RECOVERABLE, ServiceClass.EXPRESS):
                        assert publisher.publish(topic, service, 40) is not None
            self.run._pass(300 * MILLISECOND)
        self.run._pass(2 * SECOND)
        return self.run.panel.counts.get("acknowledged", 0) - before

    # Who may see an event --------------------------------------------------------------------------------------
    def node(self, broker: Broker) -> Node:
        machine = broker.machine
        assert isinstance(machine, Node)
        return machine

    def owner(self, mailbox: str) -> Broker:
        key = key_of(mailbox)
        (owner,) = [broker for broker in self.brokers if self.node(broker)._groups.owned(key)]
        return owner

    def members(self, mailbox: str) -> Iterator[str]:
        config = self.node(self.owner(mailbox))._groups.config(key_of(mailbox))
        assert config is not None
        return (member.peer.name for member in config.members)

    def route(self, start: Broker, mailbox: str) -> Iterator[str]:
        """The brokers on the overlay's way to a mailbox, its owner included."""
        by_id: dict[BrokerId, Broker] = {broker.id: broker for broker in self.brokers}
        at = start
        while (hop := self.node(at)._overlay.next_hop(key_of(mailbox))) is not None:
            at = by_id[hop]
            yield at.name
        yield self.owner(mailbox).name

    def allowed(self, publisher: str, topic: str) -> set[str]:
        item = item_of(topic)
        allowed = {*self.members(item), *self.route(self.homes[publisher], item)}
        for name, pattern in PATTERNS.items():
            if wants(pattern, topic):
                mailbox = self.mailbox(name)
                allowed |= {*self.members(mailbox), *self.route(self.owner(item), mailbox)}
        return allowed


def test_no_event_is_sent_to_a_broker_outside_the_way_to_an_interested_subscriber() -> None:
    network = Watched()
    network.subscribe()
    rounds, services = 5, 3
    published = network.publish(UNWANTED, rounds)
    assert published == rounds * services * len(UNWANTED) * len(network.publishers)
    assert network.seen == set(), "what nobody wants stays where it was published"

    assert network.publish(WANTED, rounds) == rounds * services * len(WANTED) * len(network.publishers)
    assert {topic for _, topic, _ in network.seen} == set(WANTED)
    assert network.run.panel.subscribing.owed() == []
    for publisher, topic, receiver in sorted(network.seen):
        assert receiver in network.allowed(publisher, topic), f"{topic} of {publisher} was sent to {receiver}"
    everywhere = {broker.name for broker in network.brokers}
    assert {receiver for _, topic, receiver in network.seen if topic == "roads/a1"} < everywhere

    reader = network.readers["two"]
    ended: list[str] = []
    reader.on_ended = ended.append
    reader.end_subscription(network.mailbox("two"))
    network.run._pass(SECOND)
    assert ended == [network.mailbox("two")]
    network.run._pass(LEASE)
    network.seen.clear()
    assert network.publish(("roads/b2",), rounds) > 0
    assert network.seen == set(), "its only subscription has ended"
    network.publish(("roads/a1",), 1)
    assert network.seen != set(), "others in the item go on"
