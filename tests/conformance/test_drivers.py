"""One suite for every driver, first part: what it promises about connections, turns and time."""

from __future__ import annotations

import random

import pytest

from causeway.core.effects import Close, Dial, Pause, Send
from causeway.core.events import Clogged, Closed, Drained, Opened, Received
from causeway.core.messages import Deliver, Goodbye, Hello, Message, Ping, Pong
from causeway.types import MILLISECOND, SECOND, Peer, key_of
from tests.conformance.actors import Player, Stage

KIB = 1024
MIB = 1024 * KIB


def pings(conn: int, count: int, body: bytes = b"") -> list[Send]:
    return [Send(conn, Ping(nonce), body) for nonce in range(count)]


@pytest.fixture
def a(stage: Stage) -> Player:
    return stage.player("a")


@pytest.fixture
def b(stage: Stage) -> Player:
    return stage.player("b")


# Opening --------------------------------------------------------------------------------------------------------
def test_dialled_connection_opens_with_its_odd_number_here_and_an_even_one_there(
    stage: Stage, a: Player, b: Player
) -> None:
    numbers = [stage.connect(a, b) for _ in range(3)]
    inbound = [there for _, there in numbers]
    assert [here for here, _ in numbers] == [1, 3, 5]
    assert all(number % 2 == 0 and number > 0 for number in inbound)
    assert len(set(inbound)) == 3


def test_both_ends_may_dial_each_other_and_the_numbers_of_one_say_nothing_about_the_other(
    stage: Stage, a: Player, b: Player
) -> None:
    here, there = stage.connect(a, b)
    back, forth = stage.connect(b, a)
    a.say(here, 1)
    a.say(forth, 2)
    b.say(there, 3)
    b.say(back, 4)
    stage.rounds(a, here)
    stage.rounds(b, back)
    assert b.actor.nonces(there)[0] == 1
    assert b.actor.nonces(back) == [2]
    assert a.actor.nonces(here) == [3]
    assert a.actor.nonces(forth)[0] == 4


def test_machine_may_dial_itself(stage: Stage, a: Player) -> None:
    a.act(dials=[Dial(1, *a.place.address)])
    stage.world.run_until(lambda: len(a.actor.events(Opened)) == 2)
    inbound = next(event.conn for event in a.actor.events(Opened) if event.conn != 1)
    a.say(1, 7)
    stage.world.run_until(lambda: a.actor.nonces(inbound) == [7])


def test_dial_to_nobody_ends_in_closed(stage: Stage, a: Player) -> None:
    a.act(dials=[Dial(1, *stage.world.nowhere())])
    stage.world.run_until(lambda: a.actor.of(1))
    assert [type(event) for event in a.actor.of(1)] == [Closed]


def test_dial_to_a_crashed_machine_is_refused_and_to_its_next_life_opens(stage: Stage, a: Player, b: Player) -> None:
    b.crash()
    a.act(dials=[Dial(1, *b.place.address)])
    stage.world.run_until(lambda: a.actor.of(1))
    assert [type(event) for event in a.actor.of(1)] == [Closed]
    b.start()
    a.act(dials=[Dial(3, *b.place.address)])
    stage.world.run_until(lambda: a.actor.of(3))
    assert a.actor.of(3) == [Opened(3)]


def test_dial_that_is_closed_before_it_is_answered_is_never_heard_of(stage: Stage, a: Player, b: Player) -> None:
    side, _ = stage.connect(a, b)
    for address in (b.place.address, stage.world.nowhere()):
        same_turn, next_turn = a.number(), a.number()
        a.act(dials=[Dial(same_turn, *address)], closes=[Close(same_turn, "changed our mind")])
        a.act(dials=[Dial(next_turn, *address)])
        a.act(closes=[Close(next_turn, "changed our mind")])
        heard = a.actor.of(next_turn)
        stage.rounds(a, side)
        assert a.actor.of(same_turn) == []
        assert a.actor.of(next_turn) == heard


