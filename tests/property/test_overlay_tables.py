"""Routing decisions against brute force, for any ids: also crowded ones, at the borders of digits and of the ring."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.core.overlay.leaves import RING, SIDE, distance, place
from causeway.core.overlay.tables import Tables
from causeway.types import BrokerId, Key, Peer

BORDERS = [0, RING // 16, RING // 16 * 8, RING // 256, RING // 2]
PLACES = st.one_of(
    st.integers(0, RING - 1),
    st.builds(lambda border, step: (border + step) % RING, st.sampled_from(BORDERS), st.integers(-40, 40)),
    st.builds(lambda digit, rest: digit * (RING // 16) + rest, st.integers(0, 15), st.integers(0, 1 << 100)),
)


def peer_at(at: int) -> Peer:
    broker = BrokerId(at.to_bytes(16, "big"))
    return Peer(broker, broker.hex(), "host", 1, 1)


def closeness(broker: bytes, key: int) -> tuple[int, bytes]:
    apart = abs(place(BrokerId(broker)) - key)
    return min(apart, RING - apart), broker


def tables_with(me: Peer, others: list[Peer], trips: dict[bytes, int]) -> Tables:
    tables = Tables(me, trips.get)
    for peer in others:
        tables.add_leaf(peer)
        tables.offer(peer)
    return tables


@given(
    places=st.lists(PLACES, min_size=1, max_size=60, unique=True),
    wanted=st.lists(PLACES, min_size=1, max_size=20),
    gone=st.integers(0, 20),
    seed=st.integers(0, 99),
)
@settings(max_examples=300, deadline=None)
def test_every_hop_is_strictly_closer_and_only_the_closest_known_keeps_the_key(
    places: list[int], wanted: list[int], gone: int, seed: int
) -> None:
    me, *others = (peer_at(at) for at in places)
    rng = random.Random(seed)
    tables = tables_with(me, others, {peer.id: rng.randrange(100) for peer in others if rng.random() < 0.7})
    for peer in others[:gone]:
        tables.remove(peer.id)
    known = [peer.id for peer in tables.everybody()]
    assert not {peer.id for peer in others[:gone]} & set(known)
    for key in (*wanted, *places):
        hop = tables.next_hop(Key(key.to_bytes(16, "big")), with_me=True)
        mine = closeness(me.id, key)
        best = min((closeness(broker, key) for broker in known), default=mine)
        if hop is None:
            assert mine <= best
        else:
            assert closeness(hop, key) < mine
            assert hop in known


@given(
    border=st.sampled_from(BORDERS),
    before=st.integers(1, RING // 64),
    behind=st.integers(0, RING // 32),
    others=st.lists(st.integers(0, RING // 16), min_size=1, max_size=30, unique=True),
)
@settings(max_examples=200, deadline=None)
def test_key_just_across_a_border_of_digits_never_leads_away(
    border: int, before: int, behind: int, others: list[int]
) -> None:
    mine = border - before
    me, key = peer_at(mine % RING), (border + behind) % RING
    crowd = [peer_at((mine + sign * step) % RING) for step in range(1, SIDE + 1) for sign in (1, -1)]
    tables = tables_with(me, [*crowd, *(peer_at((border + other) % RING) for other in others)], {})
    hop = tables.next_hop(Key(key.to_bytes(16, "big")), with_me=True)
    assert hop is None or closeness(hop, key) < closeness(me.id, key)


@given(
    places=st.lists(PLACES, min_size=1, max_size=17, unique=True),
    key=PLACES,
    count=st.integers(1, 9),
    active=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_replica_group_is_the_closest_of_a_ring_that_we_know_whole(
    places: list[int], key: int, count: int, active: bool
) -> None:
    me, *others = (peer_at(at) for at in places)
    tables = tables_with(me, others, {})
    candidates = [peer.id for peer in ([*others, me] if active else others)]
    expected = sorted(candidates, key=lambda broker: closeness(broker, key))[:count]
    found = tables.nearest(Key(key.to_bytes(16, "big")), count, with_me=active)
    assert [peer.id for peer in found] == expected


@given(places=st.lists(PLACES, min_size=1, max_size=120, unique=True), wanted=st.lists(PLACES, min_size=1, max_size=10))
@settings(max_examples=100, deadline=None)
def test_walk_over_right_leaf_sets_and_any_routing_tables_ends_at_the_closest(
    places: list[int], wanted: list[int]
) -> None:
    ring = [peer_at(at) for at in sorted(places)]
    rng = random.Random(len(places))
    tables: dict[bytes, Tables] = {}
    for at, me in enumerate(ring):
        mine = tables[me.id] = Tables(me, {}.get)
        for step in range(1, SIDE + 1):
            for neighbour in (ring[(at + step) % len(ring)], ring[(at - step) % len(ring)]):
                if neighbour is not me:
                    mine.add_leaf(neighbour)
                    mine.offer(neighbour)
        for other in rng.sample(ring, min(len(ring), 10)):
            if other is not me:
                mine.offer(other)
    for key in wanted:
        at = rng.choice(ring).id
        seen = {at}
        while (hop := tables[at].next_hop(Key(key.to_bytes(16, "big")), with_me=True)) is not None:
            assert hop not in seen
            at = hop
            seen.add(at)
        assert at == min((peer.id for peer in ring), key=lambda broker: closeness(broker, key))


@given(a=PLACES, b=PLACES)
def test_distance_is_a_distance(a: int, b: int) -> None:
    assert distance(a, b) == distance(b, a) == min((a - b) % RING, (b - a) % RING)
    assert (distance(a, b) == 0) == (a == b)
