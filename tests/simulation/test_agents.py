"""Domains of real brokers with spares: whoever fails, its seat and its groups are with a spare soon, decided by one."""

from __future__ import annotations

from typing import Any, cast

import pytest

from causeway.core.agents.bottlenecks import HELD_LONG, HELD_OVER_LOOKS
from causeway.core.links.pulse import LINK_IDLE
from causeway.core.node import Node
from causeway.names import seat_name
from causeway.sim.held import Held
from causeway.sim.verdict import Ending
from causeway.trace import Step, TraceRecord
from causeway.types import SECOND, Duration, ServiceClass, key_of
from tests.simulation.domain import NOT_BY_SEATS, Domain
from tests.unit.core.overlay.ringworld import circle_distance


def moved(domain: Domain, seat: str, groups: list[str]) -> bool:
    """Whether the holder of a seat has a whole copy of each of these groups, and the seat's group itself."""
    now, holder = domain.groups(), domain.held()[seat]
    living = {broker.name for broker in domain.cluster.living()}
    return now.get(seat_name(seat), {}).get("owner") == holder and all(
        name in now
        and holder in now[name]["members"]
        and not now[name]["incomplete"]
        and set(now[name]["members"]) <= living
        for name in groups
    )


def test_spare_has_the_seat_and_all_groups_of_a_broker_that_failed_within_three_seconds() -> None:
    domain = Domain(8, 2)
    domain.fill(12)
    victim = domain.seated_but_landmark()[2]
    had = domain.groups_of(victim)
    assert seat_name(victim) in had
    assert sum(name.startswith("box-") for name in had) >= 3
    domain.kill(victim)
    domain.within(3 * SECOND, lambda: domain.is_filled(victim) and moved(domain, victim, had))
    assert domain.held()[victim] in domain.names[6:]
    assert {seat: holder for seat, holder in domain.held().items() if seat != victim} == {
        name: name for name in domain.names[:6] if name != victim
    }
    (seen,) = [view for view in domain.views() if "failed" in view]
    assert (seen["failed"], seen["lost"]) == ([victim], [])


def victims_apart(domain: Domain, count: int) -> list[str]:
    """Seated brokers of which no two hold one group: what has lost its majority can not move."""
    groups = {name: group for name, group in domain.groups().items() if name not in NOT_BY_SEATS}
    found: list[str] = []
    for name in domain.seated_but_landmark():
        apart = not any(name in group["members"] and set(found) & set(group["members"]) for group in groups.values())
        if apart and seat_name(name) in groups and len(found) < count:
            found.append(name)
    assert len(found) == count
    return found


def recovery(count: int) -> tuple[Duration, Duration]:
    """How long it takes until all know who has the seats of so many failed brokers, and until their groups are."""
    domain = Domain(24, 6)
    victims = victims_apart(domain, count)
    had = {victim: domain.groups_of(victim) for victim in victims}
    before = domain.views()[0]["version"]
    domain.kill(*victims)
    seats = domain.within(3 * SECOND, lambda: domain.is_filled(*victims))
    assert {view["version"] for view in domain.views()} == {before + 1}, "one decision"
    assert len({domain.held()[victim] for victim in victims}) == count
    groups = domain.within(5 * SECOND, lambda: all(moved(domain, victim, had[victim]) for victim in victims))
    return seats, seats + groups


def test_five_failures_at_once_take_hardly_longer_than_one() -> None:
    for one, five in zip(recovery(1), recovery(5), strict=True):
        assert 10 * five <= 13 * one


def elsewhere(domain: Domain) -> dict[str, list[str]]:
    """Groups that are not with the holders of the seats closest to them, by brute force."""
    places = [(holder, key_of(seat)) for seat, holder in domain.held().items()]
    found = {}
    for name, group in domain.groups().items():
        near = sorted(places, key=lambda place: circle_distance(place[1], key_of(name)))
        wanted = list(dict.fromkeys(holder for holder, _ in near))[:3]
        if name not in NOT_BY_SEATS and sorted(group["members"]) != sorted(wanted):
            found[name] = group["members"]
    return found


def needless(domain: Domain, node: Node) -> list[str]:
    """Brokers to which a link is kept although nothing is held with them, and they are no neighbours on the ring."""
    fellows = [m.peer.id for group in node._groups._r.groups.values() for m in group.config.members]
    around = [broker for vicinity in node._overlay._vicinities._around.values() for broker in vicinity.named]
    agents = [broker for agent in node._agents._agents.values() for broker in agent._kept]
    leaves = [peer.id for peer in node._overlay.leaf_set()]
    if node._links.me.id == key_of(domain.landmark):
        return []  # sees after all
    needed = {*fellows, *around, *leaves, *agents}
    pinned = node._links._book.pins
    return [name for name in domain.names if key_of(name) in pinned and key_of(name) not in needed]