# Frames ---------------------------------------------------------------------------------------------------------
def test_frames_arrive_in_order_and_unaltered_in_both_directions(stage: Stage, a: Player, b: Player) -> None:
    here, there = stage.connect(a, b)
    rng = random.Random(5)
    peer = Peer(key_of("b"), "Käse ☃", "127.0.0.1", 65_535, 2**62)
    heads: list[Message] = [
        Hello(1, "a", 2**53, peer, "cluster"),
        Goodbye(7, "x" * 50_000),
        Ping(0),
        Pong(2**63 - 1),
        Deliver("m", 1, 2, "s", 3, 2, 4, 5, flags=4, priority=9, deliveries=0),
    ]
    sizes = [0, 1, 2, 63, 255, 4 * KIB, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 300 * KIB, MIB]
    frames = [(rng.choice(heads), rng.randbytes(size)) for _ in range(3) for size in rng.sample(sizes, len(sizes))]
    frames += [(head, b"") for head in heads]
    a.act(sends=[Send(here, head, body) for head, body in frames])
    b.act(sends=[Send(there, head, body) for head, body in reversed(frames)])
    stage.world.run_until(
        lambda: len(b.actor.frames(there)) >= len(frames) and len(a.actor.frames(here)) >= len(frames)
    )
    assert b.actor.frames(there) == frames
    assert a.actor.frames(here) == frames[::-1]


def test_frames_of_many_turns_and_connections_keep_their_order_on_each(stage: Stage, a: Player, b: Player) -> None:
    ways = [stage.connect(a, b) for _ in range(3)]
    for nonce in range(100):
        a.act(sends=[Send(here, Ping(nonce), bytes(nonce)) for here, _ in ways])
    stage.world.run_until(lambda: all(len(b.actor.nonces(there)) >= 100 for _, there in ways))
    for _, there in ways:
        assert b.actor.frames(there) == [(Ping(nonce), bytes(nonce)) for nonce in range(100)]


def test_one_turns_frames_are_handed_over_together(stage: Stage, a: Player, b: Player) -> None:
    here, there = stage.connect(a, b)
    before = len(b.actor.turns)
    a.act(sends=pings(here, 400))
    stage.world.run_until(lambda: len(b.actor.nonces(there)) >= 400)
    assert b.actor.nonces(there) == list(range(400))
    assert len(b.actor.turns) - before <= 40


def test_frames_for_a_connection_that_is_gone_are_dropped_and_disturb_no_other(
    stage: Stage, a: Player, b: Player
) -> None:
    here, there = stage.connect(a, b)
    side, far = stage.connect(a, b)
    a.act(closes=[Close(here, "done")])
    gone = [Send(conn, Ping(9), b"lost") for conn in (here, 77, 78)]
    a.act(sends=[*gone, Send(side, Ping(1)), *gone], pauses=[Pause(77, paused=True)], closes=[Close(here, "again")])
    stage.rounds(a, side)
    assert b.actor.nonces(far)[0] == 1
    assert [type(event) for event in b.actor.of(there)] == [Opened, Closed]


# Closing --------------------------------------------------------------------------------------------------------
def test_close_of_our_own_sends_what_was_sent_before_and_is_the_last_we_hear(
    stage: Stage, a: Player, b: Player
) -> None:
    side, _ = stage.connect(a, b)
    here, there = stage.connect(a, b)
    body = random.Random(1).randbytes(MIB)
    a.act(sends=pings(here, 8, body), closes=[Close(here, "done")])
    stage.world.run_until(lambda: b.actor.events(Closed))
    assert b.actor.frames(there) == [(Ping(nonce), body) for nonce in range(8)]
    assert b.actor.of(there)[-1] == b.actor.events(Closed)[0]
    stage.rounds(a, side)
    assert a.actor.of(here) == [Opened(here)]


