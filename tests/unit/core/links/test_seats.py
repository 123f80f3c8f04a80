"""Which seats a broker holds is told with signs of life, at once when it changes; nonsense is not believed."""

from __future__ import annotations

import pytest

from causeway.core.events import MembershipChanged
from causeway.core.messages import Burden, Hail, Ping
from causeway.limits import NAME_BYTES_MAX, SEATS_HELD_MAX
from tests.unit.core.links.wire import Station, Wire

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
