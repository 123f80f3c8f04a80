"""Finding a broker, staying alive, finding another one."""

from __future__ import annotations

import random

from causeway.client.outcomes import Connected, Disconnected, SessionFailed
from causeway.core.events import Opened, Received
from causeway.core.messages import PROTOCOL_VERSION, Goodbye, Hello, Ping, Pong, Welcome
from causeway.errors import Code, Refused
from causeway.types import MILLISECOND, SECOND
from tests.unit.client.stage import INCARNATION, Stage, peer


def test_session_greets_the_broker_it_reaches_and_is_connected_by_its_welcome(stage: Stage) -> None:
    stage.turn()
    (dial,) = stage.dials.values()
    stage.turn(Opened(dial.conn))
    assert stage.said(Hello) == [Hello(PROTOCOL_VERSION, "billing", INCARNATION)]
    assert not stage.session.connected
    stage.turn(Received(dial.conn, [(Welcome(PROTOCOL_VERSION, peer(dial.host), 1), b"")]))
    assert stage.session.connected
    assert [outcome.peer.name for outcome in stage.outcomes(Connected)] == [dial.host]


def test_sessions_begin_with_different_brokers_of_one_url() -> None:
    first = set()
    for seed in range(20):
        stage = Stage()
        stage.session.__init__(stage.config, 1, random.Random(seed))  # type: ignore[misc]
        stage.turn()
        first |= {dial.host for dial in stage.dials.values()}
    assert first == {"b1", "b2"}


def test_next_broker_is_tried_at_once_when_one_refuses(stage: Stage) -> None:
    stage.turn()
    first = next(iter(stage.dials.values())).host
    stage.refuse(first)
    assert [dial.host for dial in stage.dials.values()] == [({"b1", "b2"} - {first}).pop()]


def test_rounds_of_attempts_back_off_up_to_a_second_and_never_end(stage: Stage) -> None:
    stage.turn()
    waits = []
    for _ in range(12):
        while stage.dials:
            stage.refuse(next(iter(stage.dials.values())).host)
        began = stage.now
        while not stage.dials:
            due = stage.session.next_deadline()
            assert due is not None
            stage.turn(after=due - stage.now)
        waits.append(stage.now - began)
    assert 25 * MILLISECOND <= waits[0] <= 50 * MILLISECOND
    assert all(500 * MILLISECOND <= wait <= 1000 * MILLISECOND for wait in waits[6:])


def test_lost_home_is_replaced_at_once_by_a_broker_learned_from_the_old_one(stage: Stage) -> None:
    home = stage.open(others=("b7", "b8"))
    stage.cut(home)
    hosts = [dial.host for dial in stage.dials.values()]
    assert len(hosts) == 1
    assert hosts[0] != home
    assert stage.outcomes(Disconnected)
    stage.open(hosts[0])
    assert [outcome.peer.name for outcome in stage.outcomes(Connected)] == [home, hosts[0]]


def test_only_broker_is_dialled_again_at_once(stage: Stage) -> None:
    stage = Stage(addresses=(("b1", 7400),))
    stage.open(others=())
    stage.cut("b1")
    assert [dial.host for dial in stage.dials.values()] == ["b1"]


def test_broker_that_is_still_joining_is_passed_over(stage: Stage) -> None:
    stage.turn()
    first = next(iter(stage.dials.values())).host
    stage.open(first, ready=False)
    assert not stage.session.connected
    assert [close.reason for close in stage.closes] == [f"broker {first} is still joining"]
    assert first not in [dial.host for dial in stage.dials.values()]
    assert stage.dials


def test_broker_that_does_not_greet_is_passed_over(stage: Stage) -> None:
    stage.turn()
    (dial,) = stage.dials.values()
    stage.turn(Opened(dial.conn))
    stage.sleep(stage.config.greeting)
    assert [close.conn for close in stage.closes] == [dial.conn]
    assert dial.host not in [other.host for other in stage.dials.values()]


def test_pings_are_answered(stage: Stage, home: str) -> None:
    stage.receive(home, Ping(77))
    assert stage.said(Pong) == [Pong(77)]


def test_quiet_link_is_asked_and_silent_link_is_left(stage: Stage, home: str) -> None:
    stage.sleep(1100 * MILLISECOND)
    assert len(stage.said(Ping, home)) == 1
    stage.receive(home, Pong(1))
    stage.sleep(2900 * MILLISECOND)
    assert stage.session.connected
    stage.sleep(200 * MILLISECOND)
    assert [close.reason for close in stage.closes] == ["silent"]
    assert not stage.session.connected


def test_any_frame_is_a_sign_of_life(stage: Stage, home: str) -> None:
    for _ in range(10):
        stage.sleep(900 * MILLISECOND)
        stage.receive(home, Ping(1))
    assert stage.said(Ping) == []
    assert stage.session.connected


def test_goodbye_sends_us_to_another_broker(stage: Stage, home: str) -> None:
    stage.receive(home, Goodbye(int(Code.OVERLOADED), "full"))
    assert not stage.session.connected
    assert stage.dials
    assert "full" in stage.session.trouble


def test_goodbye_that_every_broker_would_say_ends_the_session(stage: Stage) -> None:
    stage.turn()
    (dial,) = stage.dials.values()
    stage.turn(Opened(dial.conn))
    stage.turn(Received(dial.conn, [(Goodbye(int(Code.BAD_VERSION), "we speak 9"), b"")]))
    (failed,) = stage.outcomes(SessionFailed)
    assert isinstance(failed.error, Refused)
    assert failed.error.code == Code.BAD_VERSION
    assert stage.session.next_deadline() is None


def test_broker_of_another_version_ends_the_session(stage: Stage) -> None:
    stage.turn()
    (dial,) = stage.dials.values()
    stage.turn(Opened(dial.conn))
    stage.turn(Received(dial.conn, [(Welcome(99, peer("b1"), 1), b"")]))
    (failed,) = stage.outcomes(SessionFailed)
    assert "99" in str(failed.error)


def test_links_nobody_needs_are_closed_after_a_while(stage: Stage, home: str) -> None:
    inquiry = stage.session.status(("b9", 7400))
    stage.turn()
    stage.open("b9")
    stage.session._answers.finish_inquiry(inquiry, None)
    for _ in range(45):
        stage.sleep(1 * SECOND)
        for name in list(stage.conns):
            stage.receive(name, Ping(1))
    assert list(stage.conns) == [home]
    assert [close.reason for close in stage.closes] == ["not needed any more"]
