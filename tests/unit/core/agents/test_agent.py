"""One broker in its domain: announces itself until it is listed, believes the latest directory, reports what breaks."""

from __future__ import annotations

import random

import msgspec

from causeway.core.agents.agent import ANNOUNCE_LATER, ANNOUNCE_SOON, REPORT_AFTER, Agent
from causeway.core.deadlines import Alarm
from causeway.core.machine import Turn
from causeway.core.messages import (
    AgentCard,
    Announce,
    Distances,
    DomainDirectory,
    Holdings,
    LinkReport,
    Measure,
    Message,
    SeatHolder,
)
from causeway.names import agents_name
from causeway.types import MILLISECOND, SECOND, key_of
from tests.unit.core.agents.domain import DomainLinks, card_of, id_of
from tests.unit.core.mail.neighbours import ME, OTHER, FakeCourier, config_of


class Office:
    """The agent of b1 in domain d."""

    def __init__(self) -> None:
        self.now = 100 * SECOND
        self.links, self.courier = DomainLinks(), FakeCourier()
        self.published: dict[str, int] = {}
        self.agent = Agent(
            "d",
            card_of("b1"),
            self.links,
            self.courier,
            published=self.published.items,
            rates_every=5 * SECOND,
            rng=random.Random(1),
            alarm=Alarm(),
        )
        self.agent.start(Turn(self.now))

    def wait(self, duration: int) -> list[Message]:
        """What is posted to the landmark meanwhile."""
        until = self.now + duration
        while (due := self.agent.next_deadline()) is not None and due <= until:
            self.now = max(due, self.now)
            self.agent.on_deadline(Turn(self.now))
        self.now = until
        return self.said()

    def said(self) -> list[Message]:
        posted, self.courier.posted = self.courier.posted, []
        assert all(mailbox == agents_name("d") for mailbox, _ in posted)
        return [head for _, head in posted]

    def learn(self, *cards: AgentCard, version: int = 1, term: int = 1, landmark: str = "b2", **seats: str) -> bool:
        holders = tuple(SeatHolder(seat, id_of(holder), 1) for seat, holder in seats.items())
        return self.agent.learn(Turn(self.now), DomainDirectory("d", term, version, id_of(landmark), cards, holders))

    def link(self, name: str, *, up: bool) -> list[Message]:
        self.agent.on_link(Turn(self.now), id_of(name), up=up)
        return self.said()


def office(*others: str) -> Office:
    """The agent is listed beside others."""
    there = Office()
    there.learn(card_of("b1"), card_of("b2"), *map(card_of, others), b1="b1", b2="b2")
    there.wait(0)
    return there


def down(name: str) -> LinkReport:
    return LinkReport("d", ME.id, id_of(name), False)


def test_announces_itself_at_once_often_until_it_is_listed_then_seldom() -> None:
    there = Office()
    assert there.wait(0) == [Announce("d", card_of("b1"), 0)]
    heard = there.wait(5 * SECOND)
    assert 5 * SECOND // (ANNOUNCE_SOON * 5 // 4) <= len(heard) <= 5 * SECOND // ANNOUNCE_SOON
    there.learn(card_of("b1"), version=3)
    there.wait(ANNOUNCE_SOON * 2)
    assert 8 <= len(there.wait(10 * ANNOUNCE_LATER)) <= 10


def test_says_which_directory_it_has() -> None:
    there = Office()
    there.learn(card_of("b1"), version=3)
    assert there.wait(0) == [Announce("d", card_of("b1"), 3)]


def test_listed_with_another_storage_it_goes_on_announcing_itself() -> None:
    there = Office()
    former = msgspec.structs.replace(card_of("b1"), peer=msgspec.structs.replace(ME, store=99))
    there.learn(former)
    assert len(there.wait(2 * SECOND)) > 4


def test_changed_card_is_announced_soon() -> None:
    there = office()
    there.agent.update(Turn(there.now), card_of("b1"))
    assert there.wait(ANNOUNCE_SOON) == []
    there.agent.update(Turn(there.now), card_of("b1", fitness=500))
    (head,) = there.wait(ANNOUNCE_SOON)
    assert isinstance(head, Announce)
    assert head.card.fitness == 500


def test_only_later_directories_are_believed() -> None:
    there = Office()
    assert there.learn(card_of("b1"), version=5, term=2)
    assert not there.learn(version=5, term=2)
    assert not there.learn(version=4, term=9)
    assert not there.learn(version=5, term=1)
    assert there.learn(card_of("b1"), version=5, term=3, landmark="b3"), "a new landmark, and nothing else is new"
    assert there.learn(card_of("b1"), version=6, term=3)


def test_landmark_is_kept_linked_and_agents_are_remembered_but_not_ourselves() -> None:
    there = office("b3")
    assert sorted(there.links.pinned) == sorted(map(id_of, ("b2", "b3")))
    assert [peer.name for peer in there.links.learned] == ["b2", "b3"]
    there.learn(card_of("b1"), version=9, landmark="b4")
    there.learn(card_of("b1"), version=10, landmark="b4")
    assert there.links.pinned == [id_of("b4")], "once, and the others no longer"
    there.learn(card_of("b1"), version=11, landmark="b1")
    assert there.links.pinned == []


