"""Connections to brokers come and go: dials that meet, fail and are tried again, and brokers that are reborn."""

from __future__ import annotations

import random

import pytest

from causeway.core.events import PeerDown, PeerMessage, PeerUp
from causeway.core.links.pulse import LINK_IDLE
from causeway.core.messages import (
    PROTOCOL_VERSION,
    Hail,
    Hello,
    JoinDenied,
)
from causeway.types import MILLISECOND, SECOND
from tests.unit.core.links.wire import Wire, peer_named

HAIL = Hail(active=True, wants_reply=False)


@pytest.mark.parametrize("seed", range(200))
def test_simultaneous_dials_settle_on_one_link_and_lose_nothing(seed: int) -> None:
    rng = random.Random(seed)
    wire = Wire()
    a, b = wire.pair()
    sent: dict[str, list[JoinDenied]] = {a.peer.name: [], b.peer.name: []}
    stations = [(a, b), (b, a)]
    rng.shuffle(stations)
    for number in range(60):
        source, target = stations[number % 2] if number < 2 else rng.choice(stations)
        sent[source.peer.name].append(JoinDenied(number))
        source.send(target, JoinDenied(number))
        for _ in range(rng.randrange(3)):
            if waiting := wire.waiting():
                wire.step(rng.choice(waiting))
    wire.settle(rng)
    assert len(a.dials) == len(b.dials) == 1
    assert sorted(head.attempt for head in b.frames()) == [head.attempt for head in sent[a.peer.name]]
    assert sorted(head.attempt for head in a.frames()) == [head.attempt for head in sent[b.peer.name]]
    for one, other in stations:
        assert [event for event in one.told if not isinstance(event, PeerMessage)] == [PeerUp(other.peer)]
        assert one.links.statistics().connections == 1
    assert a.peer.id < b.peer.id
    assert a.links.conn_of(b.peer.id) == 1, "the dial of the smaller id is the one that stays"


@pytest.mark.parametrize("seed", range(100))
def test_link_that_falls_asleep_in_the_middle_of_traffic_loses_nothing(seed: int) -> None:
    rng = random.Random(seed)
    wire = Wire()
    a, b = wire.pair()
    sent: dict[str, list[int]] = {a.peer.name: [], b.peer.name: []}
    number = 0
    for _ in range(6):
        wire.now += LINK_IDLE + SECOND
        for station in rng.sample([a, b], rng.randrange(1, 3)):
            station.run(station.links.on_deadline)  # finds the link idle and says goodbye
        for _ in range(rng.randrange(1, 12)):
            source, target = rng.choice([(a, b), (b, a)])
            number += 1
            sent[source.peer.name].append(number)
            source.send(target, JoinDenied(number))
            for _ in range(rng.randrange(4)):
                if waiting := wire.waiting():
                    wire.step(rng.choice(waiting))
        wire.settle(rng)
    for source, target in ((a, b), (b, a)):
        assert sorted(head.attempt for head in target.frames()) == sent[source.peer.name]
        assert [event for event in target.told if not isinstance(event, PeerMessage)] == [PeerUp(source.peer)]


def test_failed_dial_drops_the_queue_tells_once_and_backs_off() -> None:
    wire = Wire()
    a, b = wire.pair()
    b.listening = False
    a.send(b, JoinDenied(1))
    a.send(b, JoinDenied(2))
    wire.settle()
    assert a.told == [PeerDown(b.peer)]
    assert a.links.statistics().queued_frames == 0

    a.send(b, JoinDenied(3))
    assert len(a.dials) == 1, "no dial before the pause is over"
    wire.pass_time(100 * MILLISECOND)
    assert len(a.dials) == 2
    assert a.told == [PeerDown(b.peer), PeerDown(b.peer)]

    a.send(b, JoinDenied(4))
    wire.pass_time(150 * MILLISECOND)
    assert len(a.dials) == 2, "the pause doubles"
    b.listening = True
    wire.pass_time(50 * MILLISECOND)
    assert len(a.dials) == 3
    assert b.frames() == [JoinDenied(4)]


def test_backoff_is_bounded_by_two_seconds() -> None:
    wire = Wire()
    a, b = wire.pair()
    b.listening = False
    for _ in range(12):
        a.send(b, HAIL)
        wire.pass_time(2 * SECOND)
    assert len(a.dials) == 12


