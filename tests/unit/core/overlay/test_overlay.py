"""The ring as a whole: routing, responsibility, replica groups, failure, leaving, restart, determinism."""

from __future__ import annotations

import bisect
import hashlib
import math
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from causeway.core.machine import Turn
from causeway.core.messages import Hail, JoinRequest, Leave, Leaves
from causeway.types import MILLISECOND, SECOND, Key, key_of
from tests.unit.core.overlay.ringworld import START, Broker, World, circle_distance

ROOT = Path(__file__).parents[4]


def keys(count: int, seed: int = 0) -> list[Key]:
    rng = random.Random(seed)
    return [Key(rng.randbytes(16)) for _ in range(count)]


# Routing ---------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_1024_brokers_join_and_route_within_the_bound() -> None:
    count = 1024
    # Signs of life of 1,024 brokers in one process cost more than everything else: ask for them seldom.
    world = World(1, heartbeat=10 * SECOND, silence=60 * SECOND)
    brokers = world.grow(count)
    world.run(2 * SECOND)
    by_id = {broker.id: broker.overlay for broker in brokers}
    ring = sorted(by_id)
    rng = random.Random(2)
    hops: Counter[int] = Counter()
    for key in keys(20_000, 3):
        at = rng.choice(ring)
        forwards = 0
        while (hop := by_id[at].next_hop(key)) is not None:
            at = hop
            forwards += 1
        hops[forwards] += 1
        place = bisect.bisect_left(ring, key)
        nearest = min(ring[place - 1], ring[place % count], key=lambda broker, key=key: circle_distance(broker, key))
        assert at == nearest
    bound = math.ceil(math.log(count, 16))
    assert hops.total() == 20_000
    assert sum(n * times for n, times in hops.items()) / hops.total() <= bound
    assert sum(times for n, times in hops.items() if n <= bound + 1) / hops.total() >= 0.999


@pytest.mark.parametrize("count", [1, 2, 3, 9, 17, 18, 60])
def test_every_lookup_ends_at_the_closest_broker(count: int) -> None:
    world = World(count)
    brokers = world.grow(count)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)
    rng = random.Random(count)
    for key in keys(200, count):
        path = world.walk(rng.choice(brokers), key)
        assert path[-1] == world.closest(key)[0]
        apart = [circle_distance(broker, key) for broker in path]
        assert apart == sorted(apart, reverse=True)
        assert len(set(path)) == len(path)


@pytest.mark.parametrize("count", [1, 4, 12, 40])
def test_responsible_and_replica_group_agree_with_brute_force(count: int) -> None:
    world = World(count + 100)
    brokers = world.grow(count)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)
    by_id = {broker.id: broker for broker in brokers}
    for key in keys(150, count):
        closest = world.closest(key, 5)
        for broker in closest[:3]:
            overlay = by_id[broker].overlay
            assert overlay.responsible(key) == by_id[closest[0]].peer
            assert overlay.replica_group(key, 5) == [by_id[one].peer for one in closest]
            assert overlay.replica_group(key, 3) == [by_id[one].peer for one in closest[:3]]
            assert (overlay.next_hop(key) is None) == (broker == closest[0])


def test_responsible_far_away_is_the_best_guess() -> None:
    world = World(5)
    brokers = world.grow(60)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)
    for key in keys(100, 9):
        guess = brokers[0].overlay.responsible(key)
        assert circle_distance(guess.id, key) <= circle_distance(brokers[0].id, key)


def test_broker_not_in_any_ring_answers_for_no_key() -> None:
    world = World(1)
    world.add("lonely", seeds=(("nowhere", 7000),))
    world.run(5 * SECOND)
    overlay = world.brokers["lonely"].overlay
    assert not overlay.active
    assert overlay.replica_group(key_of("x"), 3) == []
    assert overlay.leaf_set() == []
    assert overlay.statistics().phase == "seeking"


