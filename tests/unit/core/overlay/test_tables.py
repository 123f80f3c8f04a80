"""Routing table, neighbourhood, and the routing decision."""

from __future__ import annotations

import random

import pytest

from causeway.core.overlay.leaves import MASK, distance, place
from causeway.core.overlay.tables import COLUMNS, Tables
from causeway.limits import HOPS_REMEMBERED_MAX, NEIGHBOURS_MAX
from causeway.types import BrokerId, Duration, Key, Peer


def peer_at(at: int) -> Peer:
    broker = BrokerId((at & MASK).to_bytes(16, "big"))
    return Peer(broker, broker.hex(), "host", 1, 1)


def peer_hex(digits: str) -> Peer:
    return peer_at(int(digits.ljust(32, "0"), 16))


class Trips(dict[BrokerId, Duration]):
    """Measured round trips, by hand."""


def tables_of(me: Peer, others: list[Peer], *, leaves: bool = True) -> Tables:
    tables = Tables(me, Trips().get)
    for peer in others:
        if leaves:
            tables.add_leaf(peer)
        tables.offer(peer)
    return tables


def test_slot_is_row_of_shared_digits_and_column_of_the_next() -> None:
    tables = Tables(peer_hex("3a7"), Trips().get)
    assert tables.slot(peer_hex("5").id) == 0 * COLUMNS + 5
    assert tables.slot(peer_hex("3b").id) == 1 * COLUMNS + 0xB
    assert tables.slot(peer_hex("3a0").id) == 2 * COLUMNS + 0
    assert tables.slot(peer_hex("3a7" + "0" * 28 + "1").id) == 31 * COLUMNS + 1


def test_nearer_broker_takes_the_slot() -> None:
    trips = Trips()
    tables = Tables(peer_hex("3"), trips.get)
    first, second, third = peer_hex("51"), peer_hex("52"), peer_hex("53")
    tables.offer(first)
    tables.offer(second)
    assert tables.entries() == [first], "never measured is no reason to change"
    trips[second.id] = 10
    tables.offer(second)
    assert tables.entries() == [second]
    trips[third.id] = 11
    tables.offer(third)
    assert tables.entries() == [second]
    trips[second.id] = 12
    tables.offer(third)
    assert tables.entries() == [third], "the holder is compared by what is measured now"


def test_entry_is_updated_when_its_broker_comes_back_different() -> None:
    tables = Tables(peer_hex("3"), Trips().get)
    old = peer_hex("5")
    new = Peer(old.id, old.name, "elsewhere", 2, 9)
    tables.offer(old)
    tables.offer(new)
    assert tables.entries() == [new]
    assert tables.neighbours() == [new]


def test_neighbourhood_holds_the_nearest() -> None:
    trips = Trips()
    tables = Tables(peer_hex("3"), trips.get)
    rng = random.Random(1)
    peers = [peer_at(rng.getrandbits(128)) for _ in range(3 * NEIGHBOURS_MAX)]
    for number, peer in enumerate(peers):
        trips[peer.id] = 1000 - number
        tables.offer(peer)
    nearest = sorted(peers, key=lambda peer: trips[peer.id])[:NEIGHBOURS_MAX]
    assert tables.neighbours() == nearest
    tables.remove(nearest[0].id)
    assert tables.neighbours() == nearest[1:]
    tables.offer(peers[0])
    assert tables.neighbours()[-1] == peers[0]


def test_removed_broker_is_nowhere() -> None:
    me, other, leaf = peer_hex("3"), peer_hex("5"), peer_hex("4")
    tables = tables_of(me, [other], leaves=False)
    assert other.id in tables
    assert tables.remove(other.id) == (None, 5)
    assert other.id not in tables
    assert tables.remove(other.id) == (None, None)
    tables.add_leaf(leaf)
    assert tables.remove(leaf.id) == (leaf, None)
    assert tables.everybody() == []
    assert tables.next_hop(Key(leaf.id), with_me=True) is None


