"""A landmark: announcements make seats, failures empty them, spares take them, and nobody hears what may be lost."""

from __future__ import annotations

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.agents.failures import FLAP_SPAN, SETTLE
from causeway.core.agents.landmark import HELD_WRITTEN_AFTER, Landmark
from causeway.core.agents.placer import WINDOWS_MIN
from causeway.core.agents.proposals import Asker
from causeway.core.effects import PlanItems
from causeway.core.events import OwnershipGained
from causeway.core.machine import Turn
from causeway.core.messages import (
    AgentCard,
    Announce,
    Bottleneck,
    BottleneckKind,
    Bottlenecks,
    Distances,
    DomainDirectory,
    Holding,
    Holdings,
    ItemPolicy,
    ItemRates,
    LinkReport,
    Measure,
    PolicyTaken,
    ToLandmark,
)
from causeway.core.placing import PlannedItems
from causeway.domains.limits import SEATS_PER_DOMAIN_MAX
from causeway.errors import Code
from causeway.names import agents_name
from causeway.store.base import Delete, Put, Row, Write
from causeway.topics import ALL_ITEMS
from causeway.trace import Step
from causeway.types import MILLISECOND, SECOND, key_of
from tests.unit.core.agents.domain import DomainLinks, card_of, id_of
from tests.unit.core.mail.neighbours import ME, OTHER, FakeGroups, config_of

GROUP = key_of(agents_name("d"))


class Hill:
    """A landmark with its rows; `patient`: operations wait for `commit`."""

    def __init__(self, *, patient: bool = False) -> None:
        self.now = 100 * SECOND
        self.patient = patient
        self.groups, self.links = FakeGroups(), DomainLinks()
        self.rows: dict[bytes, Row] = {}
        self.groups.own(agents_name("d"))
        self.steps: list[tuple[int, str]] = []
        self.gain()

    def gain(self, epoch: int = 5) -> None:
        """As a landmark that has nothing but the rows."""
        self.groups.operations.clear()
        self.landmark = Landmark("d", GROUP, self.groups, self.links, BrokerConfig(name="b1"), told=lambda *_: None)
        rows = [self.rows[key] for key in sorted(self.rows)]
        config = config_of(agents_name("d"), ME, OTHER, epoch=epoch)
        turn = Turn(self.now)
        self.landmark.gain(turn, OwnershipGained(GROUP, config, rows, None))
        self._note(turn)

    def _note(self, turn: Turn) -> None:
        self.steps += [(record.step, record.source) for record in turn.effects.traces]
        if not self.patient:
            self.commit()

    def hears(self, head: ToLandmark) -> None:
        turn = Turn(self.now)
        self.landmark.arrived(turn, head)
        self._note(turn)

    def commit(self) -> None:
        while self.groups.operations:
            then, _, writes = self.groups.operations.pop(0)
            for write in writes:
                if isinstance(write, Put):
                    self.rows[write.key] = Row(write.key, write.seq, write.value)
                else:
                    assert isinstance(write, Delete)
                    self.rows.pop(write.start, None)
            then(Turn(self.now))

    def look(self) -> None:
        turn = Turn(self.now)
        self.landmark.reconsider(turn)
        self._note(turn)

    def link(self, name: str, *, up: bool) -> None:
        (self.links.down.discard if up else self.links.down.add)(id_of(name))
        turn = Turn(self.now)
        self.landmark.on_link(turn, id_of(name), up=up)
        self._note(turn)

    # In short
    def announce(self, *cards: AgentCard) -> None:
        for card in cards:
            self.hears(Announce("d", card, 0))
        if not self.patient:
            self.links.take()

    def lose(self, *names: str, by: str = "b2") -> None:
        """We and another agent lose the links to brokers; nobody looks yet."""
        for name in names:
            self.link(name, up=False)
            self.hears(LinkReport("d", id_of(by), id_of(name), False))

    def fail(self, *names: str, by: str = "b2") -> None:
        self.lose(*names, by=by)
        self.now += SETTLE
        self.look()

    def held(self) -> dict[str, str]:
        names = {broker: card.peer.name for broker, card in self.landmark.roll.agents.items()}
        return {seat.seat: names[seat.holder] for seat in self.landmark.roll.seats.values()}

    def told(self) -> list[tuple[bytes, int]]:
        """Who was sent which version of the directory since the last call."""
        return [(to, head.version) for to, head in self.links.take() if isinstance(head, DomainDirectory)]