def test_near_brokers_are_preferred_in_the_routing_table() -> None:
    world = World(8, heartbeat=5 * SECOND, silence=30 * SECOND)
    brokers = world.grow(100)
    world.run(15 * SECOND)
    chosen, eligible = [], []
    for source in brokers:
        first = source.id[0] >> 4
        for digit in range(16):
            candidates = [other for other in brokers if other.id[0] >> 4 == digit and other is not source]
            hop = source.overlay.next_hop(Key(bytes([digit << 4 | 8]) + bytes(15)))
            taken = next((other for other in candidates if other.id == hop), None)
            if digit != first and taken is not None:
                chosen.append(world.delay(source, taken))
                eligible.append(sum(world.delay(source, other) for other in candidates) / len(candidates))
    assert len(chosen) > 400
    assert sum(chosen) < 0.85 * sum(eligible)


# Failure ---------------------------------------------------------------------------------------------------------
def settled(count: int, seed: int, **config: int) -> World:
    world = World(seed, **config)
    world.grow(count)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)
    return world


def test_killed_broker_is_avoided_at_once_and_its_neighbours_close_the_gap() -> None:
    world = settled(30, 4)
    victim = world.brokers["broker-11"]
    world.kill("broker-11")
    world.run(100 * MILLISECOND)
    for broker in world.alive():
        assert victim.id not in {peer.id for peer in broker.overlay.leaf_set()}
        assert broker.overlay.next_hop(Key(victim.id)) != victim.id
    world.run_until(world.leaf_sets_are_right, SECOND)


def test_silent_broker_is_noticed_by_its_neighbours_after_the_silence() -> None:
    world = settled(12, 4)
    world.kill("broker-5", silently=True)
    died = world.now
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)
    assert SECOND <= world.now - died <= 3 * SECOND


def test_half_of_the_ring_dies_and_the_rest_recovers() -> None:
    world = settled(40, 6)
    for number in range(0, 40, 2):
        world.kill(f"broker-{number}")
    world.run_until(world.leaf_sets_are_right, 15 * SECOND)


def test_all_leaves_on_one_side_die_and_the_gap_is_closed() -> None:
    world = settled(60, 7)
    order = sorted(world.alive(), key=lambda broker: broker.id)
    for broker in order[10:20]:
        world.kill(broker.peer.name)
    world.run_until(world.leaf_sets_are_right, 15 * SECOND)
    for key in keys(100, 7):
        assert world.walk(order[0], key)[-1] == world.closest(key)[0]


def test_membership_changes_are_told() -> None:
    world = settled(6, 8)
    before = {broker.peer.name: broker.membership_changes for broker in world.alive()}
    world.run(20 * SECOND)
    assert before == {broker.peer.name: broker.membership_changes for broker in world.alive()}, "nothing changed"
    world.kill("broker-3")
    world.run(SECOND)
    assert all(broker.membership_changes > before[broker.peer.name] for broker in world.alive())


@pytest.mark.parametrize("seed", [2, 7, 9, 23])  # in some of them a round trip becomes known after the broker has left
def test_broker_that_leaves_is_not_missed(seed: int) -> None:
    world = settled(20, seed)
    leaver = world.brokers["broker-7"]
    leaver.turn(leaver.overlay.leave)
    assert not leaver.overlay.active
    world.run(100 * MILLISECOND)
    known = leaver.overlay.known()
    world.kill("broker-7")
    world.run_until(world.leaf_sets_are_right, SECOND)
    world.run(5 * SECOND)
    assert all(broker.overlay.statistics().missing == 0 for broker in world.alive())
    assert len(known) >= 16, "it remembers the others, should it ever come back"


