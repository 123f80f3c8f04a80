"""Joining: whoever gets in is known by all its neighbours first, whatever is lost on the way."""

from __future__ import annotations

import pytest

from causeway.core.messages import JoinReply, JoinRequest, Leave, Leaves, RowReply
from causeway.core.overlay.entrance import ALONE_AFTER
from causeway.limits import HEAD_BYTES_MAX, JOINING_MAX, LEAVES_MAX, NAME_BYTES_MAX, NEIGHBOURS_MAX, ROWS_TOLD_MAX
from causeway.types import MILLISECOND, SECOND, Key, Peer, key_of
from causeway.wire.codec import encode_head
from tests.unit.core.overlay.ringworld import Broker, World


def handed_keys_too_early(world: World) -> list[str]:
    """Brokers to whom somebody would send keys though their join is not complete."""
    waiting = [broker for broker in world.alive() if not broker.overlay.active]
    return [
        f"{other.peer.name} -> {broker.peer.name}"
        for broker in waiting
        for other in world.alive()
        if other is not broker
        and (
            other.overlay.next_hop(Key(broker.id)) == broker.id
            or broker.id
            in {peer.id for peer in (*other.overlay.leaf_set(), *other.overlay.replica_group(broker.id, 3))}
        )
    ]


def true_neighbours(world: World, joined: Broker) -> set[bytes]:
    ring = sorted(broker.id for broker in world.alive() if broker.overlay.active)
    at = ring.index(joined.id)
    return {ring[(at + step) % len(ring)] for step in range(-8, 9)} - {joined.id}


def test_founder_is_active_at_once_and_names_its_cluster() -> None:
    worlds = [World(seed) for seed in (1, 2)]
    founders = [world.add("broker-0", founder=True) for world in worlds]
    assert all(founder.overlay.active for founder in founders)
    assert all(int(founder.overlay.cluster, 16) >= 0 for founder in founders)
    assert founders[0].overlay.cluster != founders[1].overlay.cluster
    assert founders[0].membership_changes == 1


def found_after(broker: Broker) -> int:
    return broker.overlay._entrance.found_after


def test_founder_with_seeds_founds_only_after_none_of_them_answered_in_time() -> None:
    world = World(1)
    founder = world.add("broker-0", founder=True, seeds=(("broker-1", 7000), ("broker-2", 7000)))
    waiting = world.add("broker-1", seeds=(("broker-0", 7000),))
    world.run(found_after(founder) - 100 * MILLISECOND)
    assert not founder.overlay.active, "a broker that has no cluster either is no answer, and no reason to hurry"
    world.run(200 * MILLISECOND)
    assert founder.overlay.active
    assert founder.overlay.founded
    world.run_until(lambda: waiting.overlay.active, 5 * SECOND)
    assert waiting.overlay.cluster == founder.overlay.cluster
    assert not waiting.overlay.founded


def test_founder_that_lost_its_storage_comes_back_into_its_cluster_through_its_seeds() -> None:
    world = World(2)
    brokers = world.grow(4)
    cluster = brokers[0].overlay.cluster
    world.kill("broker-0")
    world.run(SECOND)
    again = world.add("broker-0", store=2, founder=True, seeds=(("broker-9", 7000), ("broker-2", 7000)))
    world.run_until(lambda: again.overlay.active, SECOND)
    assert again.overlay.cluster == cluster
    assert not again.overlay.founded
    world.run(2 * found_after(again))
    assert world.leaf_sets_are_right()


def test_founder_does_not_found_while_a_member_of_a_cluster_answers_that_cannot_let_it_in() -> None:
    world = World(3)
    member = world.add("broker-1", begin=False, seeds=(("broker-0", 7000),))
    member.turn(lambda turn: member.links.set_cluster(turn, "c1"))
    member.turn(member.overlay._entrance.seek)
    founder = world.add("broker-0", founder=True, seeds=(("broker-1", 7000),))
    world.run(3 * found_after(founder))
    assert not founder.overlay.active
    assert founder.overlay.cluster == ""


def test_joiner_adopts_the_cluster_and_is_active_only_when_its_neighbours_know_it() -> None:
    world = World(1)
    brokers = world.grow(30)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)
    joiner = world.add("joiner", seeds=(("broker-5", 7000),))
    for _ in range(1000):
        world.run(MILLISECOND)
        assert handed_keys_too_early(world) == []
        if joiner.overlay.active:
            break
    assert joiner.overlay.active
    assert {peer.id for peer in joiner.overlay.leaf_set()} == true_neighbours(world, joiner)
    assert joiner.overlay.cluster == brokers[0].overlay.cluster
    world.run_until(world.leaf_sets_are_right, SECOND)


@pytest.mark.parametrize("seed", range(5))
def test_many_brokers_join_at_the_same_moment_under_loss(seed: int) -> None:
    world = World(seed)
    world.loss = world.duplicate = world.late = 0.03
    world.add("broker-0", founder=True)
    for number in range(1, 24):
        world.add(f"broker-{number}", seeds=(("broker-0", 7000), (f"broker-{number - 1}", 7000)))
    for _ in range(400):
        world.run(5 * MILLISECOND)
        assert handed_keys_too_early(world) == []
    world.run_until(world.leaf_sets_are_right, 20 * SECOND)


@pytest.mark.parametrize("loss", [0.1, 0.3])
def test_join_survives_heavy_loss(loss: float) -> None:
    world = World(3)
    world.grow(10)
    world.loss, world.duplicate, world.late = loss, 0.1, 0.2
    joiner = world.add("joiner", seeds=(("broker-1", 7000),))
    world.run_until(lambda: joiner.overlay.active, 30 * SECOND)