def test_link_is_kept_to_the_next_two_agents_of_the_domain_all_around() -> None:
    names = sorted((f"b{number}" for number in range(1, 8)), key=id_of)
    for at in range(len(names)):
        there = Office()
        me = names.index("b1")
        turned = [names[(me + step + at) % len(names)] for step in range(len(names))]
        there.learn(*map(card_of, turned), landmark="b1")
        assert [id_of(names[(me + step) % len(names)]) for step in (1, 2)] == there.links.pinned


def test_seats_are_those_of_the_directory_and_unknown_before_it_lists_us() -> None:
    there = Office()
    assert there.agent.seats() is None
    there.learn(card_of("b2"), b1="b2")
    assert there.agent.seats() is None
    there.learn(card_of("b1"), card_of("b2"), version=2, b1="b2")
    assert there.agent.seats() == ()
    there.learn(card_of("b1"), card_of("b2"), version=3, b1="b2", b7="b1", b8="b1")
    assert there.agent.seats() == ("b7", "b8")


def test_voters_are_the_living_agents_the_landmark_first() -> None:
    there = Office()
    assert there.agent.voters() == [ME], "until anybody is known, the domain begins with us"
    there.learn(card_of("b1"), card_of("b2"), card_of("b3", capability=1100))
    assert [peer.name for peer in there.agent.voters()] == ["b2", "b3", "b1"]
    there.links.down.add(id_of("b2"))
    assert [peer.name for peer in there.agent.voters()] == ["b3", "b1"]


def test_broken_link_is_reported_once_and_so_is_its_return() -> None:
    there = office("b3")
    assert there.link("b3", up=True) == []
    assert there.link("b3", up=False) == [down("b3")]
    assert there.link("b3", up=False) == []
    assert there.link("b3", up=True) == [LinkReport("d", ME.id, id_of("b3"), True)]
    assert there.link("b3", up=True) == []


def test_links_to_strangers_are_not_reported() -> None:
    there = office()
    assert there.link("stranger", up=False) == []
    assert Office().link("b2", up=False) == []


def test_new_landmark_hears_of_broken_links_again_and_the_same_one_does_not() -> None:
    there = office("b3")
    there.link("b3", up=False)
    cards = (card_of("b1"), card_of("b2"), card_of("b3"))
    there.learn(*cards, version=2)
    assert there.said() == []
    there.learn(*cards, version=3, term=2)
    assert there.said() == [down("b3")]


def test_broken_link_to_an_agent_that_was_forgotten_is_forgotten() -> None:
    there = office("b3")
    there.link("b3", up=False)
    there.learn(card_of("b1"), card_of("b2"), version=2)
    there.learn(card_of("b1"), card_of("b2"), card_of("b3"), version=3, term=2)
    assert there.said() == []
    assert there.link("b3", up=False) == [down("b3")]


def test_distances_are_those_that_were_measured() -> None:
    there = office("b3")
    there.agent.on_measure(Turn(there.now), Measure("d", (ME.id, id_of("b2"), id_of("b3"))))
    assert there.said() == []
    there.links.trips = {ME.id: 0, id_of("b3"): MILLISECOND}
    there.agent.on_measure(Turn(there.now), Measure("d", (ME.id, id_of("b2"), id_of("b3"))))
    assert there.said() == [Distances("d", ME.id, ((id_of("b3"), MILLISECOND),))]


def own(there: Office, *names: str) -> None:
    for name in names:
        there.agent.told.owned(key_of(name), config_of(name, ME, OTHER))
        there.agent.on_holdings(Turn(there.now))


def names_told(heads: list[Message]) -> list[list[str]]:
    return [[one.name for one in head.groups] for head in heads if isinstance(head, Holdings)]


def test_groups_that_change_together_are_reported_together_when_there_is_a_landmark() -> None:
    there = Office()
    own(there, "box")
    assert names_told(there.wait(SECOND)) == []
    there.learn(card_of("b1"))
    own(there, "crate")
    assert names_told(there.wait(REPORT_AFTER)) == [["box", "crate"]]
    assert names_told(there.wait(SECOND)) == []


def test_new_landmark_hears_of_all_groups_again() -> None:
    there = office()
    own(there, "box")
    there.wait(REPORT_AFTER)
    there.learn(card_of("b1"), version=2, term=2)
    (head,) = (head for head in there.wait(REPORT_AFTER) if isinstance(head, Holdings))
    assert (head.term, [one.name for one in head.groups]) == (2, ["box"])


def test_directory_is_shown_with_names() -> None:
    there = Office()
    assert there.agent.statistics()["agents"] == []
    there.learn(card_of("b1"), card_of("b2"), version=4, term=3, b1="b2")
    there.links.down.add(id_of("b2"))
    shown = there.agent.statistics()
    assert (shown["domain"], shown["landmark"], shown["term"], shown["version"]) == ("d", "b2", 3, 4)
    assert shown["seats"] == [{"seat": "b1", "holder": "b2", "since": 1}]
    agents = shown["agents"]
    assert isinstance(agents, list)
    assert [(one["broker"], one["seated"], one["reachable"]) for one in agents] == [
        ("b1", False, True),
        ("b2", True, False),
    ]