def test_broker_that_leaves_still_sees_who_takes_over() -> None:
    world = settled(12, 9)
    leaver = world.brokers["broker-7"]
    leaver.turn(leaver.overlay.leave)
    world.kill("broker-3")
    other = world.brokers["broker-5"]
    other.turn(other.overlay.leave)
    world.run(SECOND)
    for key in keys(50, 9):
        heirs = [broker for broker in world.closest(key, 12) if broker not in (leaver.id, other.id)]
        assert [peer.id for peer in leaver.overlay.replica_group(key, 3)] == heirs[:3]
        assert leaver.overlay.next_hop(key) == heirs[0]
    for broker in world.alive():
        assert leaver.id not in {peer.id for peer in broker.overlay.leaf_set()}


def test_broker_that_leaves_sees_the_others_again_after_an_outage() -> None:
    world = settled(6, 9)
    leaver = world.brokers["broker-2"]
    leaver.turn(leaver.overlay.leave)
    others = [name for name in world.brokers if name != "broker-2"]
    world.run(SECOND)
    world.split(["broker-2"], others)
    world.run(4 * SECOND)
    assert leaver.overlay.leaf_set() == []
    world.heal()
    world.run_until(lambda: len(leaver.overlay.leaf_set()) == 5, 10 * SECOND)
    assert not any("broker-2" in {peer.name for peer in world.brokers[name].overlay.leaf_set()} for name in others)


def test_word_of_a_leaving_broker_is_repeated_until_it_is_heard() -> None:
    world = settled(12, 9)
    leaver = world.brokers["broker-2"]
    world.loss = 1.0
    leaver.turn(leaver.overlay.leave)
    world.run(300 * MILLISECOND)
    assert any(leaver.id in {peer.id for peer in broker.overlay.leaf_set()} for broker in world.alive())
    world.loss = 0.3
    world.run(10 * SECOND)
    for broker in world.alive():
        assert broker is leaver or leaver.id not in {peer.id for peer in broker.overlay.leaf_set()}
        assert broker.overlay.statistics().joining == 0


def test_broker_that_left_says_so_when_asked() -> None:
    world = settled(5, 9)
    leaver, other = world.brokers["broker-2"], world.brokers["broker-3"]
    leaver.turn(leaver.overlay.leave)
    for question in (
        JoinRequest(other.peer, 1),
        Hail(active=True, wants_reply=True),
        Leaves(True, True, (), ()),
    ):
        turn = Turn(world.now)
        leaver.overlay.on_message(turn, other.peer, question)
        assert [send.head for send in turn.effects.sends] == [Leave()]
    turn = Turn(world.now)
    leaver.overlay.on_message(turn, other.peer, Hail(active=True, wants_reply=False))
    assert turn.effects.sends == []


# Restart ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("forgetful", [False, True])
def test_broker_with_a_new_store_is_a_new_member_everywhere(forgetful: bool) -> None:
    world = settled(10, 10)
    old = world.brokers["broker-4"]
    world.kill("broker-4")
    world.run(300 * MILLISECOND)
    reborn = world.add("broker-4", store=77, begin=False, seeds=(("broker-0", 7000),))
    reborn.begin(*((), "") if forgetful else (old.overlay.known(), old.overlay.cluster))
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)
    assert old.peer.store != reborn.peer.store
    for broker in world.alive():
        seen = {peer.id: peer for peer in (*broker.overlay.leaf_set(), broker.peer)}
        assert seen[reborn.id] == reborn.peer
        assert broker.overlay.replica_group(Key(reborn.id), 1) == [reborn.peer]


def test_broker_restarted_before_anybody_noticed_its_death_joins_again() -> None:
    world = settled(10, 11)
    world.kill("broker-4", silently=True)
    reborn = world.restart("broker-4", store=5)
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)
    assert all(
        peer.store == 5 for broker in world.alive() for peer in broker.overlay.leaf_set() if peer.id == reborn.id
    )


def test_whole_cluster_comes_back_after_losing_power() -> None:
    world = settled(12, 12)
    cluster = world.brokers["broker-0"].overlay.cluster
    for name in list(world.brokers):
        world.kill(name, silently=True)
    world.run(SECOND)
    for name in list(world.brokers):
        world.restart(name)
        world.run(30 * MILLISECOND)
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)
    assert {broker.overlay.cluster for broker in world.alive()} == {cluster}