def test_closing_the_connection_that_was_dialled_by_the_other_side_is_no_different(
    stage: Stage, a: Player, b: Player
) -> None:
    side, _ = stage.connect(a, b)
    here, there = stage.connect(a, b)
    b.act(sends=pings(there, 3), closes=[Close(there, "done")])
    stage.world.run_until(lambda: a.actor.events(Closed))
    assert a.actor.nonces(here) == [0, 1, 2]
    stage.rounds(a, side)
    assert b.actor.of(there) == [Opened(there, a.place.address[0])]


def test_nothing_of_a_connection_is_heard_after_its_close_though_the_peer_kept_talking(
    stage: Stage, a: Player, b: Player
) -> None:
    side, _ = stage.connect(a, b)
    here, there = stage.connect(a, b)
    for nonce in range(50):
        b.say(there, nonce)
        if nonce == 10:
            a.act(closes=[Close(here, "enough")])
            heard = len(a.actor.of(here))
    stage.world.run_until(lambda: b.actor.events(Closed))
    stage.rounds(a, side)
    assert len(a.actor.of(here)) == heard


def test_both_ends_may_close_at_once(stage: Stage, a: Player, b: Player) -> None:
    side, _ = stage.connect(a, b)
    here, there = stage.connect(a, b)
    a.act(closes=[Close(here, "done")], wait=False)
    b.act(closes=[Close(there, "done")], wait=False)
    stage.world.run_until(lambda: not a.actor.orders and not b.actor.orders)
    stage.rounds(a, side)
    assert a.actor.of(here) == [Opened(here)]
    assert b.actor.of(there) == [Opened(there, a.place.address[0])]


def test_crash_of_the_peer_closes_every_connection_once_after_what_it_had_said(
    stage: Stage, a: Player, b: Player
) -> None:
    ways = [stage.connect(a, b) for _ in range(2)]
    for here, there in ways:
        b.say(there, 1, 2, 3)
        stage.world.run_until(lambda here=here: a.actor.nonces(here) == [1, 2, 3])
    b.crash()
    stage.world.run_until(lambda: len(a.actor.events(Closed)) >= 2)
    a.act(sends=pings(ways[0][0], 3))
    b.start()
    side, _ = stage.connect(a, b)
    stage.rounds(a, side)
    for here, _ in ways:
        happened = [type(event) for event in a.actor.of(here)]
        assert happened == [Opened, *[Received] * (len(happened) - 2), Closed]
        assert a.actor.nonces(here)[:3] == [1, 2, 3]


# Reading and back-pressure --------------------------------------------------------------------------------------
def test_paused_connection_is_silent_and_loses_nothing(stage: Stage, a: Player, b: Player) -> None:
    here, there = stage.connect(a, b)
    side, _ = stage.connect(a, b)
    for start in (0, 20):
        a.act(pauses=[Pause(here, paused=True)])
        b.say(there, *range(start, start + 20))
        stage.rounds(a, side)
        assert a.actor.nonces(here) == list(range(start))
        a.act(pauses=[Pause(here, paused=True)])
        a.act(pauses=[Pause(here, paused=False), Pause(here, paused=False)])
        stage.world.run_until(lambda start=start: len(a.actor.nonces(here)) >= start + 20)
        assert a.actor.nonces(here) == list(range(start + 20))


def test_paused_connection_still_sends(stage: Stage, a: Player, b: Player) -> None:
    here, there = stage.connect(a, b)
    a.act(sends=pings(here, 3), pauses=[Pause(here, paused=True)])
    a.say(here, 3)
    stage.world.run_until(lambda: b.actor.nonces(there) == [0, 1, 2, 3])


def test_end_of_a_paused_connection_is_heard_after_what_came_before_it(stage: Stage, a: Player, b: Player) -> None:
    here, there = stage.connect(a, b)
    side, _ = stage.connect(a, b)
    a.act(pauses=[Pause(here, paused=True)])
    b.act(sends=pings(there, 5), closes=[Close(there, "done")])
    stage.rounds(a, side)
    assert a.actor.of(here) == [Opened(here)]
    a.act(pauses=[Pause(here, paused=False)])
    stage.world.run_until(lambda: a.actor.events(Closed))
    assert a.actor.nonces(here) == [0, 1, 2, 3, 4]


