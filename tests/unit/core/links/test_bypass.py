"""Ways over third brokers: found before anybody is taken for dead, left when the link is mended, and open to no one."""

from __future__ import annotations

import pytest

from causeway.core.events import PeerDown
from causeway.core.links.book import SWEEP
from causeway.core.messages import Bypassed, Goodbye, Hail, Hello, Ping, Welcome
from causeway.types import MILLISECOND, SECOND
from causeway.wire.codec import decode_head, encode_head
from tests.unit.core.links.wire import Station, Wire, peer_named

HAIL = Hail(True, wants_reply=False)


def triangle() -> tuple[Wire, Station, Station, Station]:
    """Three brokers, each linked to both others."""
    wire = Wire()
    a, b, c = (wire.add(name) for name in ("ash", "beech", "cedar"))
    for station in (a, b, c):
        for other in (a, b, c):
            if other is not station:
                station.links.learn(other.peer)
                station.links.pin(other.peer.id)
                station.send(other, HAIL)
    wire.pass_time(2 * SECOND)
    for station in (a, b, c):
        station.told.clear()
    return wire, a, b, c


def arrives(wire: Wire, source: Station, target: Station) -> bool:
    before = len(target.frames())
    source.send(target, HAIL)
    wire.settle()
    return len(target.frames()) == before + 1


def test_broken_link_is_bypassed_within_the_silence_and_nobody_is_told_of_a_death() -> None:
    wire, a, b, c = triangle()
    wire.cut_link(a, b)
    wire.pass_time(1500 * MILLISECOND)
    assert a.links.bypassed() == {"beech": "cedar"}
    assert b.links.bypassed() == {"ash": "cedar"}
    assert arrives(wire, a, b)
    assert arrives(wire, b, a)
    wire.pass_time(60 * SECOND)
    assert arrives(wire, a, b)
    for station in (a, b, c):
        assert "PeerDown" not in station.told_kinds()


def test_whoever_has_something_on_the_way_hears_that_it_may_be_lost() -> None:
    wire, a, b, _ = triangle()
    wire.cut_link(a, b)
    wire.pass_time(2 * SECOND)
    assert [kind for kind in a.told_kinds() if kind != "PeerMessage"] == ["WayChanged"]


def test_mended_link_is_used_again_and_the_way_round_it_ends() -> None:
    wire, a, b, _ = triangle()
    wire.cut_link(a, b)
    wire.pass_time(10 * SECOND)
    wire.cuts.clear()
    wire.pass_time(5 * SECOND)
    assert a.links.bypassed() == b.links.bypassed() == {}
    assert arrives(wire, a, b)
    wire.pass_time(60 * SECOND)
    assert a.links.statistics().connections == 2
    assert "PeerDown" not in a.told_kinds() + b.told_kinds()


def test_link_that_only_hears_is_bypassed_too() -> None:
    wire, a, b, _ = triangle()
    wire.cuts.add((a, b))
    wire.pass_time(3 * SECOND)
    assert arrives(wire, a, b)
    assert arrives(wire, b, a)


def test_broker_that_was_never_reached_before_is_reached_over_another() -> None:
    wire = Wire()
    a, b, c = (wire.add(name) for name in ("ash", "beech", "cedar"))
    wire.cut_link(a, b)
    for station, other in ((a, c), (b, c), (a, b)):
        station.links.learn(other.peer)
        station.links.pin(other.peer.id)
    a.send(c, HAIL)
    b.send(c, HAIL)
    wire.pass_time(SECOND)
    a.send(b, HAIL)
    wire.pass_time(SECOND)
    assert b.frames() == [HAIL]


def test_dead_broker_is_dead_however_many_could_pass_on() -> None:
    wire, a, b, c = triangle()
    wire.crash(b, told=False)
    wire.pass_time(4 * SECOND)
    assert "PeerDown" in a.told_kinds()
    assert "PeerDown" in c.told_kinds()
    assert a.links.bypassed() == {}


