"""Links: what the other parts of a broker ask of them."""

from __future__ import annotations

import pytest

from causeway.core.events import MembershipChanged, PeerDown, PeerMessage, PeerUp
from causeway.core.links import book as book_module
from causeway.core.machine import Turn
from causeway.core.messages import (
    Burden,
    Hail,
    JoinDenied,
    Ping,
    StatusRequest,
)
from causeway.errors import Code
from causeway.limits import LINK_QUEUE_FRAMES_MAX, MIB, NAME_BYTES_MAX, SEATS_HELD_MAX
from causeway.types import SECOND, BrokerId
from tests.unit.core.links.wire import Station, Wire, peer_named

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


# Seats: told with signs of life, at once when they change; nonsense is not believed ------------------------------
HAIL = Hail(active=True, wants_reply=False)


def linked() -> tuple[Wire, Station, Station]:
    wire = Wire()
    a, b = wire.pair()
    for station in (a, b):
        station.links.ready = True
    a.links.pin(b.peer.id)
    a.send(b, HAIL)
    wire.settle()
    a.told.clear()
    b.told.clear()
    return wire, a, b


def hold(station: Station, *seats: str) -> None:
    station.run(lambda turn: station.links.hold_seats(turn, seats))


def changes(station: Station) -> int:
    told, station.told = station.told, []
    return sum(isinstance(event, MembershipChanged) for event in told)


def test_neighbours_hear_at_once_which_seats_we_hold() -> None:
    wire, a, b = linked()
    hold(a, "oak", "elm")
    assert a.links.places() == {a.peer.id: ("oak", "elm")}
    assert changes(a) == 1
    wire.pass_time(0)
    assert b.links.places() == {a.peer.id: ("oak", "elm")}
    assert changes(b) == 1


def test_our_own_seat_alone_is_nothing_to_tell() -> None:
    wire, a, b = linked()
    hold(a, a.peer.name)
    assert changes(a) == 0
    hold(a)
    wire.pass_time(0)
    assert b.links.places() == {a.peer.id: ()}
    hold(a, a.peer.name)
    wire.pass_time(0)
    assert (a.links.places(), b.links.places()) == ({}, {})
    assert changes(b) == 2


def test_same_seats_again_are_no_news() -> None:
    wire, a, b = linked()
    hold(a, "oak")
    wire.pass_time(0)
    changes(a)
    changes(b)
    hold(a, "oak")
    wire.pass_time(4 * a.config.heartbeat)
    assert (changes(a), changes(b)) == (0, 0)


def test_spare_takes_no_clients() -> None:
    wire, a, _ = linked()
    hold(a)
    wire.pass_time(0)
    (burden,) = [head.burden for _, head in a.sent if isinstance(head, Ping) and head.burden is not None][-1:]
    assert (burden.ready, burden.seats) == (False, ())
    hold(a, "oak")
    wire.pass_time(0)
    burden = [head.burden for _, head in a.sent if isinstance(head, Ping) and head.burden is not None][-1]
    assert (burden.ready, burden.seats) == (True, ("oak",))


def test_newcomer_hears_of_seats_with_the_greeting() -> None:
    wire, a, _ = linked()
    hold(a, "oak")
    new = wire.add("new")
    new.links.learn(a.peer)
    new.send(a, HAIL)
    wire.settle()
    assert new.links.places() == {a.peer.id: ("oak",)}


def test_broker_that_is_gone_holds_nothing() -> None:
    wire, a, b = linked()
    hold(a, "oak")
    wire.pass_time(0)
    wire.crash(a)
    wire.settle()
    assert b.links.places() == {}


def test_next_life_of_a_broker_holds_what_it_says_itself() -> None:
    wire, a, b = linked()
    hold(a, "oak")
    wire.pass_time(0)
    wire.crash(a)
    wire.settle()
    again = wire.add(a.peer.name, incarnation=2)
    again.links.learn(b.peer)
    again.send(b, HAIL)
    wire.settle()
    assert b.links.is_up(a.peer.id)
    assert b.links.places() == {}


@pytest.mark.parametrize(
    "seats",
    [tuple(f"s{number}" for number in range(SEATS_HELD_MAX + 1)), ("",), ("x" * (NAME_BYTES_MAX + 1),)],
    ids=["many", "unnamed", "long"],
)
def test_absurd_seats_are_not_believed(seats: tuple[str, ...]) -> None:
    wire, a, b = linked()
    hold(a, "oak")
    wire.pass_time(0)
    changes(b)
    conn = next(conn for conn, head in b.sent if conn in b.out)
    b.receive(conn, Ping(1, 0, True, Burden(0, 10, 1000, True, seats)))
    assert b.links.places() == {a.peer.id: ("oak",)}
    assert changes(b) == 0
