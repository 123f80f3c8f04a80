"""First frames: who gets in, who is sent away, and what a client is told."""

from __future__ import annotations

import pytest

from causeway.core.events import ClientGone, ClientMessage, PeerDown, PeerUp
from causeway.core.links import greeting as greeting_module
from causeway.core.messages import (
    PROTOCOL_VERSION,
    Goodbye,
    Hail,
    Hello,
    Ping,
    Pong,
    StatusRequest,
    Welcome,
)
from causeway.errors import Code
from causeway.limits import HELLO_SECONDS_MAX, OTHERS_MAX
from causeway.types import SECOND
from tests.unit.core.links.wire import Station, Wire, peer_named

HAIL = Hail(active=True, wants_reply=False)


def test_seed_is_dialled_by_address_and_becomes_a_peer() -> None:
    wire = Wire()
    a, b = wire.add("ash"), wire.add("beech")
    a.run(lambda turn: a.links.dial_address(turn, "beech", 7000))
    a.run(lambda turn: a.links.dial_address(turn, "beech", 7000))
    assert len(a.dials) == 1, "one dial per address at a time"
    wire.settle()
    assert a.told == [PeerUp(b.peer)]
    a.run(lambda turn: a.links.dial_address(turn, "beech", 7000))
    a.run(lambda turn: a.links.dial_address(turn, a.peer.host, a.peer.port))
    assert len(a.dials) == 1


def test_seed_that_is_the_broker_itself_under_another_name_is_refused() -> None:
    wire = Wire()
    a = wire.add("ash")
    wire.stations["localhost"] = a
    a.run(lambda turn: a.links.dial_address(turn, "localhost", 7000))
    wire.settle()
    assert a.told == []
    assert a.links.statistics().connections == 0


def test_broker_of_another_cluster_is_refused_and_named() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.run(lambda turn: a.links.set_cluster(turn, "red"))
    b.run(lambda turn: b.links.set_cluster(turn, "blue"))
    a.send(b, HAIL)
    wire.settle()
    assert a.told == [PeerDown(b.peer)]
    assert b.told == []
    goodbye = b.last()
    assert isinstance(goodbye, Goodbye)
    assert goodbye.code == Code.BAD_FIELD
    assert "cluster='red'" in goodbye.detail
    assert "blue" in goodbye.detail


def test_joining_a_cluster_ends_links_to_brokers_of_another() -> None:
    wire = Wire()
    a, b = wire.pair()
    b.run(lambda turn: b.links.set_cluster(turn, "blue"))
    a.send(b, HAIL)
    wire.settle()
    assert a.links.is_up(b.peer.id)
    a.run(lambda turn: a.links.set_cluster(turn, "red"))
    wire.settle()
    assert a.told[-1] == PeerDown(b.peer)
    assert b.told[-1] == PeerDown(a.peer)


def test_echo_of_a_greeting_is_ignored_and_a_different_one_is_refused() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.settle()
    b.receive(2, Hello(PROTOCOL_VERSION, a.peer.name, 1, a.peer))
    a.receive(1, Welcome(PROTOCOL_VERSION, b.peer, 1))
    assert a.links.is_up(b.peer.id)
    assert b.links.is_up(a.peer.id)
    b.receive(2, Hello(PROTOCOL_VERSION, a.peer.name, 9, a.peer))
    assert b.told[-1] == PeerDown(a.peer)
    goodbye = b.last()
    assert isinstance(goodbye, Goodbye)
    assert goodbye.code == Code.BAD_FRAME


@pytest.mark.parametrize(
    "answer",
    [
        HAIL,
        Goodbye(Code.OVERLOADED, "full"),
        Welcome(PROTOCOL_VERSION + 1, peer_named("beech"), 1),
        Welcome(PROTOCOL_VERSION, peer_named("ash"), 1),
    ],
)
def test_wrong_answer_to_our_hello_fails_the_dial(answer: Hail | Goodbye | Welcome) -> None:
    wire = Wire()
    a = wire.add("ash")
    a.links.learn(peer_named("beech"))
    a.send(peer_named("beech"), HAIL)
    a.run(lambda turn: a.links.on_opened(turn, 1))
    a.receive(1, answer)
    assert a.told == [PeerDown(peer_named("beech"))]
    assert 1 in a.closes
    a.receive(1, answer)
    assert len(a.told) == 1, "a frame of a closed connection is nobody's"