def test_broker_between_that_dies_is_replaced_by_another() -> None:
    wire, a, b, c = triangle()
    d = wire.add("doum")
    for station in (a, b):
        station.links.learn(d.peer)
        station.links.pin(d.peer.id)
        station.send(d, HAIL)
    wire.pass_time(2 * SECOND)
    wire.cut_link(a, b)
    wire.pass_time(2 * SECOND)
    (between,) = a.links.bypassed().values()
    a.told.clear()
    wire.crash(c if between == "cedar" else d)
    wire.pass_time(SECOND // 2)
    assert arrives(wire, a, b)
    assert {event.peer.name for event in a.told if isinstance(event, PeerDown)} == {between}


def test_link_far_slower_than_it_was_is_bypassed_and_used_again_when_it_is_fast() -> None:
    wire, a, b, _ = triangle()
    link = a.links._book.links[b.peer.id]
    assert link.direct is not None
    link.direct.round_trip, link.round_trip_best = 200 * MILLISECOND, MILLISECOND
    wire.pass_time(SECOND)
    assert a.links.bypassed() == {"beech": "cedar"}
    link.direct.round_trip = MILLISECOND
    wire.pass_time(SECOND)
    assert a.links.bypassed() == {}


def test_where_all_links_are_slow_no_way_over_others_is_looked_for() -> None:
    wire, a, _, _ = triangle()
    for link in a.links._book.links.values():
        assert link.direct is not None
        link.direct.round_trip, link.round_trip_best = 200 * MILLISECOND, MILLISECOND
    wire.pass_time(SECOND // 4)
    assert all(len(link.channels) == 1 for link in a.links._book.links.values())


def test_way_that_is_overdue_when_the_link_below_it_is_cut_ends_once() -> None:
    wire, a, b, c = triangle()
    wire.cut_link(a, b)
    wire.pass_time(1100 * MILLISECOND)
    wire.cut_link(c, b)
    wire.cut_link(a, c)
    book = a.links._book
    for conn in list(book.ways):
        book.timers.set(("greet", conn), book.sweep_due)
    book.links[c.peer.id].channels[0].heard_at = 0
    book.timers.set(SWEEP, book.sweep_due)
    wire.pass_time(2 * SECOND)
    assert a.links.bypassed() == {}


def test_restarted_broker_is_seen_as_such_over_another() -> None:
    wire, a, b, c = triangle()
    wire.cut_link(a, b)
    wire.pass_time(2 * SECOND)
    a.told.clear()
    wire.crash(b)
    again = wire.add("beech", store=2, incarnation=2)
    wire.cut_link(a, again)
    for other in (a, c):
        again.links.learn(other.peer)
        again.links.pin(other.peer.id)
    again.send(c, HAIL)
    wire.pass_time(5 * SECOND)
    assert arrives(wire, a, again)
    assert [kind for kind in a.told_kinds() if kind in ("PeerUp", "PeerDown")] == ["PeerDown", "PeerUp"]


def test_broker_between_without_a_link_says_so() -> None:
    wire, _, _, c = triangle()
    conn = c.links.conn_of(peer_named("ash").id)
    assert conn is not None
    envelope = Bypassed(peer_named("oak").id, peer_named("ash").id, 7, True, encode_head(Ping(1)))
    c.receive(conn, envelope)
    answer = c.last()
    assert isinstance(answer, Bypassed)
    assert (answer.to, answer.origin, answer.number, answer.dialled) == (envelope.origin, envelope.to, 7, False)
    assert isinstance(decode_head(answer.head), Goodbye)
    assert wire.stations["cedar"] is c


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\xc1",
        encode_head(Hello(2, "a client", 1)),
        encode_head(Hello(2, "oak", 1, peer_named("oak"))),
        encode_head(Welcome(2, peer_named("oak"), 1)),
        encode_head(Bypassed(peer_named("ash").id, peer_named("beech").id, 1, True, b"")),
        encode_head(HAIL),
    ],
)
@pytest.mark.parametrize("dialled", [False, True])
@pytest.mark.parametrize("number", [-4, 0, 1, 1 << 62])
def test_nonsense_in_an_envelope_opens_nothing(head: bytes, number: int, *, dialled: bool) -> None:
    wire, a, b, c = triangle()
    conn = a.links.conn_of(c.peer.id)
    assert conn is not None
    a.receive(conn, Bypassed(a.peer.id, b.peer.id, number, dialled, head))
    wire.settle()
    assert a.links.statistics().connections == 2
    assert a.links.bypassed() == {}
    assert a.frames() == []


def test_envelope_that_is_not_of_its_sender_is_not_passed_on() -> None:
    _, a, b, c = triangle()
    conn = c.links.conn_of(a.peer.id)
    assert conn is not None
    before = len(c.sent)
    c.receive(conn, Bypassed(b.peer.id, peer_named("oak").id, 1, True, encode_head(HAIL)))
    assert len(c.sent) == before
