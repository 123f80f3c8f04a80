"""All domains of one broker: what is for its agent, what for the landmark it is, and which seats it says it holds."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from causeway.config import BrokerConfig
from causeway.core.agents.agents import BrokerAgents
from causeway.core.agents.failures import SETTLE
from causeway.core.deadlines import Alarm
from causeway.core.events import Measured, MembershipChanged, OwnershipGained, OwnershipLost, PeerMessage
from causeway.core.machine import Turn
from causeway.core.messages import (
    AgentCard,
    Announce,
    Distances,
    DomainDirectory,
    Holdings,
    ItemPolicy,
    LinkReport,
    Measure,
    SeatHolder,
)
from causeway.core.placing import PlannedItems
from causeway.limits import SEATS_HELD_MAX
from causeway.names import agents_name
from causeway.topics import ALL_ITEMS
from causeway.types import MILLISECOND, SECOND, Key, key_of
from tests.unit.core.agents.domain import DomainLinks, FakeGauge, card_of, id_of, peer_of
from tests.unit.core.mail.neighbours import ME, OTHER, FakeCourier, FakeGroups, config_of

D = key_of(agents_name("d"))


class Plane:
    """The agents of b1."""

    def __init__(self, *domains: str, **config: Any) -> None:
        self.now = 100 * SECOND
        self.groups, self.links, self.courier = FakeGroups(), DomainLinks(), FakeCourier()
        self.alarm = Alarm()
        settings = BrokerConfig(name="b1", domains=domains or ("d",), **config)
        self.agents = BrokerAgents(settings, self.links, self.groups, rng=random.Random(1), alarm=self.alarm)
        self.gauge = FakeGauge()
        self.agents.open(self.courier, dict[str, int]().items, self.gauge)

    @property
    def turn(self) -> Turn:
        return Turn(self.now)

    def gain(self, name: str = "causeway/agents/d") -> bool:
        group = self.groups.own(name)
        return self.agents.gain(self.turn, OwnershipGained(group, config_of(name, ME, OTHER), [], None))

    def commit(self) -> None:
        for then in self.groups.take():
            then(self.turn)

    def hears(self, head: Announce | LinkReport | Holdings | Distances) -> bool:
        taken = self.agents.arrived(self.turn, D, head)
        self.commit()
        return taken

    def directory(
        self,
        by: str = "b2",
        domain: str = "d",
        version: int = 1,
        cards: tuple[AgentCard, ...] = (),
        *,
        seats: dict[str, str],
    ) -> None:
        holders = tuple(SeatHolder(seat, id_of(holder), 1) for seat, holder in seats.items())
        head = DomainDirectory(domain, 1, version, id_of("b2"), cards or (card_of("b1"), card_of("b2")), holders)
        self.agents.on_peer_message(self.turn, PeerMessage(peer_of(by), head, b""))


def test_only_groups_of_agents_make_a_landmark() -> None:
    plane = Plane()
    assert not plane.gain("box")
    assert plane.gain()
    assert list(plane.agents.groups) == [D]
    plane.agents.lose(plane.turn, D)
    assert plane.agents.groups == {}


def test_message_waits_where_we_are_no_landmark() -> None:
    plane = Plane()
    assert not plane.hears(Announce("d", card_of("b2"), 0))


def test_absurd_message_is_taken_and_changes_nothing() -> None:
    plane = Plane()
    plane.gain()
    for head in (
        Announce("d", card_of("b2", fitness=5000), 0),
        Announce("other", card_of("b2"), 0),
        LinkReport("d", Key(b"short"), id_of("b2"), False),
        Distances("d", id_of("b2"), ((id_of("b1"), -1),)),
    ):
        assert plane.agents.arrived(plane.turn, D, head)
    assert plane.groups.operations == []
    assert plane.agents.groups[D].roll.version == 0


def test_landmark_believes_itself_when_its_decision_is_on_all_copies() -> None:
    plane = Plane()
    plane.gain()
    plane.agents.arrived(plane.turn, D, Announce("d", card_of("b1"), 0))
    assert plane.links.seats is None
    plane.commit()
    assert plane.links.seats == ("b1",)


def test_directory_is_believed_only_from_the_landmark_itself_and_only_if_sound() -> None:
    plane = Plane()
    plane.directory(by="b3", seats={"b1": "b2"})
    plane.directory(cards=(card_of("b1", capability=0),), seats={"b1": "b2"})
    plane.directory(domain="other", seats={"b1": "b2"})
    assert plane.links.seats is None
    plane.directory(seats={"b1": "b2"})
    assert plane.links.seats == ()


def test_directory_that_does_not_list_us_says_nothing_of_our_seats() -> None:
    plane = Plane()
    plane.directory(cards=(card_of("b2"),), seats={"b1": "b2"})
    assert plane.links.seats is None


def test_seats_of_all_domains_are_told_each_once_and_never_more_than_are_believed() -> None:
    plane = Plane("d", "e")
    plane.directory(seats={"b1": "b1", "b7": "b1"})
    plane.directory(domain="e", seats={"b1": "b1", "b8": "b1"})
    assert plane.links.seats == ("b1", "b7", "b8")
    plane.directory(domain="e", version=2, seats={f"x{number}": "b1" for number in range(20)})
    told = plane.links.seats
    assert told == ("b1", "b7", *(f"x{number}" for number in range(SEATS_HELD_MAX - 2)))


def test_measure_is_answered_to_the_landmark_of_that_domain() -> None:
    plane = Plane()
    plane.links.trips = {id_of("b3"): MILLISECOND}
    for domain in ("d", "other"):
        plane.agents.on_peer_message(plane.turn, PeerMessage(OTHER, Measure(domain, (id_of("b3"),)), b""))
    assert plane.courier.posted == [(agents_name("d"), Distances("d", ME.id, ((id_of("b3"), MILLISECOND),)))]


def test_agents_begin_when_we_are_in_the_ring() -> None:
    plane = Plane("d", "e", spare=True, capability=1500)
    assert plane.agents.next_deadline() is None
    plane.agents.on_joined(plane.turn)
    plane.agents.on_deadline(plane.turn)
    heads = [head for _, head in plane.courier.posted]
    card = card_of("b1", spare=True, capability=1500)
    assert heads == [Announce("d", card, 0), Announce("e", msgspec.structs.replace(card, home=False), 0)]


def test_what_was_measured_is_announced_but_not_a_capacity_that_was_configured() -> None:
    for configured, announced in ((0, 700), (90, 90)):
        plane = Plane(capacity=configured)
        plane.agents.on_fitness(plane.turn, Measured(fitness=432, capacity=700))
        plane.agents.on_joined(plane.turn)
        plane.agents.on_deadline(plane.turn)
        ((_, head),) = plane.courier.posted
        assert isinstance(head, Announce)
        assert (head.card.fitness, head.card.capacity) == (432, announced)


def test_groups_we_own_are_reported_and_their_end() -> None:
    plane = Plane()
    plane.directory(seats={"b1": "b1"})
    config = config_of("box", ME, OTHER)
    plane.agents.on_owned(plane.turn, key_of("box"), config)
    plane.agents.on_lost(plane.turn, OwnershipLost(key_of("box"), config_of("box", OTHER, ME, epoch=6)))
    plane.agents.on_owned(plane.turn, key_of("crate"), config_of("crate", ME))
    plane.now += SECOND
    plane.agents.on_deadline(plane.turn)
    (head,) = (head for _, head in plane.courier.posted if isinstance(head, Holdings))
    assert [one.name for one in head.groups] == ["crate"]


def test_failure_is_looked_at_when_it_is_due_and_the_alarm_knows() -> None:
    plane = Plane()
    plane.gain()
    for card in (card_of("b1"), card_of("b2"), card_of("b3"), card_of("s1", spare=True)):
        plane.hears(Announce("d", card, 0))
    plane.alarm.renew()
    plane.links.down.add(id_of("b3"))
    plane.agents.on_link(plane.turn, peer_of("b3"), up=False)
    plane.hears(LinkReport("d", id_of("b2"), id_of("b3"), False))
    due = plane.now + SETTLE
    assert (plane.alarm.at, plane.agents.next_deadline()) == (due, due)
    plane.now = due
    plane.agents.on_deadline(plane.turn)
    plane.commit()
    (shown,) = plane.agents.statistics(plane.now)
    assert shown["failed"] == ["b3"]
    assert {"seat": "b3", "holder": "s1", "since": 5} in shown["seats"]  # type: ignore[operator]


def test_landmark_whose_group_goes_on_looks_again() -> None:
    plane = Plane()
    plane.gain()
    for card in (card_of("b1"), card_of("b2"), card_of("b3"), card_of("s1", spare=True)):
        plane.hears(Announce("d", card, 0))
    plane.links.down.add(id_of("b3"))
    plane.agents.on_link(plane.turn, peer_of("b3"), up=False)
    plane.hears(LinkReport("d", id_of("b2"), id_of("b3"), False))
    plane.groups.mine[D] = False
    plane.groups.obstacles[D] = "2 of 5 copies reachable"
    plane.now += SECOND
    plane.agents.on_deadline(plane.turn)
    assert plane.agents.next_deadline() is None
    assert plane.agents.statistics(plane.now)[0]["blocked"] == "2 of 5 copies reachable"
    plane.groups.mine[D] = True
    plane.agents.resume(plane.turn, D)
    assert len(plane.groups.operations) == 1


def test_only_groups_of_agents_are_placed() -> None:
    plane = Plane()
    assert plane.agents.wanted("box") is None
    assert plane.agents.wanted(agents_name("other")) == [], "not ours to hold"
    assert plane.agents.wanted(agents_name("d")) == [ME]
    plane.directory(seats={"b1": "b1"})
    assert [peer.name for peer in plane.agents.wanted(agents_name("d")) or ()] == ["b2", "b1"]
    plane.gain()
    plane.hears(Announce("d", card_of("b1"), 0))
    plane.hears(Announce("d", card_of("b3"), 0))
    assert [peer.name for peer in plane.agents.wanted(agents_name("d")) or ()] == ["b1", "b3"]


def test_item_is_placed_by_the_policy_of_the_domain_in_which_we_hold_a_seat() -> None:
    plane = Plane("d", "e")
    item, other = ALL_ITEMS[:2]
    plan = PlannedItems(
        items=(item,), brokers=("b1", "b2"), owners=(1,), mirrors=(0,), version="v", feasible=True, risks=(0, 0)
    )
    body = msgspec.msgpack.encode(plan)
    plane.directory(domain="e", seats={"b1": "b1", "b2": "b2"})
    head = ItemPolicy("e", 1, 4, id_of("b2"))
    for peer, told in (("b3", body), ("b2", body[:-1]), ("b2", msgspec.msgpack.encode(0))):
        plane.agents.on_peer_message(plane.turn, PeerMessage(peer_of(peer), head, told))
        assert plane.agents.wanted(item) is None, "no word of the landmark"
    turn = plane.turn
    plane.agents.on_peer_message(turn, PeerMessage(peer_of("b2"), head, body))
    assert MembershipChanged() in turn.inbox, "items of ours may have to go"
    assert [peer.name for peer in plane.agents.wanted(item) or ()] == ["b2", "b1"]
    assert plane.agents.wanted(other) is None
    plane.groups.suspected.add(id_of("b2"))
    assert [peer.name for peer in plane.agents.wanted(item) or ()] == ["b1"]


def test_broker_without_domains_has_no_agent() -> None:
    plane = Plane()
    plane.agents = BrokerAgents(
        BrokerConfig(name="b1"), plane.links, plane.groups, rng=random.Random(1), alarm=plane.alarm
    )
    plane.agents.open(plane.courier, dict[str, int]().items, plane.gauge)
    plane.agents.on_joined(plane.turn)
    plane.directory(seats={"b1": "b2"})
    assert (plane.agents.next_deadline(), plane.agents.statistics(0), plane.links.seats) == (None, [], None)
