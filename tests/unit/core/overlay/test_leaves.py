"""The leaf set against a brute-force ring."""

from __future__ import annotations

import random

import pytest

from causeway.core.overlay.leaves import HALF, MASK, RING, SIDE, LeafSet, distance, place
from causeway.limits import LEAVES_MAX
from causeway.types import BrokerId, Peer


def peer_at(at: int) -> Peer:
    broker = BrokerId((at & MASK).to_bytes(16, "big"))
    return Peer(broker, broker.hex(), "host", 1, 1)


def spread(count: int, seed: int = 0) -> list[Peer]:
    rng = random.Random(seed)
    return [peer_at(rng.getrandbits(128)) for _ in range(count)]


def true_leaves(me: Peer, others: list[Peer]) -> set[bytes]:
    by_offset = sorted(others, key=lambda peer: (place(peer.id) - place(me.id)) % RING)
    return {peer.id for peer in (*by_offset[:SIDE], *by_offset[-SIDE:])}


def test_distance_goes_the_shorter_way_around() -> None:
    assert distance(1, 4) == distance(4, 1) == 3
    assert distance(0, RING - 1) == 1
    assert distance(0, HALF) == HALF
    assert distance(5, 5) == 0


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 16, 17, 18, 40, 200])
def test_leaf_set_keeps_the_next_brokers_on_both_sides(count: int) -> None:
    me, *others = spread(count + 1, count)
    leaves = LeafSet(me.id)
    displaced = [gone for peer in others if (gone := leaves.add(peer)) is not None]
    assert {peer.id for peer in leaves.members()} == true_leaves(me, others)
    assert len(leaves) == min(count, LEAVES_MAX)
    assert all(gone.id not in leaves for gone in displaced)
    offsets = [(place(broker) - place(me.id)) % RING for broker in leaves.ids()]
    assert offsets == sorted(offsets)


def test_leaf_set_admits_neither_its_owner_nor_who_is_too_far() -> None:
    me = peer_at(0)
    leaves = LeafSet(me.id)
    assert not leaves.admits(me.id)
    assert leaves.add(me) is None
    for step in range(1, SIDE + 1):
        leaves.add(peer_at(10 * step))
        leaves.add(peer_at(-10 * step))
    far, near = peer_at(85), peer_at(75)
    assert not leaves.admits(far.id)
    assert leaves.add(far) is None
    assert far.id not in leaves
    assert leaves.admits(near.id)
    assert leaves.add(near) == peer_at(80)
    assert leaves.admits(near.id), "a member still belongs"


def test_member_that_comes_again_is_updated_in_place() -> None:
    leaves = LeafSet(peer_at(0).id)
    old = peer_at(5)
    new = Peer(old.id, old.name, "elsewhere", 2, 9)
    leaves.add(old)
    assert leaves.add(new) is None
    assert leaves.members() == [new]
    assert leaves.get(old.id) == new
    assert leaves.remove(old.id) == new
    assert leaves.remove(old.id) is None
    assert leaves.get(old.id) is None


def test_sides_and_neighbours() -> None:
    leaves = LeafSet(peer_at(0).id)
    assert leaves.neighbours() == []
    assert leaves.farthest(clockwise=True) is None
    leaves.add(peer_at(10))
    assert leaves.neighbours() == [peer_at(10).id]
    for step in range(1, SIDE + 1):
        leaves.add(peer_at(10 * step))
        leaves.add(peer_at(-10 * step))
    assert leaves.neighbours() == [peer_at(10).id, peer_at(-10).id]
    assert leaves.farthest(clockwise=True) == peer_at(80).id
    assert leaves.farthest(clockwise=False) == peer_at(-80).id
    leaves.remove(peer_at(30).id)
    assert leaves.farthest(clockwise=True) == peer_at(80).id
    leaves.remove(peer_at(-10).id)
    leaves.remove(peer_at(-80).id)
    assert leaves.farthest(clockwise=False) == peer_at(-70).id
    for step in range(1, SIDE + 1):
        leaves.remove(peer_at(10 * step).id)
    assert leaves.farthest(clockwise=True) == peer_at(-20).id, "nobody on a side: the first going that way"
    assert leaves.farthest(clockwise=False) == peer_at(-70).id
    assert leaves.is_clockwise(peer_at(3).id)
    assert not leaves.is_clockwise(peer_at(-3).id)


def test_full_leaf_set_covers_what_lies_between_its_ends() -> None:
    leaves = LeafSet(peer_at(0).id)
    for step in range(1, SIDE + 1):
        leaves.add(peer_at(10 * step))
        leaves.add(peer_at(-10 * step))
    for whole in (True, False):
        assert leaves.covers(0, whole=whole)
        assert leaves.covers(80, whole=whole)
        assert leaves.covers(-80 & MASK, whole=whole)
        assert not leaves.covers(81, whole=whole)
        assert not leaves.covers(HALF, whole=whole)


def test_short_leaf_set_covers_the_ring_only_when_nobody_is_known_outside() -> None:
    leaves = LeafSet(peer_at(0).id)
    assert leaves.covers(HALF, whole=True)
    assert leaves.covers(0, whole=False)
    assert not leaves.covers(1, whole=False)
    leaves.add(peer_at(10))
    leaves.add(peer_at(-20))
    assert leaves.covers(HALF, whole=True)
    assert leaves.covers(10, whole=False)
    assert leaves.covers(-20 & MASK, whole=False)
    assert not leaves.covers(11, whole=False)
    assert not leaves.covers(HALF, whole=False)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("with_me", [True, False])
def test_closest_is_the_closest(seed: int, with_me: bool) -> None:
    rng = random.Random(seed)
    me, *others = spread(1 + rng.randrange(1, 17), seed)
    leaves = LeafSet(me.id)
    for peer in others:
        leaves.add(peer)
    candidates = [*others, me] if with_me else others
    keys = [rng.getrandbits(128) for _ in range(200)] + [place(peer.id) for peer in (*others, me)]
    for key in keys:
        best = min(candidates, key=lambda peer: (distance(place(peer.id), key), peer.id))
        assert leaves.closest(key, with_me=with_me) == (None if best is me else best.id)


def test_closest_prefers_the_smaller_id_when_two_are_equally_close() -> None:
    for me, other in ((100, 200), (200, 100)):
        leaves = LeafSet(peer_at(me).id)
        leaves.add(peer_at(other))
        assert leaves.closest(150, with_me=True) == (None if me == 100 else peer_at(100).id)
    assert LeafSet(peer_at(7).id).closest(9, with_me=True) is None
    assert LeafSet(peer_at(7).id).closest(9, with_me=False) is None
