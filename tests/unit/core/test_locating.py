"""The choice of a broker for a client: what each fact is worth, who is never chosen, and when moving pays."""

from __future__ import annotations

import pytest

from causeway.core.locating import WHOLE, Nearby, estimate, is_better, nearby, rank, weigh
from causeway.core.messages import Candidate
from causeway.types import MILLISECOND, Peer, key_of


def broker(name: str = "b", **facts: object) -> Candidate:
    """Alive, empty and near, unless said otherwise."""
    usual: dict[str, object] = {
        "alive": True,
        "ready": True,
        "round_trip": 0,
        "measured": True,
        "nearby": 0,
        "distance": 0,
        "connections": 0,
        "limit": 1000,
        "capability": 1000,
        "started": 1,
    }
    peer = Peer(key_of(name), name, "10.0.0.1", 7400, 1)
    return Candidate(peer, **{**usual, **facts})  # type: ignore[arg-type]


def names(*candidates: Candidate) -> list[str]:
    return [one.peer.name for one in rank(candidates)]


# Terms ----------------------------------------------------------------------------------------------------------
def test_empty_broker_without_distance_has_every_point() -> None:
    one = weigh(broker())
    assert (one.room, one.ease, one.nearness, one.score) == (WHOLE, WHOLE, WHOLE, WHOLE * WHOLE)


@pytest.mark.parametrize(
    ("facts", "term", "value"),
    [
        ({"connections": 250}, "room", 750),
        ({"connections": 999}, "room", 1),
        ({"connections": 1000}, "room", 0),
        ({"connections": 100}, "ease", 500),
        ({"connections": 100, "capability": 2000}, "ease", 666),
        ({"connections": 100, "capability": 500}, "ease", 333),
        ({"round_trip": 10 * MILLISECOND}, "nearness", 500),
        ({"round_trip": 90 * MILLISECOND}, "nearness", 100),
    ],
    ids=str,
)
def test_each_fact_has_its_own_visible_term(facts: dict[str, object], term: str, value: int) -> None:
    one = weigh(broker(**facts))
    assert getattr(one, term) == value
    assert one.score == one.room * one.ease * one.nearness // WHOLE


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"limit": 1000}, {"limit": 100}),
        ({"connections": 10}, {"connections": 40}),
        ({"capability": 3000}, {"capability": 1000}),
        ({"round_trip": 1 * MILLISECOND}, {"round_trip": 5 * MILLISECOND}),
    ],
    ids=["more free slots", "fewer connections", "more capability", "shorter round trip"],
)
def test_all_else_being_equal_each_fact_decides(better: dict[str, int], worse: dict[str, int]) -> None:
    usual = {"connections": 50, "round_trip": 3 * MILLISECOND}
    assert names(broker("a", **{**usual, **worse}), broker("z", **{**usual, **better})) == ["z", "a"]


# Who is chosen --------------------------------------------------------------------------------------------------
def test_new_broker_is_first_among_equals_at_once() -> None:
    old = [broker(name, connections=1) for name in "abc"]
    assert names(*old, broker("new"))[0] == "new"


def test_of_two_that_nobody_uses_the_one_that_started_later_is_first() -> None:
    assert names(broker("a", started=5), broker("b", started=9)) == ["b", "a"]


def test_order_does_not_depend_on_the_order_of_the_facts() -> None:
    found = [broker(name) for name in "cab"]
    assert names(*found) == names(*reversed(found)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "facts",
    [{"alive": False}, {"ready": False}, {"connections": 1000}, {"connections": 1001}, {"limit": 0}],
    ids=["dead", "joining", "full", "over its limit", "without a limit"],
)
def test_broker_that_takes_nobody_has_no_score_and_comes_last(facts: dict[str, object]) -> None:
    poor = broker("poor", connections=900, round_trip=500 * MILLISECOND)
    assert weigh(broker("out", **facts)).score == 0
    assert names(broker("out", **facts), poor) == ["poor", "out"]


def test_facts_that_make_no_sense_break_nothing() -> None:
    assert weigh(broker(connections=-5, capability=0, round_trip=-1)).score > 0


