"""Slow work: idle links, stale routing entries, missing brokers, and rings that grow together again."""

from __future__ import annotations

import random

import pytest

from causeway.core.machine import Turn
from causeway.core.messages import Hail, JoinRequest, Leaves
from causeway.types import MILLISECOND, SECOND, Key
from tests.unit.core.overlay.ringworld import World


def names(count: int) -> list[str]:
    return [f"broker-{number}" for number in range(count)]


def each_side_is_right(world: World) -> bool:
    """Every broker's leaf set is right among those it can reach."""
    for broker in world.alive():
        side = world.sides.get(broker.peer.name)
        ring = sorted(other.id for other in world.alive() if world.sides.get(other.peer.name) == side)
        at = ring.index(broker.id)
        true = {ring[(at + step) % len(ring)] for step in range(-8, 9)} - {broker.id}
        if {peer.id for peer in broker.overlay.leaf_set()} != true:
            return False
    return True


@pytest.mark.parametrize(("seed", "parts"), [(0, 2), (1, 3), (2, 5)])
def test_parts_of_a_partition_serve_alone_and_merge_afterwards(seed: int, parts: int) -> None:
    world = World(seed)
    world.grow(24)
    shuffled = names(24)
    random.Random(seed).shuffle(shuffled)
    world.split(*(shuffled[part::parts] for part in range(parts)))
    world.run_until(lambda: each_side_is_right(world), 10 * SECOND)
    world.run(5 * SECOND)
    world.heal()
    world.run_until(world.leaf_sets_are_right, 15 * SECOND)


def test_ring_cut_in_the_middle_merges_although_the_halves_do_not_interleave() -> None:
    world = World(3)
    brokers = world.grow(44)
    order = [broker.peer.name for broker in sorted(brokers, key=lambda broker: broker.id)]
    world.split(order[:22], order[22:])
    world.run_until(lambda: each_side_is_right(world), 10 * SECOND)
    world.heal()
    world.run_until(world.leaf_sets_are_right, 15 * SECOND)


@pytest.mark.parametrize("rings", [2, 3])
def test_rings_that_grew_apart_merge_though_most_never_met(rings: int) -> None:
    world = World(rings)
    world.grow(2 * rings)
    world.run(SECOND)
    sides = [names(2 * rings)[side::rings] for side in range(rings)]
    world.split(*sides)
    world.run(4 * SECOND)
    for number in range(30):
        side = number % rings
        world.sides[f"new-{number}"] = side
        world.add(f"new-{number}", seeds=((sides[side][0], 7000),))
        world.run(30 * MILLISECOND)
    world.run_until(lambda: world.all_active() and each_side_is_right(world), 15 * SECOND)
    world.heal()
    world.run_until(world.leaf_sets_are_right, 15 * SECOND)


def test_large_rings_that_know_each_other_in_one_place_only_find_their_neighbours() -> None:
    world = World(11, heartbeat=SECOND, silence=4 * SECOND)
    world.grow(2)
    world.run(SECOND)
    world.split(["broker-0"], ["broker-1"])
    world.run(8 * SECOND)
    for number in range(80):
        side = number % 2
        world.sides[f"new-{number}"] = side
        world.add(f"new-{number}", seeds=((f"broker-{side}", 7000),))
        world.run(30 * MILLISECOND)
    world.run_until(lambda: world.all_active() and each_side_is_right(world), 15 * SECOND)
    world.heal()
    world.run_until(world.leaf_sets_are_right, 20 * SECOND)


def test_broker_that_returns_is_asked_for_our_neighbours_on_its_side() -> None:
    world = World(12)
    world.grow(6)
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)
    world.run(SECOND)
    target, first, second = (world.brokers[name].peer for name in ("broker-0", "broker-1", "broker-2"))
    overlay = world.brokers["broker-0"].overlay
    turn = Turn(world.now)
    for gone in (first, second):
        overlay.on_peer_down(turn, gone)
    turn.effects.sends.clear()
    for back in (first, second):
        overlay.on_message(turn, back, Hail(active=True, wants_reply=False))
    said = [send.head for send in turn.effects.sends]
    assert said.count(JoinRequest(target, 0)) == 1, "one search at a time is enough"
    assert sum(isinstance(head, Leaves) and head.wants_reply for head in said) == 2
    assert {first.id, second.id} <= {peer.id for peer in overlay.leaf_set()}


def test_short_outage_of_one_link_heals_quickly() -> None:
    world = World(5)
    world.grow(6)
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)
    world.split(["broker-2"], [name for name in names(6) if name != "broker-2"])
    world.run(2500 * MILLISECOND)
    assert not world.leaf_sets_are_right()
    world.heal()
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)


def test_brokers_that_stay_away_are_asked_for_a_few_times_per_second_at_most() -> None:
    world = World(6)
    world.grow(20)
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)
    for name in names(20)[3:]:
        world.kill(name)
    world.run(30 * SECOND)
    dials = {name: world.dials.get(name, 0) for name in names(3)}
    world.run(20 * SECOND)
    for name, before in dials.items():
        assert 0 < world.dials[name] - before <= 20 * 10


def test_links_that_only_routing_needs_are_closed_when_idle_and_no_broker_is_lost_by_it() -> None:
    world = World(7, heartbeat=2 * SECOND, silence=8 * SECOND)
    brokers = world.grow(60)
    world.run(40 * SECOND)
    before = [broker.membership_changes for broker in brokers]
    world.run(60 * SECOND)
    assert before == [broker.membership_changes for broker in brokers]
    assert world.leaf_sets_are_right()
    assert all(broker.overlay.statistics().missing == 0 for broker in brokers)
    assert sum(broker.links.statistics().brokers_up for broker in brokers) / 60 < 30
    assert all(broker.links.is_up(peer.id) for broker in brokers for peer in broker.overlay.leaf_set())


def test_dead_routing_entries_behind_idle_links_are_found() -> None:
    world = World(8, heartbeat=2 * SECOND, silence=8 * SECOND)
    brokers = world.grow(50)
    world.run(45 * SECOND)
    victims = list(brokers[::10])
    for victim in victims:
        world.kill(victim.peer.name, silently=True)

    def forgotten() -> bool:
        return not any(
            broker.overlay.next_hop(Key(victim.id)) == victim.id for broker in world.alive() for victim in victims
        )

    assert not forgotten()
    world.run_until(forgotten, 600 * SECOND)  # nobody uses them: whoever does finds them at once


def test_routing_tables_fill_up_in_time() -> None:
    world = World(9, heartbeat=2 * SECOND, silence=8 * SECOND)
    brokers = world.grow(80)
    world.run(20 * SECOND)
    first_digits = {broker.id[0] >> 4 for broker in brokers}
    full = 0
    for broker in brokers:
        others = first_digits - {broker.id[0] >> 4}
        reachable = {
            hop[0] >> 4 for digit in others if (hop := broker.overlay.next_hop(Key(bytes([digit << 4 | 8] * 16))))
        }
        full += others <= reachable | {broker.id[0] >> 4}
    assert full >= 60
