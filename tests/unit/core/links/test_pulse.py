"""Signs of life: who is asked, who is dead, which links may sleep, and what is measured and spread on the way."""

from __future__ import annotations

import pytest

from causeway.core.events import PeerDown, PeerMessage, PeerUp, RootLearned
from causeway.core.links.pulse import LINK_IDLE
from causeway.core.messages import (
    Beat,
    Config,
    Echo,
    Hail,
    JoinDenied,
    Ping,
    Pong,
)
from causeway.types import MILLISECOND, SECOND
from causeway.wire.codec import encode_frame
from tests.unit.core.links.wire import Wire, peer_named

HAIL = Hail(active=True, wants_reply=False)


def test_silent_broker_is_dead_after_the_silence_and_not_before() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.pass_time(5 * SECOND)
    assert a.told == [PeerUp(b.peer)], "an idle link that is answered stays up"
    wire.crash(b, told=False)
    heard = wire.now
    wire.pass_time(a.config.silence // 4)  # it may have been asked last half a silence ago
    assert a.told == [PeerUp(b.peer)]
    wire.pass_time(heard + a.config.silence + 2 * a.config.heartbeat - wire.now)
    assert a.told[-1] == PeerDown(b.peer)
    assert a.closes[1] == "silent for too long"


def test_idle_link_is_asked_for_signs_of_life_and_a_busy_one_is_not() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.pass_time(SECOND)
    a.sent.clear()
    b.sent.clear()
    wire.pass_time(5 * SECOND)
    pings = [head for _, head in (*a.sent, *b.sent) if isinstance(head, Ping)]
    assert 4 <= len(pings) <= 9, "about one in half the silence, from whichever end is first"

    a.sent.clear()
    b.sent.clear()
    for _ in range(60):
        a.send(b, HAIL)
        b.send(a, HAIL)
        wire.pass_time(80 * MILLISECOND)
    assert not [head for _, head in (*a.sent, *b.sent) if isinstance(head, Ping | Beat)]
    assert a.told_kinds().count("PeerDown") == 0


def test_our_own_standstill_is_not_taken_for_the_silence_of_others() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.pass_time(SECOND)
    wire.now += 20 * SECOND  # the machine slept
    wire.pass_time(SECOND)
    assert "PeerDown" not in a.told_kinds() + b.told_kinds()
    assert a.links.is_up(b.peer.id)


def test_round_trip_is_measured_by_both_ends() -> None:
    wire = Wire()
    a, b = wire.pair()
    assert a.links.round_trip(b.peer.id) is None
    a.send(b, HAIL)
    while waiting := wire.waiting():
        wire.now += 3 * MILLISECOND
        wire.step(waiting[0])
    trip = a.links.round_trip(b.peer.id)
    assert trip is not None
    assert trip >= 3 * MILLISECOND
    assert b.links.round_trip(a.peer.id) is None
    wire.pass_time(SECOND)
    assert b.links.round_trip(a.peer.id) is not None


def test_idle_link_is_closed_without_a_death_and_dialled_again_when_needed() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.pass_time(LINK_IDLE + SECOND)
    assert not a.links.is_up(b.peer.id)
    assert not b.links.is_up(a.peer.id)
    assert a.links.statistics().connections == b.links.statistics().connections == 0
    assert a.told == [PeerUp(b.peer)]
    assert "PeerDown" not in b.told_kinds()
    b.send(a, JoinDenied(7))
    wire.settle()
    assert a.told == [PeerUp(b.peer), PeerMessage(b.peer, JoinDenied(7), b"")]


@pytest.mark.parametrize("who", [0, 1])
def test_link_pinned_by_either_end_is_kept(who: int) -> None:
    wire = Wire()
    pair = wire.pair()
    a, b = pair
    pair[who].links.pin(pair[1 - who].peer.id)
    a.send(b, HAIL)
    wire.pass_time(3 * LINK_IDLE)
    assert a.links.is_up(b.peer.id)
    pair[who].links.unpin(pair[1 - who].peer.id)
    wire.pass_time(2 * LINK_IDLE)
    assert not a.links.is_up(b.peer.id)
    assert len(a.dials) + len(b.dials) == 1


@pytest.mark.parametrize("who", [0, 1])
def test_link_pinned_by_either_end_is_kept_where_silence_is_longer_than_idleness(who: int) -> None:
    wire = Wire()
    pair = wire.pair(heartbeat=10 * SECOND, silence=90 * SECOND)
    a, b = pair
    pair[who].links.pin(pair[1 - who].peer.id)
    a.send(b, HAIL)
    wire.pass_time(10 * LINK_IDLE)
    assert a.links.is_up(b.peer.id)
    assert len(a.dials) + len(b.dials) == 1, "it never broke"


def test_pins_add_up() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.links.pin(b.peer.id)
    a.links.pin(b.peer.id)
    a.links.unpin(b.peer.id)
    a.send(b, HAIL)
    wire.pass_time(2 * LINK_IDLE)
    assert a.links.is_up(b.peer.id)


def root(epoch: int) -> Config:
    return Config("root", epoch, peer_named("ash").id, ())


def test_root_with_the_highest_epoch_is_kept() -> None:
    a = Wire().add("ash")
    assert a.links.learn_root(root(3))
    assert not a.links.learn_root(root(2))
    assert not a.links.learn_root(root(3))
    assert a.links.root == root(3)


@pytest.mark.parametrize("who", [0, 1])
def test_root_is_told_in_the_greeting(who: int) -> None:
    wire = Wire()
    pair = wire.pair()
    pair[who].links.learn_root(root(4))
    pair[0].send(pair[1], HAIL)
    wire.settle()
    assert pair[1 - who].links.root == root(4)
    assert RootLearned(root(4)) in pair[1 - who].told
    assert RootLearned(root(4)) not in pair[who].told


@pytest.mark.parametrize("who", [0, 1])
def test_root_learned_later_spreads_with_the_next_sign_of_life(who: int) -> None:
    wire = Wire()
    pair = wire.pair()
    pair[0].send(pair[1], HAIL)
    wire.pass_time(SECOND)
    pair[who].links.learn_root(root(5))
    wire.pass_time(SECOND)
    assert pair[1 - who].links.root == root(5)
    pings = sum(isinstance(head, Ping) for station in pair for _, head in station.sent)
    assert pings < 30, "news does not make the two ask each other without end"


def test_answer_to_no_question_measures_nothing() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.settle()
    before = a.links.round_trip(b.peer.id)
    wire.now += SECOND
    a.receive(1, Pong(0))
    a.receive(1, Pong(12345))
    assert a.links.round_trip(b.peer.id) == before


def test_ping_is_answered_while_the_link_lives() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, HAIL)
    wire.settle()
    b.receive(2, Ping(77))
    pong = b.last()
    assert isinstance(pong, Echo)
    assert pong.nonce == 77