def test_dial_that_nobody_answers_fails_after_the_silence() -> None:
    wire = Wire()
    a, b = wire.pair()
    wire.cut = True
    a.send(b, HAIL)
    wire.pass_time(a.config.silence - 1)
    assert a.told == []
    wire.pass_time(1)
    assert a.told == [PeerDown(b.peer)]
    assert 1 in a.closes


def test_broken_connection_is_told_at_once_and_a_later_send_dials_again() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.settle()
    wire.crash(b)
    wire.settle()
    assert a.told[-1] == PeerDown(b.peer)
    assert not a.links.is_up(b.peer.id)
    wire.add(b.peer.name, incarnation=2)
    a.send(b, HAIL)
    wire.settle()
    assert a.told[-1] == PeerUp(b.peer)


def test_pinned_link_that_broke_is_dialled_again_without_a_send() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.links.pin(b.peer.id)
    a.send(b, HAIL)
    wire.settle()
    wire.crash(b)
    wire.pass_time(5 * SECOND)
    told = a.told_kinds().count("PeerDown")
    assert 1 <= told <= 2, "the repeated dials that fail are not told again and again"
    reborn = wire.add(b.peer.name, incarnation=2)
    wire.pass_time(3 * SECOND)
    assert a.links.is_up(b.peer.id)
    assert reborn.told_kinds() == ["PeerUp"]


@pytest.mark.parametrize(("store", "incarnation"), [(1, 2), (2, 2), (2, 1)])
def test_broker_reborn_replaces_its_old_link(store: int, incarnation: int) -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.settle()
    wire.crash(b, told=False)
    reborn = wire.add(b.peer.name, store=store, incarnation=incarnation)
    reborn.links.learn(a.peer)
    reborn.send(a, HAIL)
    wire.settle()
    assert a.told == [PeerUp(b.peer), PeerDown(b.peer), PeerUp(reborn.peer), PeerMessage(reborn.peer, HAIL, b"")]
    assert a.links.peer(b.peer.id) == reborn.peer
    assert a.links.statistics().connections == 1


def test_words_of_a_former_life_on_a_connection_that_is_closing_are_not_heard() -> None:
    wire = Wire()
    a, b = wire.pair()
    hello = Hello(PROTOCOL_VERSION, b.peer.name, 1, b.peer)
    first, second, third = a.accept(), a.accept(), a.accept()
    a.receive(first, hello)
    a.receive(second, hello)
    a.receive(first, HAIL)
    assert a.told == [PeerUp(b.peer), PeerMessage(b.peer, HAIL, b"")], "the first connection closes, and is still heard"
    a.receive(third, Hello(PROTOCOL_VERSION, b.peer.name, 2, b.peer))
    a.told.clear()
    a.receive(first, HAIL)
    assert a.told == []
    a.run(lambda turn: a.links.on_closed(turn, third))
    a.receive(first, HAIL)
    assert a.told == [PeerDown(b.peer)], "nobody who is down is heard"


def test_broker_reborn_while_its_link_slept_is_first_told_as_dead() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.pass_time(LINK_IDLE + SECOND)
    wire.crash(b)
    reborn = wire.add(b.peer.name, store=2, incarnation=2)
    reborn.links.learn(a.peer)
    reborn.send(a, HAIL)
    wire.settle()
    assert a.told[:3] == [PeerUp(b.peer), PeerDown(b.peer), PeerUp(reborn.peer)]


def test_address_answered_by_another_broker_is_a_failure_of_the_one_expected() -> None:
    wire = Wire()
    a = wire.add("ash")
    oak = wire.add("oak")
    a.links.learn(peer_named("elm").__class__(peer_named("elm").id, "elm", "oak", 7000, 1))
    a.send(peer_named("elm"), HAIL)
    wire.settle()
    assert [type(event) for event in a.told] == [PeerDown, PeerUp]
    assert a.links.is_up(oak.peer.id)
    assert not a.links.is_up(peer_named("elm").id)
    assert oak.frames() == []


def test_seed_that_does_not_answer_can_be_dialled_again() -> None:
    wire = Wire()
    a = wire.add("ash")
    for _ in range(2):
        a.run(lambda turn: a.links.dial_address(turn, "nowhere", 7000))
        wire.settle()
    assert len(a.dials) == 2
    assert a.told == []