def domain(*spares: str, seated: int = 4) -> Hill:
    """A domain of b1 (the landmark) to b4, with spares."""
    hill = Hill()
    hill.announce(*(card_of(f"b{number}") for number in range(1, seated + 1)))
    hill.announce(*(card_of(name, spare=True) for name in spares))
    return hill


def keys_of(writes: list[Write]) -> list[bytes]:
    return [write.key for write in writes if isinstance(write, Put)]


# Who is there ----------------------------------------------------------------------------------------------------
def test_announcement_makes_an_agent_and_a_seat_in_one_operation() -> None:
    hill = Hill(patient=True)
    hill.hears(Announce("d", card_of("b2"), 0))
    (operation,) = hill.groups.operations
    assert keys_of(operation[2]) == [b"g" + id_of("b2"), b"sb2", b"v"]
    assert hill.held() == {"b2": "b2"}
    assert id_of("b2") in hill.links.pinned


def test_nobody_hears_what_is_not_on_all_copies() -> None:
    hill = Hill(patient=True)
    hill.hears(Announce("d", card_of("b2"), 0))
    hill.hears(Announce("d", card_of("b2"), 0))
    assert hill.told() == []
    assert (hill.landmark.told.version, hill.landmark.told.agents) == (0, ())
    hill.commit()
    assert hill.told() == [(id_of("b2"), 1)]
    assert hill.landmark.told.agents == (card_of("b2"),)


def test_spare_is_an_agent_without_a_seat() -> None:
    hill = Hill()
    hill.announce(card_of("s1", spare=True))
    assert (hill.held(), len(hill.rows)) == ({}, 2)


def test_repeated_announcement_writes_nothing_and_is_answered_if_its_directory_is_old() -> None:
    hill = domain()
    version = hill.landmark.told.version
    hill.hears(Announce("d", card_of("b2"), version))
    assert hill.told() == []
    hill.hears(Announce("d", card_of("b2"), version - 1))
    assert hill.told() == [(id_of("b2"), version)]
    assert hill.landmark.roll.version == version


@pytest.mark.parametrize(
    ("changed", "written"),
    [
        ({"capacity": 1099}, False),
        ({"capacity": 1112}, True),
        ({"capacity": 900}, True),
        ({"fitness": 901, "capacity": 1000}, False),
        ({"fitness": 900, "capacity": 1000}, True),
        ({"capability": 1001, "capacity": 1000}, True),
    ],
    ids=["capacity-little", "capacity-more", "capacity-less", "fitness-little", "fitness-less", "capability"],
)
def test_only_notable_changes_are_written(changed: dict[str, int], written: bool) -> None:
    hill = Hill()
    hill.announce(card_of("b2", capacity=1000))
    hill.announce(msgspec.structs.replace(card_of("b2"), **changed))
    assert hill.landmark.roll.version == 1 + written


def test_seats_beyond_the_bound_are_not_given() -> None:
    hill = Hill()
    hill.announce(*(card_of(f"n{number}") for number in range(SEATS_PER_DOMAIN_MAX + 2)))
    assert len(hill.landmark.roll.seats) == SEATS_PER_DOMAIN_MAX
    assert len(hill.landmark.roll.agents) == SEATS_PER_DOMAIN_MAX + 2


def test_agents_are_bounded_and_who_is_gone_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.agents.landmark.AGENTS_PER_DOMAIN_MAX", 5)
    hill = domain("s1", "s2", seated=3)
    hill.announce(card_of("late", spare=True))
    assert id_of("late") not in hill.landmark.roll.agents
    hill.hears(Distances("d", id_of("s1"), ((id_of("b2"), 5),)))
    hill.fail("s1")
    hill.announce(card_of("late", spare=True))
    assert [card.peer.name for card in hill.landmark.roll.agents.values()] == ["b1", "b2", "b3", "s2", "late"]
    assert b"g" + id_of("s1") not in hill.rows
    assert hill.landmark.seating._trips == {}
    hill.fail("late")
    hill.links.down.discard(id_of("s1"))  # nobody told us that it is back: it was no agent
    hill.announce(card_of("s1", spare=True))
    hill.fail("b3")
    assert hill.held()["b3"] in ("s1", "s2")
    assert not hill.landmark.seating.failures.has_failed(id_of("s1")), "it begins anew"