def test_rows_are_told_by_number() -> None:
    tables = tables_of(peer_hex("3a"), [peer_hex("5"), peer_hex("1"), peer_hex("3b")], leaves=False)
    assert tables.rows() == [0, 1]
    assert tables.row(0) == [peer_hex("1"), peer_hex("5")]
    assert tables.row(1) == [peer_hex("3b")]
    assert tables.row(7) == []


def test_everybody_is_listed_once() -> None:
    peers = [peer_hex(digit) for digit in "12456789"]
    tables = tables_of(peer_hex("3"), peers)
    assert sorted(peer.id for peer in tables.everybody()) == [peer.id for peer in peers]


def test_route_prefers_the_leaf_set_then_the_longer_prefix() -> None:
    me = peer_at(0x3A << 120)
    leaves = [peer_at((0x3A << 120) + sign * step) for step in range(1, 9) for sign in (1, -1)]
    far, near_prefix = peer_hex("9"), peer_hex("95")
    tables = tables_of(me, leaves)
    tables.offer(near_prefix)
    tables.offer(far)
    assert tables.next_hop(Key(peer_hex("95f").id), with_me=True) == near_prefix.id
    assert tables.next_hop(Key(leaves[4].id), with_me=True) == leaves[4].id
    assert tables.next_hop(Key(me.id), with_me=True) is None


def test_route_takes_the_closest_known_broker_where_the_prefix_leads_away() -> None:
    # The key lies just behind a digit's border: the entry that shares its digit is farther from it than we are.
    me = peer_hex("3f")
    leaves = [peer_at(place(me.id) + sign * step) for step in range(1, 9) for sign in (1, -1)]
    tables = tables_of(me, leaves)
    tables.offer(peer_hex("4f"))
    key = Key(peer_hex("401").id)
    hop = tables.next_hop(key, with_me=True)
    assert hop is not None
    assert distance(place(hop), place(key)) < distance(place(me.id), place(key))
    assert hop == max(leaf.id for leaf in leaves)


def test_broker_that_is_not_active_routes_to_others_only() -> None:
    me, other = peer_hex("3"), peer_hex("9")
    tables = tables_of(me, [other])
    assert tables.next_hop(Key(me.id), with_me=True) is None
    assert tables.next_hop(Key(me.id), with_me=False) == other.id
    assert tables.nearest(Key(me.id), 3, with_me=False) == [other]
    assert tables.nearest(Key(me.id), 3, with_me=True) == [me, other]
    assert Tables(me, Trips().get).next_hop(Key(other.id), with_me=False) is None


def test_decisions_are_remembered_until_a_table_changes() -> None:
    me, near, nearer = peer_hex("3"), peer_hex("9"), peer_hex("8")
    tables = tables_of(me, [near])
    key = Key(nearer.id)
    assert tables.next_hop(key, with_me=True) == near.id
    assert tables.next_hop(key, with_me=True) == near.id
    tables.add_leaf(nearer)
    assert tables.next_hop(key, with_me=True) == nearer.id
    tables.remove(nearer.id)
    assert tables.next_hop(key, with_me=True) == near.id
    rng = random.Random(3)
    for _ in range(HOPS_REMEMBERED_MAX + 10):
        tables.next_hop(Key(rng.randbytes(16)), with_me=True)
    assert tables.next_hop(key, with_me=True) == near.id


@pytest.mark.parametrize("seed", range(5))
def test_detour_leads_to_the_closest_that_is_not_avoided(seed: int) -> None:
    rng = random.Random(seed)
    peers = [peer_at(rng.getrandbits(128)) for _ in range(12)]
    me, *others = peers
    tables = tables_of(me, others)
    for avoided in others:
        best = min(
            (peer for peer in peers if peer is not avoided),
            key=lambda peer, avoided=avoided: distance(place(peer.id), place(avoided.id)),
        )
        assert tables.detour(Key(avoided.id), avoided.id) == (None if best is me else best.id)
    assert tables.detour(Key(me.id), others[0].id) is None


def test_known_around_are_the_next_on_the_ring() -> None:
    me = peer_hex("8")
    tables = tables_of(me, [peer_hex(digit) for digit in "13579bdf"], leaves=False)
    assert set(tables.known_around(2)) == {peer_hex(digit).id for digit in "579b"}
    assert Tables(me, Trips().get).known_around(2) == []