def test_spares_have_everything_where_most_brokers_are_not_linked_to_each_other() -> None:
    domain = Domain(44, 8)
    domain._pass(LINK_IDLE + 5 * SECOND)  # links that only the joins needed have ended
    victims = victims_apart(domain, 5)
    had = {victim: domain.groups_of(victim) for victim in victims}
    domain.kill(*victims)
    domain.within(5 * SECOND, lambda: all(moved(domain, victim, had[victim]) for victim in victims))
    domain._pass(5 * SECOND)
    assert elsewhere(domain) == {}


def test_landmark_that_fails_with_a_seated_broker_is_replaced_and_the_seat_is_filled() -> None:
    domain = Domain(8, 2)
    landmark, victim = domain.landmark, domain.seated_but_landmark()[0]
    (term,) = {view["term"] for view in domain.views()}
    domain.kill(landmark, victim)
    domain.within(5 * SECOND, lambda: domain.is_filled(victim))
    assert domain.landmark != landmark
    (later,) = {view["term"] for view in domain.views()}
    assert later > term


def test_three_that_fail_at_once_with_all_copies_of_a_group_are_named_though_the_landmark_is_among_them() -> None:
    domain = Domain(11, 3, witnesses=4)
    domain.fill(24)
    old = domain.landmark
    groups = {name: set(group["members"]) for name, group in domain.groups().items() if name not in NOT_BY_SEATS}
    victims = next(members for name, members in groups.items() if name.startswith("box-") and old in members)
    lost = sorted(name for name, members in groups.items() if members <= victims)
    domain.kill(*victims)
    domain.within(5 * SECOND, lambda: domain.is_filled(*victims))
    new = domain.landmark
    assert new != old
    domain.within(SECOND, lambda: domain.seen(new)["lost"] == lost)
    kept = [name for name in groups if name not in lost]
    domain.within(5 * SECOND, lambda: set(kept) <= set(domain.groups()))
    assert not set(lost) & set(domain.groups())
    domain.start(min(victims - {old}))
    domain.within(5 * SECOND, lambda: not domain.seen(new)["lost"] and set(groups) <= set(domain.groups()))


def test_broker_that_returns_and_finds_its_seat_taken_is_a_spare() -> None:
    domain = Domain(8, 2)
    victim = domain.seated_but_landmark()[0]
    domain.kill(victim)
    domain.within(3 * SECOND, lambda: domain.is_filled(victim))
    heir = domain.held()[victim]
    domain.start(victim)
    domain._pass(4 * SECOND)
    assert domain.held()[victim] == heir
    assert domain.groups()[seat_name(victim)]["owner"] == heir
    assert domain.groups_of(victim) == []
    (agent,) = [agent for agent in domain.seen(heir)["agents"] if agent["broker"] == victim]
    assert (agent["seated"], agent["reachable"]) == (False, True)
    assert domain.seen(domain.landmark)["failed"] == []
    other = next(name for name in domain.seated_but_landmark() if name not in (victim, heir))
    domain.kill(*{*domain.names[6:], other} - {heir, domain.landmark})
    domain.within(3 * SECOND, lambda: domain.is_filled(other))
    assert domain.held()[other] in {victim, *domain.names[6:]}


def gives_up(domain: Domain, leaver: str) -> bool:
    """Whether a broker has gone, nobody takes it for failed, and the others do without its seat."""
    domain.cluster.reap()
    (watching,) = [view for view in domain.views() if "failed" in view] or [{"failed": [leaver]}]
    return not domain.broker(leaver).up and leaver not in domain.held() and leaver not in watching["failed"]


def left_quietly(domain: Domain, leaver: str) -> None:
    domain.within(20 * SECOND, lambda: gives_up(domain, leaver))
    domain._pass(6 * SECOND)
    assert gives_up(domain, leaver)
    (watching,) = [view for view in domain.views() if "failed" in view]
    assert (watching["failed"], watching["flapping"], watching["lost"]) == ([], [], [])
    assert leaver not in {agent["broker"] for view in domain.views() for agent in view["agents"]}
    for broker in domain.cluster.living():
        assert broker.machine is not None
        causal = cast("dict[str, Any]", broker.machine.statistics()["causal"])
        assert causal["left"] == [leaver], broker.name


