"""Links: what the other parts of a broker ask of them."""

from __future__ import annotations

import pytest

from causeway.core.events import PeerDown, PeerMessage, PeerUp
from causeway.core.links import book as book_module
from causeway.core.machine import Turn
from causeway.core.messages import (
    Hail,
    JoinDenied,
    StatusRequest,
)
from causeway.errors import Code
from causeway.limits import LINK_QUEUE_FRAMES_MAX, MIB
from causeway.types import SECOND, BrokerId
from tests.unit.core.links.wire import Wire, peer_named

HAIL = Hail(active=True, wants_reply=False)


def test_link_comes_up_on_both_ends_and_carries_what_waited_in_order() -> None:
    wire = Wire()
    a, b = wire.pair()
    for attempt in range(3):
        a.send(b, JoinDenied(attempt))
    assert not a.links.is_up(b.peer.id)
    wire.settle()
    assert a.told == [PeerUp(b.peer)]
    assert b.told == [PeerUp(a.peer), *(PeerMessage(a.peer, JoinDenied(attempt), b"") for attempt in range(3))]
    assert a.links.is_up(b.peer.id)
    assert a.links.conn_of(b.peer.id) == 1
    assert b.links.conn_of(a.peer.id) == 2
    assert len(a.dials) == 1
    assert b.dials == []


def test_bodies_travel_with_their_heads() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL, b"queued")
    wire.settle()
    a.send(b, HAIL, b"direct")
    wire.settle()
    assert [event.body for event in b.told if isinstance(event, PeerMessage)] == [b"queued", b"direct"]


def test_unknown_address_is_dropped_silently() -> None:
    wire = Wire()
    a = wire.add("ash")
    a.send(peer_named("nobody"), HAIL)
    assert a.dials == a.sent == a.told == []


def test_sending_to_oneself_is_a_programming_error() -> None:
    a = Wire().add("ash")
    with pytest.raises(AssertionError, match="itself"):
        a.links.send(Turn(0), a.peer.id, HAIL)


def test_queue_for_a_link_is_bounded_by_frames_and_bytes() -> None:
    wire = Wire()
    a, b = wire.pair()
    for number in range(LINK_QUEUE_FRAMES_MAX + 5):
        a.send(b, JoinDenied(number))
    assert a.links.statistics().queued_frames == LINK_QUEUE_FRAMES_MAX
    wire.settle()
    assert [head.attempt for head in b.frames()] == list(range(LINK_QUEUE_FRAMES_MAX))

    wire = Wire()
    a, b = wire.pair()
    for _ in range(6):
        a.send(b, HAIL, bytes(MIB))
    wire.settle()
    assert len(b.frames()) == 4


def test_hearsay_does_not_replace_what_a_broker_said_but_is_tried_when_it_does_not_answer() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.settle()
    moved = b.peer.__class__(b.peer.id, b.peer.name, "elsewhere", 7000, 5)
    a.links.learn(moved)
    assert a.links.peer(b.peer.id) == b.peer
    wire.crash(b)
    wire.settle()
    a.send(b, HAIL)
    wire.settle()
    assert a.dials[-1] == (b.peer.host, 7000)
    a.send(b, HAIL)
    wire.pass_time(SECOND)
    assert a.dials[-1] == ("elsewhere", 7000)


def test_address_of_a_broker_never_met_is_replaced_by_later_news() -> None:
    a = Wire().add("ash")
    old, new = peer_named("elm", store=1), peer_named("elm", store=2)
    a.links.learn(old)
    a.links.learn(new)
    a.links.learn(a.peer)
    assert a.links.peer(old.id) == new
    assert a.links.peer(a.peer.id) == a.peer
    assert a.links.is_up(a.peer.id)
    assert a.links.peer(BrokerId(bytes(16))) is None


def test_refusal_after_the_greeting_costs_the_link() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.settle()
    b.run(lambda turn: b.links.refuse(turn, 2, Code.BAD_FRAME, "nonsense"))
    wire.settle()
    assert a.told[-1] == PeerDown(b.peer)
    assert b.told[-1] == PeerDown(a.peer)
    b.run(lambda turn: b.links.refuse(turn, 2, Code.BAD_FRAME, "again"))


def test_known_addresses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "LINKS_KNOWN_MAX", 3)
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.settle()
    a.links.pin(peer_named("tree-0").id)
    for number in range(9):
        a.links.learn(peer_named(f"tree-{number}"))
    assert a.links.statistics().brokers_known == 3
    assert a.links.is_up(b.peer.id)
    assert a.links.peer(peer_named("tree-0").id) is not None
    assert a.links.peer(peer_named("tree-8").id) is not None


def test_clogged_is_remembered_until_drained() -> None:
    a = Wire().add("ash")
    conn = a.accept()
    assert not a.links.clogged(conn)
    a.links.on_clogged(conn)
    assert a.links.clogged(conn)
    a.links.on_drained(conn)
    assert not a.links.clogged(conn)
    a.links.on_clogged(99)
    a.links.on_drained(99)
    assert not a.links.clogged(99)


def test_frames_of_unknown_connections_are_ignored() -> None:
    a = Wire().add("ash")
    a.receive(8, HAIL)
    a.run(lambda turn: a.links.on_closed(turn, 8, "gone"))
    a.run(lambda turn: a.links.on_opened(turn, 9))
    a.receive(9, StatusRequest(1))
    assert a.told == a.sent == []