@pytest.mark.parametrize("after", [1, 5, 15, 25, 40, 60])
def test_join_survives_the_death_of_whoever_helps(after: int) -> None:
    world = World(after)
    world.grow(12)
    joiner = world.add("joiner", seeds=(("broker-1", 7000), ("broker-2", 7000)))
    closest = next(broker for broker in world.alive() if broker.id == world.closest(joiner.id, 2)[1])
    world.run(after * MILLISECOND)
    world.kill("broker-1", silently=after % 2 == 0)
    world.kill(closest.peer.name)
    if not world.brokers["broker-2"].alive:
        world.restart("broker-2")
    world.run_until(lambda: joiner.overlay.active, 15 * SECOND)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)


def test_broker_without_a_cluster_keeps_trying_its_seeds() -> None:
    world = World(4)
    early = world.add("early", seeds=(("broker-0", 7000),))
    also = world.add("also", seeds=(("early", 7000), ("broker-0", 7000)))
    world.run(20 * SECOND)
    assert not early.overlay.active
    assert not also.overlay.active, "two that have no cluster do not make one"
    world.add("broker-0", founder=True)
    world.run_until(lambda: early.overlay.active and also.overlay.active, 6 * SECOND)
    world.run_until(world.leaf_sets_are_right, SECOND)


def test_chain_of_brokers_that_wait_for_each_other_gets_in_when_the_first_does() -> None:
    world = World(4)
    for number in range(6, 0, -1):
        world.add(f"broker-{number}", seeds=((f"broker-{number - 1}", 7000),))
    world.run(3 * SECOND)
    world.add("broker-0", founder=True)
    world.run_until(lambda: world.all_active() and world.leaf_sets_are_right(), 15 * SECOND)


def test_member_that_finds_nobody_serves_alone_after_a_second() -> None:
    world = World(5)
    world.grow(3)
    world.run(2 * SECOND)
    for name in list(world.brokers):
        world.kill(name)
    began = world.now
    survivor = world.restart("broker-1")
    assert not survivor.overlay.active
    world.run_until(lambda: survivor.overlay.active, 3 * SECOND)
    assert ALONE_AFTER <= world.now - began <= ALONE_AFTER + 100 * MILLISECOND
    assert survivor.overlay.cluster == world.brokers["broker-0"].overlay.cluster
    world.restart("broker-0")
    world.restart("broker-2")
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)


def test_only_broker_of_a_cluster_is_active_at_once_when_it_restarts() -> None:
    world = World(5)
    world.add("broker-0", founder=True)
    cluster = world.brokers["broker-0"].overlay.cluster
    world.kill("broker-0")
    again = world.restart("broker-0")
    assert again.overlay.active
    assert again.overlay.cluster == cluster


def test_member_joins_the_others_instead_of_serving_alone_when_one_answers() -> None:
    world = World(6)
    world.grow(8)
    world.run(2 * SECOND)
    world.kill("broker-3")
    world.run(SECOND)
    began = world.now
    again = world.restart("broker-3")
    world.run_until(lambda: again.overlay.active, SECOND)
    assert world.now - began < ALONE_AFTER
    assert len(again.overlay.leaf_set()) == 7


def test_member_that_knows_only_its_seeds_finds_the_others_when_they_return() -> None:
    world = World(8)
    world.grow(30)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)
    cluster = world.brokers["broker-0"].overlay.cluster
    world.kill("broker-3")
    others = [name for name in world.brokers if name != "broker-3"]
    world.split(["broker-3"], others)
    alone = world.add("broker-3", begin=False, seeds=(("broker-9", 7000),))
    alone.begin([], cluster)
    world.run_until(lambda: alone.overlay.active, 3 * SECOND)
    assert alone.overlay.leaf_set() == []
    world.run(60 * SECOND)
    world.heal()
    world.run_until(world.leaf_sets_are_right, 20 * SECOND)


def test_fullest_answers_fit_a_frame() -> None:
    def peers(count: int) -> tuple[Peer, ...]:
        name, host = "n" * NAME_BYTES_MAX, "h" * NAME_BYTES_MAX
        return tuple(Peer(key_of(str(number)), name, host, 65535, 1 << 62) for number in range(count))

    rows, near, leaves = peers(ROWS_TOLD_MAX), peers(NEIGHBOURS_MAX), peers(LEAVES_MAX + 1)
    for fullest in (
        JoinReply(1 << 62, "c" * NAME_BYTES_MAX, leaves, peers(JOINING_MAX), rows, near),
        JoinRequest(peers(1)[0], 1 << 62, 64, rows, near),
        Leaves(True, True, leaves, peers(JOINING_MAX), 1 << 62),
        RowReply(31, peers(16)),
        Leave(leaves),
    ):
        assert len(encode_head(fullest)) <= HEAD_BYTES_MAX


def test_brokers_of_two_clusters_do_not_mix() -> None:
    world = World(7)
    world.add("broker-0", founder=True)
    other = world.add("other", founder=True)
    both = world.add("both", seeds=(("broker-0", 7000), ("other", 7000)))
    world.run(10 * SECOND)
    assert both.overlay.active
    joined = {peer.name for peer in both.overlay.leaf_set()}
    assert joined in ({"broker-0"}, {"other"})
    assert len(other.overlay.leaf_set()) + len(world.brokers["broker-0"].overlay.leaf_set()) == 1