def test_seated_agent_makes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.agents.landmark.AGENTS_PER_DOMAIN_MAX", 3)
    hill = domain(seated=3)
    hill.fail("b3")
    hill.announce(card_of("late", spare=True))
    assert id_of("b3") in hill.landmark.roll.agents
    assert id_of("late") not in hill.landmark.roll.agents


# Failures --------------------------------------------------------------------------------------------------------
def test_seat_of_a_failed_broker_is_given_to_a_spare_and_told_when_it_is_written() -> None:
    hill = domain("s1")
    hill.patient = True
    hill.fail("b4")
    assert hill.held()["b4"] == "s1"
    assert hill.told() == []
    hill.commit()
    version = hill.landmark.told.version
    assert sorted(hill.told()) == sorted((id_of(name), version) for name in ("b2", "b3", "s1"))
    assert {seat.seat: seat.since for seat in hill.landmark.told.seats}["b4"] == version
    assert [step for step in hill.steps if step[0] in (Step.BROKER_FAILED, Step.SEAT_TAKEN)] == [
        (Step.BROKER_FAILED, "b4"),
        (Step.SEAT_TAKEN, "s1"),
    ]


def test_all_empty_seats_go_to_different_spares_in_one_operation() -> None:
    hill = domain("s1", "s2", "s3", seated=6)
    hill.patient = True
    hill.lose("b4")
    hill.now += 10 * MILLISECOND  # their links break one after the other
    hill.lose("b5")
    hill.now += 10 * MILLISECOND
    hill.lose("b6")
    hill.now += SETTLE - 20 * MILLISECOND
    hill.look()
    (operation,) = hill.groups.operations
    deaths = [b"d" + id_of(name) for name in ("b4", "b5", "b6")]
    assert keys_of(operation[2]) == [b"sb4", b"sb5", b"sb6", *deaths, b"v"]
    held = hill.held()
    assert {held["b4"], held["b5"], held["b6"]} == {"s1", "s2", "s3"}


def test_seats_beyond_the_spares_stay_with_who_had_them_until_a_spare_comes() -> None:
    hill = domain("s1")
    hill.fail("b3", "b4")
    assert sorted([hill.held()["b3"], hill.held()["b4"]])[1] == "s1"
    hill.announce(card_of("s2", spare=True))
    assert {hill.held()["b3"], hill.held()["b4"]} == {"s1", "s2"}


def test_link_that_only_we_lost_is_no_failure() -> None:
    hill = domain("s1")
    hill.link("b4", up=False)
    hill.now += 60 * SECOND
    hill.look()
    assert hill.held()["b4"] == "b4"
    hill.hears(LinkReport("d", id_of("b2"), id_of("b4"), False))
    assert hill.held()["b4"] == "s1"


def test_link_that_only_another_lost_is_no_failure_but_is_traced_once() -> None:
    hill = domain("s1")
    for _ in range(2):
        hill.hears(LinkReport("d", id_of("b2"), id_of("b4"), False))
    hill.now += 60 * SECOND
    hill.look()
    assert hill.held()["b4"] == "b4"
    assert hill.steps.count((Step.LINK_FAILED, "b4")) == 1


def test_report_that_was_withdrawn_confirms_nothing() -> None:
    hill = domain("s1")
    hill.lose("b4")
    hill.hears(LinkReport("d", id_of("b2"), id_of("b4"), True))
    hill.now += 60 * SECOND
    hill.look()
    assert hill.held()["b4"] == "b4"


def test_broker_that_returns_finds_its_seat_taken_and_is_a_spare() -> None:
    hill = domain("s1")
    hill.fail("b4")
    hill.links.take()
    hill.link("b4", up=True)
    assert hill.told() == [(id_of("b4"), hill.landmark.told.version)]
    hill.announce(card_of("b4"))
    assert hill.held()["b4"] == "s1"
    hill.fail("b3")
    assert hill.held()["b3"] == "b4"


def leaving(name: str) -> AgentCard:
    return msgspec.structs.replace(card_of(name), leaving=True)