def test_broker_that_leaves_gives_up_its_seat_and_has_not_failed() -> None:
    domain = Domain(5, 1)
    domain.fill(6)
    leaver = domain.seated_but_landmark()[1]
    domain.cluster.leave(domain.broker(leaver))
    left_quietly(domain, leaver)
    assert domain.held() == {name: name for name in domain.names[:4] if name != leaver}, "no spare takes its place"


def test_landmark_that_leaves_is_followed_by_one_that_does_not_take_it_for_failed() -> None:
    domain = Domain(5, 0)
    leaver = domain.landmark
    domain.cluster.leave(domain.broker(leaver))
    left_quietly(domain, leaver)
    assert domain.landmark != leaver


def test_broker_that_leaves_while_the_landmark_fails_is_released_by_the_next_one() -> None:
    domain = Domain(6, 0)
    leaver, landmark = domain.seated_but_landmark()[1], domain.landmark
    domain.cluster.leave(domain.broker(leaver))
    domain.kill(landmark)
    domain.within(20 * SECOND, lambda: gives_up(domain, leaver))
    (watching,) = [view for view in domain.views() if "failed" in view]
    assert watching["failed"] == [landmark]


def test_broker_that_left_and_comes_again_is_seated_as_a_new_one() -> None:
    domain = Domain(4, 0)
    leaver = domain.seated_but_landmark()[0]
    domain.cluster.leave(domain.broker(leaver))
    left_quietly(domain, leaver)
    domain.broker(leaver).gone = False
    domain.start(leaver)
    domain.within(10 * SECOND, lambda: domain.held().get(leaver) == leaver)
    (watching,) = [view for view in domain.views() if "failed" in view]
    assert (watching["failed"], watching["flapping"]) == ([], [])


def test_seat_of_a_broker_that_fails_every_second_moves_once() -> None:
    domain = Domain(8, 2)
    victim = domain.seated_but_landmark()[0]
    versions, shown = [], []
    for _ in range(5):
        domain.kill(victim)
        domain._pass(SECOND)
        versions.append(domain.seen(domain.landmark)["version"])
        shown.append(domain.seen(domain.landmark)["flapping"])
        domain.start(victim)
        domain._pass(SECOND)
    assert len(set(versions)) == 1
    assert shown == [[], *[[victim]] * 4]
    heir = domain.held()[victim]
    assert heir in domain.names[6:]
    spare = next(name for name in domain.names[6:] if name != heir)
    others = [name for name in domain.seated_but_landmark() if name != victim]
    domain.kill(others[0])  # the other spare takes this one
    domain.within(3 * SECOND, lambda: domain.is_filled(others[0]))
    assert domain.held()[others[0]] == spare
    domain.kill(others[1])  # and nobody but the flapping one is left
    domain._pass(6 * SECOND)
    assert domain.held()[others[1]] == others[1]


def test_broker_that_fails_every_second_is_known_to_the_next_landmark_and_no_seat_moves_to_it() -> None:
    domain = Domain(8, 2)
    old, victim = domain.landmark, domain.seated_but_landmark()[0]
    for _ in range(2):
        domain.kill(victim)
        domain._pass(SECOND)
        domain.start(victim)
        domain._pass(SECOND)
    domain.kill(old)
    domain._pass(3 * SECOND)
    new = domain.landmark
    assert (new != old, domain.seen(new)["flapping"]) == (True, [victim])
    holders = domain.held().values()
    spares = [broker.name for broker in domain.cluster.living() if broker.name not in (*holders, victim)]
    other = next(name for name in domain.seated_but_landmark() if name in holders)
    domain.kill(other, *spares)  # nobody but the flapping one is left
    domain._pass(3 * SECOND)
    held, version = domain.held(), domain.seen(domain.landmark)["version"]
    assert held[other] == other
    for _ in range(2):
        domain.kill(victim)
        domain._pass(SECOND)
        domain.start(victim)
        domain._pass(SECOND)
    assert (domain.held(), domain.seen(domain.landmark)["version"]) == (held, version)


def test_landmark_in_a_minority_says_so_and_decides_nothing_and_after_healing_there_is_one() -> None:
    domain = Domain(8, 2)
    old, victim = domain.landmark, domain.seated_but_landmark()[0]
    before = domain.seen(old)["version"]
    domain.cut_off(old, victim, domain.seated_but_landmark()[1])
    domain._pass(4 * SECOND)
    assert "3 of 8 copies reachable" in domain.seen(old)["blocked"]
    assert (domain.seen(old)["version"], domain.seen(old)["landmark"]) == (before, old)
    majority = [name for name in domain.names if domain.seen(name)["blocked"] is None]
    assert len(majority) == 5
    (new,) = {domain.seen(name)["landmark"] for name in majority}
    assert new in majority
    assert domain.held()[victim] in majority
    domain.mend()
    domain._pass(6 * SECOND)
    assert domain.landmark == new
    assert [name for name in domain.names if "failed" in domain.seen(name)] == [new]
    assert {view["blocked"] for view in domain.views()} == {None}
    assert len({view["version"] for view in domain.views()}) == 1


