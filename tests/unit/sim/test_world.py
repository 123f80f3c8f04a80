from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from causeway.core.effects import Effects, Persist, Send
from causeway.core.events import DriverEvent, Persisted
from causeway.core.messages import Ping
from causeway.sim.clock import EPOCH, Clock
from causeway.sim.world import ProductCrash
from causeway.store.base import LOCAL, Put
from tests.unit.sim.fake_machines import Recorder, act, connect, flush, make_disk, make_world, say, start


def test_world_runs_what_is_due_at_one_instant_in_the_order_it_was_scheduled() -> None:
    world, seen = make_world(), list[int]()
    for number in (1, 2, 3):
        world.at(50, seen.append, number)
    world.at(10, seen.append, 0)
    world.run(50)
    assert seen == [0, 1, 2, 3]
    assert world.now == 50


def test_process_hears_everything_that_gathered_while_it_was_busy_in_one_turn() -> None:
    world = make_world()
    a, _ = start(world, "a")
    b, recorder = start(world, "b")
    connect(world, a, b)
    b.cost_turn = 1_000_000_000
    say(world, a, 1, 1)
    world.run(world.now + 500_000_000)
    say(world, a, 1, 2, 3, 4)
    world.run(world.now + 2_000_000_000)
    assert [len(events) for _, events in recorder.turns if events][-2:] == [1, 3]


def test_process_wakes_at_its_deadline_by_its_own_clock() -> None:
    world = make_world()
    process = world.process("a", ("a", 1))
    machine = Recorder()
    machine.deadline = EPOCH + 1_000_000_000
    process.start(machine, Clock(0, 100_000_000), None)  # runs 10 % fast
    world.run(2_000_000_000)
    (woken,) = [now - EPOCH for now, _ in machine.turns[1:]]
    assert 1_000_000_000 <= woken <= 1_000_000_002
    assert abs(Clock(0, 100_000_000).when(EPOCH + 1_000_000_000) - 909_090_909) <= 1


def test_stopped_process_sends_and_hears_nothing_until_resumed() -> None:
    world = make_world()
    a, heard_a = start(world, "a")
    b, heard_b = start(world, "b", disk=make_disk(commit_ns=1_000_000))
    connect(world, a, b)
    act(b, persists=[Persist([Put(LOCAL, b"k", 0, b"v")], [Send(2, Ping(7))], 5)])
    flush(world, b)
    b.stop()
    say(world, a, 1, 1)
    world.run(world.now + 10_000_000_000)
    assert heard_a.nonces() == []
    assert heard_b.nonces() == []
    b.resume()
    world.run(world.now + 1_000_000_000)
    assert heard_a.nonces() == [7]
    assert heard_b.nonces() == [1]
    assert Persisted(5) in heard_b.events


def test_crashed_process_gets_nothing_of_its_former_life() -> None:
    world = make_world()
    disk = make_disk(commit_ns=1_000_000)
    a, recorder = start(world, "a", disk=disk)
    recorder.deadline = EPOCH + 5_000_000
    act(a, persists=[Persist([Put(LOCAL, b"k", 0, b"v")], [], 5)])
    world.run(world.now)
    a.crash(noticed=True)
    fresh = Recorder()
    a.start(fresh, Clock(), disk)
    world.run(world.now + 1_000_000_000)
    assert fresh.events == []


class Broken(Recorder):
    def handle(self, events: Sequence[DriverEvent], now: int) -> Effects:
        raise KeyError("oops")


class Spinning(Recorder):
    def next_deadline(self) -> int | None:
        return 0


@pytest.mark.parametrize(("machine", "detail"), [(Broken(), "oops"), (Spinning(), "stays in the past")])
def test_world_reports_product_code_that_raises_or_spins_as_a_crash(machine: Recorder, detail: str) -> None:
    world = make_world()
    world.process("a", ("a", 1)).start(machine, Clock(), None)
    with pytest.raises(ProductCrash, match=detail):
        world.run(10_000_000_000)


def _digest(seed: int, say_what: int) -> str:
    world = make_world(seed, loss=0.2, duplicate=0.2, reorder=0.2)
    a, _ = start(world, "a")
    b, _ = start(world, "b")
    connect(world, a, b)
    rng = random.Random(say_what)
    for _ in range(50):
        say(world, a, 1, rng.randrange(100))
    world.run(world.now + 1_000_000_000)
    return world.run_log.digest()


def test_digest_is_the_same_for_the_same_seed_and_differs_for_anything_else() -> None:
    assert _digest(1, 1) == _digest(1, 1)
    assert len({_digest(1, 1), _digest(2, 1), _digest(1, 2)}) == 3