def test_kept_link_with_nothing_to_say_carries_the_smallest_frames_and_news_goes_until_it_is_answered() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.links.pin(b.peer.id)
    b.links.pin(a.peer.id)
    a.send(b, HAIL)
    wire.pass_time(3 * SECOND)
    a.sent.clear()
    b.sent.clear()
    wire.pass_time(6 * SECOND)
    said = [head for _, head in (*a.sent, *b.sent)]
    assert {type(head) for head in said} == {Beat, Echo}
    assert max(len(encode_frame(head)) for head in said) == 9
    a.sent.clear()
    b.links.ready = not b.links.ready
    wire.pass_time(2 * b.config.heartbeat)
    told = [head for _, head in b.sent if isinstance(head, Ping)]
    assert len(told) == 1, "told at once, and no more once it was answered"
    assert told[0].burden is not None
    assert told[0].burden.ready == b.links.ready


def test_broker_that_does_not_answer_is_asked_again_before_the_silence_is_over() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.links.pin(b.peer.id)
    a.send(b, HAIL)
    wire.pass_time(3 * SECOND)
    wire.crash(b, told=False)
    a.sent.clear()
    wire.pass_time(2 * a.config.silence)
    assert "PeerDown" in a.told_kinds()
    assert sum(isinstance(head, Ping | Beat) for _, head in a.sent) >= 2


def test_who_hears_late_waits_longer_for_signs_of_life_and_not_for_ever() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, Hail(True, wants_reply=False))
    wire.settle()
    wire.cut = True
    stop = wire.now + 3 * SECOND
    while wire.now < stop:
        a.links.on_lagged(SECOND)
        wire.pass_time(SECOND // 4)
    assert "PeerDown" not in a.told_kinds()
    while "PeerDown" not in a.told_kinds():
        a.links.on_lagged(SECOND)
        wire.pass_time(SECOND // 4)
        assert wire.now < stop + 4 * SECOND


def test_who_answered_late_is_waited_for_longer_until_it_answers_in_time_again() -> None:
    wire = Wire()
    a, b = wire.pair()
    a.send(b, Hail(True, wants_reply=False))
    wire.settle()
    channel = a.links._book.links[b.peer.id].channel
    assert channel is not None
    patience = a.links._pulse.patience
    assert patience(channel) == a.config.silence
    channel.measured(SECOND)
    assert patience(channel) == a.config.silence + 2 * (SECOND - a.config.heartbeat)
    for _ in range(20):
        channel.measured(SECOND // 1000)
    assert patience(channel) == a.config.silence