def test_connection_resumed_and_closed_in_one_turn_is_not_heard_of_again(stage: Stage, a: Player, b: Player) -> None:
    here, there = stage.connect(a, b)
    side, _ = stage.connect(a, b)
    a.act(pauses=[Pause(here, paused=True)])
    b.say(there, 1, 2, 3)
    stage.rounds(a, side)
    a.act(pauses=[Pause(here, paused=False)], closes=[Close(here, "done")])
    stage.world.run_until(lambda: b.actor.events(Closed))
    stage.rounds(a, side)
    assert a.actor.of(here) == [Opened(here)]


def test_sender_is_told_when_its_peer_reads_too_slowly_and_when_it_caught_up(
    stage: Stage, a: Player, b: Player
) -> None:
    here, there = stage.connect(a, b)
    side, _ = stage.connect(a, b)
    body = bytes(MIB)
    b.act(pauses=[Pause(there, paused=True)])
    a.act(sends=pings(here, 24, body))
    stage.world.run_until(lambda: a.actor.events(Clogged))
    stage.rounds(a, side)
    assert a.actor.of(here) == [Opened(here), Clogged(here)]
    assert b.actor.frames(there) == []
    b.act(pauses=[Pause(there, paused=False)])
    stage.world.run_until(lambda: len(b.actor.frames(there)) >= 24 and a.actor.events(Drained))
    assert b.actor.nonces(there) == list(range(24))
    assert all(received == body for _, received in b.actor.frames(there))
    assert a.actor.of(here) == [Opened(here), Clogged(here), Drained(here)]


# Time -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("wait", [0, 1, MILLISECOND, 7_654_321, 40 * MILLISECOND])
def test_deadline_is_called_once_and_never_early(stage: Stage, a: Player, b: Player, wait: int) -> None:
    a.act(deadline_in=wait)
    stage.world.run_until(lambda: a.actor.deadline is None)
    b.act(deadline_in=20 * MILLISECOND)
    stage.world.run_until(lambda: b.actor.deadline is None)
    set_at, turns = a.since()
    assert len(turns) == 1
    assert turns[0][0] >= set_at + wait


def test_deadline_moved_earlier_is_called_then(stage: Stage, a: Player) -> None:
    a.act(deadline_in=1000 * SECOND)
    a.act(deadline_in=20 * MILLISECOND)
    stage.world.run_until(lambda: a.actor.deadline is None)
    set_at, turns = a.since()
    assert len(turns) == 1
    assert turns[0][0] >= set_at + 20 * MILLISECOND


def test_deadline_moved_later_is_not_called_at_its_old_time(stage: Stage, a: Player) -> None:
    a.act(deadline_in=10 * MILLISECOND)
    a.act(deadline_in=80 * MILLISECOND)
    stage.world.run_until(lambda: a.actor.deadline is None)
    set_at, turns = a.since()
    assert len(turns) == 1
    assert turns[0][0] >= set_at + 80 * MILLISECOND


def test_deadline_taken_back_is_not_called(stage: Stage, a: Player, b: Player) -> None:
    a.act(deadline_in=10 * MILLISECOND)
    a.act(deadline_in=None)
    b.act(deadline_in=60 * MILLISECOND)
    stage.world.run_until(lambda: b.actor.deadline is None)
    assert a.since()[1] == []


def test_deadline_is_met_while_frames_keep_coming(stage: Stage, a: Player, b: Player) -> None:
    here, there = stage.connect(a, b)
    b.act(deadline_in=20 * MILLISECOND)
    sent = 0
    while b.actor.deadline is not None and sent < 5000:
        a.say(here, sent)
        sent += 1
    assert b.actor.deadline is None
    stage.world.run_until(lambda: b.actor.nonces(there) == list(range(sent)))
