from __future__ import annotations

import pytest

from causeway.core.effects import Close, Dial, Pause, Send
from causeway.core.events import Clogged, Closed, Drained, Opened, Received
from causeway.core.messages import Hello, Ping
from causeway.sim.clock import Clock
from causeway.wire.codec import encode_frame
from tests.unit.sim.fake_machines import Recorder, act, connect, flush, make_world, say, start

SECOND = 1_000_000_000


def test_connection_opens_with_an_even_number_at_the_listener() -> None:
    world = make_world()
    (a, heard_a), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    assert heard_a.events == [Opened(1)]
    assert heard_b.events == [Opened(2, "h0")]


def test_dial_to_a_dead_process_is_refused_and_to_a_cut_off_one_times_out() -> None:
    world = make_world(dial_timeout=3 * SECOND)
    (a, heard_a), (b, _) = start(world, "a"), start(world, "b")
    b.crash(noticed=True)
    connect(world, a, b)
    assert heard_a.events == [Closed(1, "refused")]
    world.network.cut(b, a)
    connect(world, a, b, 3)
    assert len(heard_a.events) == 1
    world.run(world.now + 3 * SECOND)
    assert heard_a.events[-1] == Closed(3, "timed out")


def test_client_connection_is_fifo_and_lossless_in_the_worst_weather() -> None:
    world = make_world(jitter=SECOND, loss=0.3, duplicate=0.3, reorder=0.3)
    (a, _), (_b, heard_b) = start(world, "a", broker=False), start(world, "b")
    act(a, dials=[Dial(1, "h1", 1)])
    world.run(world.now + 5 * SECOND)
    for nonce in range(200):
        say(world, a, 1, nonce)
    world.run(world.now + 5 * SECOND)
    assert heard_b.nonces() == list(range(200))


def test_frames_between_brokers_are_lost_doubled_and_overtaken_but_not_the_handshake() -> None:
    world = make_world(loss=0.2, duplicate=0.2, reorder=0.2)
    (a, _), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    for nonce in range(300):
        say(world, a, 1, nonce)
    for _ in range(50):
        act(a, sends=[Send(1, Hello(1, "a", 1))])
        flush(world, a)
    world.run(world.now + 5 * SECOND)
    nonces = heard_b.nonces()
    assert len(set(nonces)) < 300
    assert len(nonces) > len(set(nonces))
    assert nonces != sorted(nonces)
    assert sum(isinstance(head, Hello) for head in heard_b.heads()) == 50


def test_partition_holds_frames_in_its_direction_until_it_heals() -> None:
    world = make_world()
    (a, heard_a), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    world.network.cut(a, b)
    world.network.cut(a, b)
    say(world, a, 1, 1)
    say(world, b, 2, 9)
    world.run(world.now + SECOND)
    world.network.heal(a, b)
    say(world, a, 1, 2)
    world.run(world.now + SECOND)
    assert heard_b.nonces() == []
    assert heard_a.nonces() == [9]
    world.network.heal(a, b)
    say(world, a, 1, 3)
    world.run(world.now + SECOND)
    assert heard_b.nonces() == [1, 2, 3]