# Addresses ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("client", "host", "near"),
    [
        ("127.0.0.1", "127.0.0.1", Nearby.HOST),
        ("127.0.0.1", "127.0.0.9", Nearby.HOST),
        ("10.1.2.3", "10.1.2.3", Nearby.HOST),
        ("10.1.2.3", "10.1.2.77", Nearby.NETWORK),
        ("10.1.2.3", "10.1.3.3", Nearby.ELSEWHERE),
        ("fe80::1%eth0", "fe80::2", Nearby.NETWORK),
        ("2001:db8:0:1::5", "2001:db8:0:2::5", Nearby.ELSEWHERE),
        ("10.1.2.3", "fe80::1", Nearby.ELSEWHERE),
        ("", "", Nearby.ELSEWHERE),
        ("", "10.1.2.3", Nearby.ELSEWHERE),
        ("10.1.2.3", "broker.example", Nearby.ELSEWHERE),
        ("broker.example", "broker.example", Nearby.HOST),
    ],
)
def test_addresses_say_how_near_two_hosts_are(client: str, host: str, near: Nearby) -> None:
    assert nearby(client, host) == near


def test_same_host_is_estimated_nearer_than_the_same_network_and_that_nearer_than_elsewhere() -> None:
    estimates = [estimate(near, 3 * MILLISECOND) for near in (Nearby.HOST, Nearby.NETWORK, Nearby.ELSEWHERE)]
    assert estimates == sorted(set(estimates))


def test_for_a_client_elsewhere_brokers_far_from_the_one_that_answers_are_taken_for_farther() -> None:
    assert estimate(Nearby.ELSEWHERE, 30 * MILLISECOND) > estimate(Nearby.ELSEWHERE, MILLISECOND)
    assert estimate(Nearby.ELSEWHERE, -1) == estimate(Nearby.ELSEWHERE, 0)
    assert estimate(Nearby.HOST, 30 * MILLISECOND) == estimate(Nearby.HOST, 0)


# Moving ---------------------------------------------------------------------------------------------------------
def better(offer: Candidate, home: Candidate, **how: bool) -> bool:
    return is_better(weigh(offer), weigh(home), **how)


@pytest.mark.parametrize(
    ("offer", "home", "pays"),
    [
        ({"round_trip": 1 * MILLISECOND}, {"round_trip": 40 * MILLISECOND}, True),
        ({"round_trip": 38 * MILLISECOND}, {"round_trip": 44 * MILLISECOND}, False),
        ({"round_trip": 0}, {"round_trip": 4 * MILLISECOND}, False),
        ({"connections": 10}, {"connections": 60}, True),
        ({"connections": 0}, {"connections": 19}, False),
        ({"connections": 500}, {"connections": 530}, False),
        ({"connections": 1, "limit": 4}, {"connections": 3, "limit": 4}, True),
        ({"connections": 900}, {"connections": 1000}, True),
        ({"connections": 1000}, {"connections": 1000}, False),
        ({}, {"ready": False}, True),
        ({"ready": False}, {"connections": 900}, False),
        ({}, {}, False),
    ],
    ids=[
        "much nearer",
        "nearer, but not in proportion",
        "nearer in proportion, but nobody would feel it",
        "much less to do",
        "little less to do",
        "less to do, but not in proportion",
        "more room",
        "home is full",
        "both are full",
        "home is leaving",
        "offer is joining",
        "the same",
    ],
)
def test_moving_pays_only_when_the_offer_is_clearly_better(
    offer: dict[str, object], home: dict[str, object], pays: bool
) -> None:
    assert better(broker("offer", **offer), broker("home", **home)) is pays


def test_client_that_cannot_free_its_connection_moves_for_a_shorter_way_only() -> None:
    assert not better(broker("offer"), broker("home", connections=500), by_load=False)
    assert not better(broker("offer"), broker("home", connections=1000), by_load=False)
    assert better(broker("offer"), broker("home", round_trip=40 * MILLISECOND), by_load=False)
    assert better(broker("offer"), broker("home", ready=False), by_load=False)