def test_broker_that_leaves_is_forgotten_with_its_seat_and_told_so_when_it_says_it_again() -> None:
    hill = domain("s1")
    hill.announce(leaving("b3"))
    assert "b3" not in hill.held()
    assert "s1" not in hill.held().values(), "nobody takes its place"
    hill.fail("b3")
    hill.gain(epoch=6)
    hill.look()
    assert (hill.landmark.statistics(hill.now)["failed"], hill.landmark.statistics(hill.now)["flapping"]) == ([], [])
    assert Step.BROKER_FAILED not in [step for step, _ in hill.steps]
    hill.links.take()
    hill.hears(Announce("d", leaving("b3"), 0))
    assert hill.told() == [(id_of("b3"), hill.landmark.told.version)]
    assert id_of("b3") not in {card.peer.id for card in hill.landmark.told.agents}


def test_broker_that_left_and_is_back_has_a_seat_and_has_never_failed() -> None:
    hill = domain()
    hill.announce(leaving("b3"), card_of("b3"))
    assert hill.held()["b3"] == "b3"
    assert (hill.landmark.statistics(hill.now)["failed"], hill.landmark.statistics(hill.now)["flapping"]) == ([], [])


def test_seat_of_a_failed_broker_whose_holder_leaves_goes_to_another_spare() -> None:
    hill = domain("s1", "s2")
    hill.fail("b3")
    first = hill.held()["b3"]
    hill.announce(leaving(first))
    assert {first, hill.held()["b3"]} == {"s1", "s2"}


def test_broker_that_flaps_gets_no_seat_until_a_minute_is_over() -> None:
    hill = domain("s1")
    for _ in range(2):
        hill.fail("b4")
        hill.link("b4", up=True)
    assert hill.landmark.statistics(hill.now)["flapping"] == ["b4"]
    hill.fail("b3")
    assert hill.held()["b3"] == "b3"
    hill.now += FLAP_SPAN
    hill.look()
    assert hill.held()["b3"] == "b4"


def test_broker_that_flaps_gets_no_seat_of_the_next_landmark_either_until_a_minute_after_that_began() -> None:
    hill = domain("s1")
    hill.fail("b4")
    hill.link("b4", up=True)
    before = hill.landmark.told.version
    hill.fail("b4")
    hill.link("b4", up=True)
    assert hill.landmark.told.version == before  # nobody else has to know
    hill.now += FLAP_SPAN // 2
    hill.gain(epoch=6)
    assert hill.landmark.statistics(hill.now)["flapping"] == ["b4"]
    hill.fail("b3")
    hill.now += FLAP_SPAN - SECOND
    hill.look()
    assert hill.held()["b3"] == "b3"
    hill.now += SECOND
    hill.look()
    assert hill.held()["b3"] == "b4"
    assert [key for key in hill.rows if key[:1] == b"d"] == []


def test_broker_whose_link_was_closed_and_came_up_again_without_a_word_has_not_failed() -> None:
    hill = domain("s1")
    hill.links.down.add(id_of("b4"))
    hill.gain(epoch=6)
    hill.links.down.discard(id_of("b4"))
    hill.hears(LinkReport("d", id_of("b2"), id_of("b4"), False))
    hill.now += 60 * SECOND
    hill.look()
    assert hill.held()["b4"] == "b4"
    assert hill.landmark.statistics(hill.now)["failed"] == []
    assert "b4" in [card.peer.name for card in hill.landmark.voters()]


def test_spare_that_is_down_gets_nothing() -> None:
    hill = domain("s1", "s2")
    hill.link("s1", up=False)
    hill.fail("b4")
    assert hill.held()["b4"] == "s2"


def test_nearest_spare_is_chosen_by_what_those_measured_that_lost_the_failed_one() -> None:
    hill = domain("s1", "s2")
    far, near = (id_of("s1"), 50 * MILLISECOND), (id_of("s2"), MILLISECOND)
    hill.hears(Distances("d", id_of("b2"), (far, near)))
    hill.hears(Distances("d", id_of("b3"), ((id_of("s2"), 3600 * SECOND),)))  # lost nothing: does not count
    hill.fail("b4", by="b2")
    assert hill.held()["b4"] == "s2"
    assert [(to, head.about) for to, head in hill.links.take() if isinstance(head, Measure)] == [
        (id_of("b2"), (id_of("s1"),))
    ]