def test_after_a_cut_an_old_connection_may_say_its_last_later_than_a_new_one_its_first() -> None:
    orders = set()
    for seed in range(20):
        world = make_world(seed, backoff=True)
        (a, _), (b, heard_b) = start(world, "a"), start(world, "b")
        connect(world, a, b)
        world.network.cut(a, b)
        say(world, a, 1, 1)
        say(world, a, 1, 2)
        world.run(world.now + SECOND // 5)
        world.network.heal(a, b)
        say(world, a, 1, 3)
        connect(world, a, b, conn=3)
        say(world, a, 3, 9)
        world.run(world.now + SECOND)
        say(world, a, 1, 4)
        world.run(world.now + 4 * SECOND)
        assert sorted(heard_b.nonces()) == [1, 2, 3, 4, 9]
        assert [nonce for nonce in heard_b.nonces() if nonce != 9] == [1, 2, 3, 4]
        orders.add(heard_b.nonces()[0])
    assert orders == {1, 9}


def test_close_lets_what_was_sent_before_arrive_and_nothing_comes_back() -> None:
    world = make_world()
    (a, heard_a), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    act(a, sends=[Send(1, Ping(1))], closes=[Close(1, "done")])
    say(world, b, 2, 5)
    world.run(world.now + SECOND)
    assert heard_b.nonces() == [1]
    assert heard_b.events[-1] == Closed(2, "closed by peer")
    assert heard_a.events == [Opened(1)]


@pytest.mark.parametrize("noticed", [True, False])
def test_crash_is_told_at_once_or_only_by_the_next_life_when_the_machine_died(*, noticed: bool) -> None:
    world = make_world()
    (a, heard_a), (b, _) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    b.crash(noticed=noticed)
    say(world, a, 1, 1)
    world.run(world.now + 60 * SECOND)
    assert (Closed(1, "closed by peer") in heard_a.events) is noticed
    if not noticed:
        fresh = Recorder()
        b.start(fresh, Clock(), None)
        say(world, a, 1, 2)
        world.run(world.now + SECOND)
        assert heard_a.events[-1] == Closed(1, "reset")
        assert fresh.events == []


def test_reset_tells_both_ends_and_loses_what_was_on_its_way() -> None:
    world = make_world()
    (a, heard_a), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    say(world, a, 1, 1)
    world.network.reset(world.network.connections()[0])
    world.run(world.now + SECOND)
    assert heard_a.events[-1] == Closed(1, "reset")
    assert heard_b.events[-1] == Closed(2, "reset")
    assert heard_b.nonces() == []


def test_reader_that_pauses_clogs_its_sender_and_drains_it_when_it_goes_on() -> None:
    world = make_world(buffer_bytes=500)
    (a, heard_a), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    act(b, pauses=[Pause(2, paused=True)])
    world.run(world.now + SECOND)
    say(world, a, 1, *range(20))
    world.run(world.now + SECOND)
    assert heard_b.nonces() == []
    assert heard_a.events[-1] == Clogged(1)
    act(b, pauses=[Pause(2, paused=False)])
    world.run(world.now + SECOND)
    assert heard_b.nonces() == list(range(20))
    assert heard_a.events[-1] == Drained(1)


def test_wire_mode_carries_every_frame_through_the_codec() -> None:
    world = make_world(wire=True)
    (a, _), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    ping = Ping(3, 4)
    act(a, sends=[Send(1, ping, b"body")])
    world.run(world.now + SECOND)
    received = [event for event in heard_b.events if isinstance(event, Received)]
    assert received == [Received(2, [(ping, b"body")])]
    assert received[0].messages[0][0] is not ping


def test_slow_link_multiplies_latency_until_it_is_normal_again() -> None:
    world = make_world(latency=1_000_000, jitter=0)
    (a, _), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    world.network.slow(a, b, 1000)
    say(world, a, 1, 1)
    world.run(world.now + SECOND // 5)
    assert heard_b.nonces() == []
    world.run(world.now + SECOND)
    assert heard_b.nonces() == [1]


def test_frames_take_their_size_on_both_lines_and_wait_for_each_other() -> None:
    world = make_world(latency=4, jitter=0, bits_per_second=8_000_000)
    (a, _), (b, heard_b) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    began = world.now
    act(a, sends=[Send(1, Ping(1), b"x" * 100_000), Send(1, Ping(2), b"x" * 100_000)])
    world.run(began + SECOND)
    one, two = [
        now - Clock().read(began) for now, events in heard_b.turns for event in events if isinstance(event, Received)
    ]
    assert one == pytest.approx(200_000_000, rel=0.01), "100 kB at 1 MB/s, up and down"
    assert two == pytest.approx(300_000_000, rel=0.01), "the second is on the way up while the first comes down"


def test_meter_is_told_the_bytes_of_every_frame() -> None:
    world = make_world()
    (a, _), (b, _) = start(world, "a"), start(world, "b")
    connect(world, a, b)
    told: list[tuple[str, str, int]] = []
    world.network.meter = lambda sender, receiver, head, size: told.append((sender.name, receiver.name, size))
    act(a, sends=[Send(1, Ping(1), b"body")])
    flush(world, a)
    assert told == [("a", "b", len(encode_frame(Ping(1), b"body")))]
