"""Rings from full knowledge: the tables that brokers would have found, and brokers that go on from there."""

from __future__ import annotations

from collections import Counter

from causeway.core.overlay.leaves import place
from causeway.sim.rings import FullKnowledge, KnownRing
from causeway.types import SECOND, Key


def test_every_place_of_a_table_that_somebody_fits_is_filled_by_who_fits() -> None:
    knowledge = FullKnowledge(300, seed=1)
    for index in (0, 150, 299):
        tables = knowledge.tables(index)
        me = knowledge.peers[index]
        slots = {tables.slot(peer.id) for peer in knowledge.peers if peer.id != me.id}
        assert {tables.slot(peer.id) for peer in tables.entries()} == slots
        around = [knowledge.peers[(index + step) % 300].id for step in range(-8, 9) if step]
        assert sorted(peer.id for peer in tables.leaves.members()) == sorted(around)
        assert len(tables.neighbours()) == 16


def test_brokers_connect_to_their_leaves_and_route_to_the_closest() -> None:
    ring = KnownRing(60, 2, heartbeat=10 * SECOND, silence=60 * SECOND)
    ring.world.run(20 * SECOND)
    for broker in ring.brokers.values():
        assert all(broker.links.is_up(peer.id) for peer in broker.overlay.leaf_set())
    key = Key(bytes(16))
    at = next(iter(ring.brokers))
    while (hop := ring.next_hop(at, key)) is not None:
        at = hop
    assert at == min(ring.brokers, key=lambda broker: min(place(broker), (1 << 128) - place(broker)))


def test_upkeep_goes_on_and_nobody_is_lost() -> None:
    ring = KnownRing(60, 3, heartbeat=10 * SECOND, silence=60 * SECOND)
    sent: Counter[str] = Counter()
    ring.world.network.meter = lambda sender, receiver, head, size: sent.update([type(head).__name__])
    ring.world.run(100 * SECOND)
    assert {"Hello", "Welcome", "Leaves", "RowRequest", "RowReply", "Hail", "Beat", "Echo", "Goodbye"} <= set(sent)
    statistics = [broker.overlay.statistics() for broker in ring.brokers.values()]
    assert {(one.leaves, one.missing) for one in statistics} == {(16, 0)}