# Who may decide --------------------------------------------------------------------------------------------------
def test_landmark_without_a_majority_decides_nothing_and_does_when_it_has_one() -> None:
    hill = domain("s1")
    hill.groups.mine[GROUP] = False
    hill.link("b4", up=False)
    hill.landmark.seating.failures.reported(id_of("b4"), id_of("b2"))
    hill.now += SECOND
    hill.look()
    assert (hill.held()["b4"], hill.landmark.next_deadline()) == ("b4", None)
    hill.groups.mine[GROUP] = True
    hill.look()
    assert hill.held()["b4"] == "s1"


def test_new_landmark_goes_on_with_the_roll_and_says_so_to_all() -> None:
    hill = domain("s1")
    hill.fail("b4")
    before, version = hill.held(), hill.landmark.roll.version
    hill.links.take()
    hill.gain(epoch=9)
    assert (hill.held(), hill.landmark.roll.version, hill.landmark.told.term) == (before, version, 9)
    assert (id_of("s1"), version) in hill.told()
    assert hill.steps[-1] == (Step.LANDMARK, "b1")


def test_new_landmark_looks_after_brokers_that_failed_before_its_time() -> None:
    hill = domain("s1")
    hill.links.down.add(id_of("b4"))
    hill.gain(epoch=9)
    hill.hears(LinkReport("d", id_of("b2"), id_of("b4"), False))
    assert hill.landmark.next_deadline() == hill.now + SETTLE
    hill.now += SETTLE
    hill.look()
    assert hill.held()["b4"] == "s1"


def test_voters_are_the_living_agents_and_we_first_while_nobody_is_much_better() -> None:
    hill = domain("s1")
    hill.fail("b4")
    assert hill.landmark.voters()[0].peer.name == "b1"
    assert {card.peer.name for card in hill.landmark.voters()} == {"b1", "b2", "b3", "s1"}
    hill.announce(card_of("s1", spare=True, capability=1250))
    assert hill.landmark.voters()[0].peer.name == "s1"


# What agents say -------------------------------------------------------------------------------------------------
def test_strangers_report_and_measure_nothing() -> None:
    hill = domain("s1")
    hill.link("b4", up=False)
    hill.hears(LinkReport("d", id_of("stranger"), id_of("b4"), False))
    hill.hears(LinkReport("d", id_of("b2"), id_of("stranger"), False))
    hill.hears(Distances("d", id_of("stranger"), ((id_of("b2"), 5),)))
    hill.hears(Distances("d", id_of("b2"), ((id_of("stranger"), 5),)))
    hill.now += 60 * SECOND
    hill.look()
    assert hill.held()["b4"] == "b4"
    assert hill.landmark.seating._trips == {}


def test_groups_all_of_whose_holders_failed_are_named() -> None:
    hill = domain()
    box = Holding(key_of("box"), "box", 3, id_of("b3"), (id_of("b3"), id_of("b4")))
    hill.hears(Holdings("d", id_of("b3"), 4, (box,)))
    assert hill.landmark.statistics(hill.now)["groups"] == 0, "meant for the landmark before us"
    hill.hears(Holdings("d", id_of("b3"), 5, (box,)))
    hill.fail("b4")
    known = hill.landmark.statistics(hill.now)
    assert (known["failed"], known["flapping"], known["groups"], known["lost"]) == (["b4"], [], 1, [])
    hill.fail("b3")
    assert hill.landmark.statistics(hill.now)["lost"] == ["box"]


def test_next_landmark_can_name_what_was_lost_with_the_last_one() -> None:
    hill = Hill()
    hill.announce(card_of("b1"), card_of("b2"), card_of("b3"), card_of("b4"))
    version = hill.landmark.told.version
    box, crate, ended = (
        Holding(key_of(name), name, 3, id_of("b3"), (id_of("b3"), id_of("b4"))) for name in ("box", "crate", "ended")
    )
    hill.hears(Holdings("d", id_of("b3"), 5, (box, ended)))
    due = hill.landmark.next_deadline()
    assert due == hill.now + HELD_WRITTEN_AFTER
    hill.now += HELD_WRITTEN_AFTER // 2
    hill.hears(Holdings("d", id_of("b4"), 5, (crate, msgspec.structs.replace(ended, epoch=4, members=()))))
    assert not [key for key in hill.rows if key[:1] == b"h"], "they are gathered"
    hill.now = due
    hill.look()
    assert sorted(key for key in hill.rows if key[:1] == b"h") == sorted(
        b"h" + key_of(name) for name in ("box", "crate")
    )
    assert (hill.landmark.told.version, hill.told()) == (version, []), "nobody is told"
    hill.hears(Holdings("d", id_of("b3"), 5, (box,)))
    assert hill.landmark.next_deadline() != hill.now + HELD_WRITTEN_AFTER, "no news"
    hill.gain(epoch=6)
    hill.fail("b3", "b4")
    assert hill.landmark.statistics(hill.now)["lost"] == ["box", "crate"]