def test_domain_that_lost_its_majority_says_so_and_goes_on_by_itself_when_it_is_back() -> None:
    domain = Domain(8, 2)
    landmark = domain.landmark
    victims = [name for name in domain.names if name != landmark][:5]
    domain.kill(*victims)
    domain._pass(4 * SECOND)
    for broker in domain.cluster.living():
        assert "3 of 8 copies reachable, 5 needed" in domain.seen(broker.name)["blocked"]
    assert domain.held() == {name: name for name in domain.names[:6]}
    domain.start(*victims)
    domain._pass(5 * SECOND)
    assert {view["blocked"] for view in domain.views()} == {None}
    assert domain.seated()
    again = domain.seated_but_landmark()[0]
    domain.kill(again)
    domain.within(5 * SECOND, lambda: domain.is_filled(again))
    assert domain.held()[again] != again


def test_slow_consumer_is_found_by_its_broker_shown_by_the_landmark_and_over_when_it_goes_on() -> None:
    domain = Domain(5, 1)
    traced: list[TraceRecord] = []
    domain.world.on_trace = lambda one: traced.append(one) if one.step == Step.BOTTLENECK else None
    sender, reader = domain.application("sender"), domain.application("reader")
    held: list[Held] = []
    reader.on_letter = held.append
    for application in (sender, reader):
        domain.launch(application)
    domain._pass(SECOND)
    box = domain.mailbox("orders")
    reader.read(box, 10)
    for _ in range(30):
        sender.send(box, ServiceClass.TRANSACTIONAL, 100, timeout=60 * SECOND)

    def shown() -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", domain.seen(domain.landmark)["bottlenecks"])

    domain.within(HELD_LONG + 3 * SECOND, lambda: bool(shown()))
    (found,) = shown()
    assert (found["about"], found["broker"], found["kind"]) == (box, domain.groups()[box]["owner"], "consumer")
    assert "holds 10 messages" in found["note"]
    domain._pass(20 * SECOND)
    assert [one["seconds"] >= 20 for one in shown()] == [True], "it lasts, and is not forgotten"

    def work() -> bool:
        while held:
            reader.settle(held.pop(0))
        return not shown()

    domain.within((HELD_OVER_LOOKS + 2) * SECOND, work)
    assert [(one.source, one.dest, one.first) for one in traced] == [(box, "d", 1), (box, "d", 0)]


def disturbed(brokers: int, spares: int, seed: int, duration: Duration, **faults: object) -> Domain:
    """A domain after crashes and partitions under traffic, healed; no promise was broken."""
    settings = {"workloads": ["transactional", "queue"], "rate": 5.0, "safety": duration, "patience": 60 * SECOND}
    weather = {"partitions": 15.0, "down_max": 4 * SECOND, **faults}
    domain = Domain(brokers, spares, seed=seed, settle=False, **settings, **weather)
    domain.cluster.seating = dict.fromkeys(domain.cluster.seating, ("d",))
    verdict = domain.run()
    assert verdict.code == Ending.OK, verdict.evidence
    return domain


@pytest.mark.parametrize("seed", range(4))
def test_never_two_owners_acknowledge_while_seats_move(seed: int) -> None:
    domain = disturbed(8, 2, seed, 12 * SECOND, crashes=40.0, crash_group_max=2)
    assert any(seat != holder for seat, holder in domain.held().items()), "no seat moved"
    assert len({(view["landmark"], view["term"], view["version"]) for view in domain.views()}) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_find_the_holders_of_seats_in_the_end_however_often_seats_moved(seed: int) -> None:
    domain = disturbed(30, 6, seed, 20 * SECOND, crashes=60.0, crash_group_max=3)
    assert sum(seat != holder for seat, holder in domain.held().items()) > 5
    domain.within(20 * SECOND, lambda: elsewhere(domain) == {})
    domain._pass(20 * SECOND)  # until all that were lost have been found again
    for broker in domain.cluster.living():
        assert isinstance(broker.machine, Node)
        assert needless(domain, broker.machine) == []