def test_connection_without_hello_is_closed_in_time() -> None:
    wire = Wire()
    a = wire.add("ash")
    conn = a.accept()
    wire.pass_time(HELLO_SECONDS_MAX * SECOND - 1)
    assert a.closes == {}
    wire.pass_time(1)
    assert conn in a.closes
    goodbye = a.last()
    assert isinstance(goodbye, Goodbye)
    assert "Hello" in goodbye.detail


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting_module, "CONNECTIONS_MAX", 2)
    a = Wire().add("ash")
    conns = [a.accept() for _ in range(3)]
    assert list(a.closes) == [conns[2]]
    goodbye = a.last()
    assert isinstance(goodbye, Goodbye)
    assert goodbye.code == Code.OVERLOADED


# Clients -------------------------------------------------------------------------------------------------------
def greet(station: Station, name: str = "billing", incarnation: int = 42) -> int:
    conn = station.accept()
    station.receive(conn, Hello(PROTOCOL_VERSION, name, incarnation))
    return conn


def test_client_is_welcomed_registered_and_heard() -> None:
    a = Wire().add("ash")
    conn = greet(a)
    assert a.last() == Welcome(PROTOCOL_VERSION, a.peer, 1, ready=False)
    assert a.links.client(conn) == ("billing", 42)
    assert a.links.clients() == [conn]
    a.receive(conn, StatusRequest(5), b"x")
    assert a.told == [ClientMessage(conn, StatusRequest(5), b"x")]
    assert a.links.client(conn + 2) is None


def test_client_is_told_whether_we_are_ready_and_where_else_to_go() -> None:
    wire = Wire()
    a = wire.add("ash")
    for number in range(OTHERS_MAX + 4):
        other = wire.add(f"tree-{number}")
        a.links.learn(other.peer)
        a.send(other, Hail(active=True, wants_reply=False))
    a.links.learn(peer_named("never-met"))
    wire.settle()
    a.links.ready = True
    greet(a)
    welcome = a.last()
    assert isinstance(welcome, Welcome)
    assert welcome.ready
    assert len(welcome.others) == OTHERS_MAX
    assert all(a.links.is_up(peer.id) for peer in welcome.others)


def test_client_connection_that_breaks_is_told_once() -> None:
    a = Wire().add("ash")
    conn = greet(a)
    a.run(lambda turn: a.links.on_closed(turn, conn, "reset"))
    a.run(lambda turn: a.links.on_closed(turn, conn, "reset"))
    assert a.told == [ClientGone(conn)]
    assert a.links.clients() == []


def test_client_that_says_goodbye_is_gone() -> None:
    a = Wire().add("ash")
    conn = greet(a)
    a.receive(conn, Goodbye(0, ""))
    assert a.told == [ClientGone(conn)]
    assert conn in a.closes


def test_client_may_have_several_connections() -> None:
    a = Wire().add("ash")
    assert [a.links.client(conn) for conn in (greet(a), greet(a))] == [("billing", 42)] * 2
    assert len(a.links.clients()) == 2


def test_ping_of_a_client_is_answered_and_its_pong_is_life() -> None:
    a = Wire().add("ash")
    conn = greet(a)
    a.receive(conn, Ping(9))
    assert a.last() == Pong(9)
    a.receive(conn, Pong(3))
    assert a.told == []


def test_quiet_client_is_pinged_and_kept_while_it_answers() -> None:
    wire = Wire()
    a = wire.add("ash")
    conn = greet(a)
    for _ in range(100):
        wire.pass_time(SECOND // 4)
        last = a.last()
        if isinstance(last, Ping):
            a.receive(conn, Pong(last.nonce))
            a.sent.append((conn, Pong(0)))
    pings = [head for _, head in a.sent if isinstance(head, Ping)]
    assert 10 <= len(pings) <= 26, "every four heartbeats"
    assert a.told == []


def test_silent_client_is_dropped_after_four_times_the_silence() -> None:
    wire = Wire()
    a = wire.add("ash")
    conn = greet(a)
    wire.pass_time(4 * a.config.silence - a.config.heartbeat)
    assert a.told == []
    wire.pass_time(3 * a.config.heartbeat)
    assert a.told == [ClientGone(conn)]
    assert conn in a.closes


def test_second_hello_of_a_client_is_an_echo_or_an_error() -> None:
    a = Wire().add("ash")
    conn = greet(a)
    a.receive(conn, Hello(PROTOCOL_VERSION, "billing", 42))
    assert conn not in a.closes
    a.receive(conn, Hello(PROTOCOL_VERSION, "other", 42))
    assert conn in a.closes
    assert a.told == [ClientGone(conn)]