def test_group_with_copies_in_other_domains_is_lost_when_our_links_to_those_are_broken_too() -> None:
    hill = domain()
    box = Holding(key_of("box"), "box", 3, id_of("b3"), (id_of("b3"), id_of("elsewhere")))
    hill.hears(Holdings("d", id_of("b3"), 5, (box,)))
    hill.fail("b3")
    assert hill.landmark.statistics(hill.now)["lost"] == []
    hill.groups.suspected.add(id_of("elsewhere"))
    assert hill.landmark.statistics(hill.now)["lost"] == ["box"]


def test_bottlenecks_are_shown_with_their_brokers_while_they_last_and_only_of_agents() -> None:
    hill = domain()
    slow = Bottleneck("box", BottleneckKind.CONSUMER, "'app' holds 10 messages", 7 * SECOND)
    hill.hears(Bottlenecks("d", id_of("b3"), (slow,)))
    hill.hears(Bottlenecks("d", id_of("stranger"), (slow,)))
    hill.now += 2 * SECOND
    line = {"about": "box", "broker": "b3", "kind": "consumer", "note": "'app' holds 10 messages", "seconds": 9}
    assert hill.landmark.statistics(hill.now)["bottlenecks"] == [line]
    hill.hears(Bottlenecks("d", id_of("b3"), ()))
    assert hill.landmark.statistics(hill.now)["bottlenecks"] == []


# Items -----------------------------------------------------------------------------------------------------------
ITEM = ALL_ITEMS[0]


def measured(hill: Hill) -> list[PlanItems]:
    """b3 owns an item to which much is published; what the landmark has computed."""
    held = Holding(key_of(ITEM), ITEM, 3, id_of("b3"), (id_of("b3"), id_of("b4")))
    hill.hears(Holdings("d", id_of("b3"), 5, (held,)))
    plans: list[PlanItems] = []
    for _ in range(WINDOWS_MIN):
        hill.hears(ItemRates("d", id_of("b3"), 5 * SECOND, ((ITEM, 500),)))
        hill.now += 5 * SECOND
        turn = Turn(hill.now)
        hill.landmark.reconsider(turn)
        plans += turn.effects.plans
    return plans


def planned(owner: int = 0, mirror: int = 1, items: tuple[str, ...] = (ITEM,)) -> PlannedItems:
    seats = ("b1", "b2", "b3", "b4")
    risks = (0,) * len(seats)
    return PlannedItems(
        items=items, brokers=seats, owners=(owner,), mirrors=(mirror,), version="v", feasible=True, risks=risks
    )


def policies(hill: Hill) -> list[tuple[bytes, int]]:
    """Who was sent which policy since the last call."""
    return [(to, head.version) for to, head in hill.links.take() if isinstance(head, ItemPolicy)]


def test_places_are_computed_from_what_owners_report() -> None:
    hill = domain()
    (plan,) = measured(hill)
    assert plan.group == GROUP
    assert (plan.request.items, plan.request.owners, plan.request.mirrors) == ((ITEM,), (2,), (3,))
    assert plan.request.samples == ((100,),) * WINDOWS_MIN


def test_policy_is_told_when_it_is_on_all_copies_and_known_to_the_next_landmark() -> None:
    hill = domain("s1")
    hill.patient = True
    turn = Turn(hill.now)
    hill.landmark.on_planned(turn, planned())
    hill._note(turn)
    assert (int(Step.PLACED), "b1") in hill.steps
    assert not policies(hill)
    hill.commit()
    version = hill.landmark.roll.version
    assert policies(hill) == [(id_of(name), version) for name in ("b2", "b3", "b4", "s1")]
    hill.gain(epoch=6)
    assert hill.landmark.policy == (version, planned())
    hill.links.take()
    hill.hears(Announce("d", card_of("b2"), version, 0))
    assert policies(hill) == [(id_of("b2"), version)]
    hill.hears(Announce("d", card_of("b2"), version, version))
    assert not policies(hill)