# Everything at once ----------------------------------------------------------------------------------------------
def disturb(world: World, rng: random.Random) -> None:
    """One blow of fate."""
    alive = world.alive()
    dead = [broker for broker in world.brokers.values() if not broker.alive]
    draw = rng.random()
    if draw < 0.35 and len(alive) > 6:
        world.kill(rng.choice(alive).peer.name, silently=rng.random() < 0.5)
    elif draw < 0.6 and dead:
        victim = rng.choice(dead)
        world.restart(victim.peer.name, store=victim.peer.store + rng.randrange(2))
    elif draw < 0.7 and len(alive) > 6:
        leaver = rng.choice(alive)
        leaver.turn(leaver.overlay.leave)
        world.run(50 * MILLISECOND)
        world.kill(leaver.peer.name)
    elif draw < 0.8:
        names = list(world.brokers)
        rng.shuffle(names)
        cut = rng.randrange(1, len(names))
        world.split(names[:cut], names[cut:])
    elif draw < 0.9:
        world.heal()
    else:
        seed = rng.choice(alive).peer.name
        name = f"late-{len(world.brokers)}"
        if world.sides:
            world.sides[name] = world.sides.get(seed, 0)
        world.add(name, seeds=((seed, 7000), ("broker-0", 7000)))


@pytest.mark.parametrize("seed", range(6))
def test_churn_loss_and_partitions_end_in_one_right_ring(seed: int) -> None:
    rng = random.Random(seed)
    world = settled(16, seed)
    world.loss = world.duplicate = world.late = 0.02
    for _ in range(25):
        disturb(world, rng)
        world.run(rng.randrange(20, 2000) * MILLISECOND)
    world.loss = world.duplicate = world.late = 0.0
    world.heal()
    if not world.brokers["broker-0"].alive:
        world.restart("broker-0")
    world.run_until(lambda: world.all_active() and world.leaf_sets_are_right(), 30 * SECOND)
    for key in keys(50, seed):
        source = rng.choice(world.alive())
        assert world.closest(key)[0] == walk_around_the_dead(world, source, key)


def walk_around_the_dead(world: World, source: Broker, key: Key) -> bytes:
    """Where a message ends if a hop that fails is noticed by its sender, as links notice it."""
    by_id = {broker.id: broker for broker in world.alive()}
    at = source
    for _ in range(64):
        hop = at.overlay.next_hop(key)
        if hop is None:
            return at.id
        if hop in by_id:
            at = by_id[hop]
        else:
            gone = next(broker.peer for broker in world.brokers.values() if broker.id == hop)
            at.turn(lambda turn, at=at, gone=gone: at.overlay.on_peer_down(turn, gone))
    raise AssertionError("a loop")


# Determinism -----------------------------------------------------------------------------------------------------
def digest(seed: int) -> str:
    """Everything that happened in a small, troubled world, as one number."""
    world = settled(14, seed)
    world.loss = world.duplicate = world.late = 0.02
    rng = random.Random(seed)
    for _ in range(10):
        disturb(world, rng)
        world.run(rng.randrange(20, 1000) * MILLISECOND)
    state = [
        (name, broker.turns, broker.membership_changes, [peer.name for peer in broker.overlay.known()])
        for name, broker in world.brokers.items()
    ]
    return hashlib.sha256(repr((world.frames, world.now, state)).encode()).hexdigest()


def test_same_seed_gives_the_same_world_under_any_hash_seed() -> None:
    code = "from tests.unit.core.overlay.test_overlay import digest; print(digest(3))"
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    seen = {digest(3)}
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        seen.add(run.stdout.strip())
    assert len(seen) == 1


def test_starting_twice_is_a_programming_error() -> None:
    world = World(1)
    broker = world.add("broker-0", founder=True)
    with pytest.raises(AssertionError, match="once"):
        broker.overlay.start(Turn(START), [], "")