@pytest.mark.parametrize(
    "plan", [planned(), planned(owner=9), planned(items=("box",))], ids=["same", "broken", "no-item"]
)
def test_same_policy_or_a_broken_one_is_not_written(plan: PlannedItems) -> None:
    hill = domain()
    hill.landmark.on_planned(Turn(hill.now), planned())
    hill.commit()
    before = hill.landmark.roll.version
    hill.landmark.on_planned(Turn(hill.now), plan)
    assert hill.landmark.roll.version == before


def test_landmark_that_may_not_write_has_no_policy() -> None:
    hill = domain()
    hill.groups.mine[GROUP] = False
    hill.landmark.on_planned(Turn(hill.now), planned())
    assert hill.landmark.roll.policy is None


def proposed(hill: Hill, plan: PlannedItems) -> list[PolicyTaken]:
    """What the client that proposes a policy hears; also once all copies have it."""
    turn = Turn(hill.now)
    hill.landmark.on_proposed(turn, plan, Asker(7, 3))
    assert not (hill.groups.operations and turn.effects.sends)
    while hill.groups.operations:
        then, _, _ = hill.groups.operations.pop(0)
        then(turn)
    return [send.head for send in turn.effects.sends if send.conn == 7 and isinstance(send.head, PolicyTaken)]


def test_policy_that_somebody_proposes_is_taken_and_answered_when_it_is_on_all_copies() -> None:
    hill = domain()
    measured(hill)
    (answer,) = proposed(hill, planned())
    assert answer == PolicyTaken(3, "d", hill.landmark.roll.version)
    assert hill.landmark.policy == (answer.version, planned())
    assert proposed(hill, planned()) == [answer]  # again: nothing is written, and that is no fault


def test_policy_that_is_proposed_again_before_it_is_on_all_copies_is_answered_when_it_is() -> None:
    hill = domain()
    measured(hill)
    hill.patient = True
    turn = Turn(hill.now)
    for token in (3, 4):
        hill.landmark.on_proposed(turn, planned(), Asker(7, token))
    assert not turn.effects.sends
    answers = [answer.token for answer in proposed(hill, planned())]
    assert answers == [3, 4, 3]
    assert hill.landmark.policy == (hill.landmark.roll.policy_version, planned())


def test_who_proposed_a_policy_hears_that_another_broker_is_landmark_before_it_was_on_all_copies() -> None:
    hill = domain()
    measured(hill)
    hill.patient = True
    hill.landmark.on_proposed(Turn(hill.now), planned(), Asker(7, 3))
    turn = Turn(hill.now)
    hill.landmark.lose(turn)
    (answer,) = [send.head for send in turn.effects.sends if send.conn == 7]
    assert isinstance(answer, PolicyTaken)
    assert (answer.token, answer.domain, answer.version, answer.code) == (3, "d", 0, Code.NOT_OWNER)
    assert "causeway status" in answer.detail
    assert hill.links.pinned == [], "another one sees after the agents"


def test_proposed_policy_is_kept_until_the_load_has_changed() -> None:
    hill = domain()
    measured(hill)
    proposed(hill, planned())
    assert not [plan for _ in range(12) for plan in measured(hill)]


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (planned(owner=9), "a number that nobody has"),
        (planned(items=()), "owners and mirrors"),
        (msgspec.structs.replace(planned(), items=(ALL_ITEMS[9],)), ALL_ITEMS[9]),
        (msgspec.structs.replace(planned(), items=(), owners=(), mirrors=()), "is missing"),
        (msgspec.structs.replace(planned(), brokers=("b1", "b2", "b3", "x")), "'x' is none"),
        (msgspec.structs.replace(planned(), risks_after=((0,) * 4,) * 5), "risks_after: 5 of them"),
    ],
    ids=["broken", "uneven", "strange-item", "no-item", "strange-seat", "too-much"],
)
def test_proposal_that_does_not_fit_is_refused_by_name(plan: PlannedItems, named: str) -> None:
    hill = domain()
    measured(hill)
    (answer,) = proposed(hill, plan)
    assert answer.code == Code.BAD_FIELD
    assert named in answer.detail
    assert hill.landmark.policy is None


def test_landmark_that_may_not_write_takes_no_proposal() -> None:
    hill = domain()
    measured(hill)
    hill.groups.mine[GROUP] = False
    (answer,) = proposed(hill, planned())
    assert answer.code == Code.UNAVAILABLE
