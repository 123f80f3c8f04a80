from __future__ import annotations

import asyncio

from causeway.drivers.aio.clock import SystemClock
from causeway.drivers.aio.timer import DeadlineTimer
from causeway.types import MILLISECOND, SECOND
from tests.unit.drivers.aio.stage import Stage, wait_until


class Bell:
    def __init__(self) -> None:
        self.clock = SystemClock()
        self.rung: list[int] = []
        self.timer = DeadlineTimer(self.clock, lambda: self.rung.append(self.clock.now()))


async def test_timer_fires_at_its_deadline() -> None:
    bell = Bell()
    deadline = bell.clock.now() + 30 * MILLISECOND
    bell.timer.arm(deadline)
    await wait_until(lambda: bell.rung)
    # Event loops may be a millisecond early; the driver looks again. How late depends on the machine's load.
    assert -2 * MILLISECOND <= bell.rung[0] - deadline <= 2 * SECOND


async def test_deadline_in_the_past_fires_at_once() -> None:
    bell = Bell()
    bell.timer.arm(bell.clock.now() - SECOND)
    await wait_until(lambda: bell.rung)


async def test_earlier_deadline_replaces_a_later_one() -> None:
    bell = Bell()
    bell.timer.arm(bell.clock.now() + 3600 * SECOND)
    bell.timer.arm(bell.clock.now() + 5 * MILLISECOND)
    await wait_until(lambda: bell.rung)


async def test_later_deadline_leaves_the_timer_alone() -> None:
    bell = Bell()
    bell.timer.arm(bell.clock.now() + 5 * MILLISECOND)
    bell.timer.arm(bell.clock.now() + 3600 * SECOND)
    bell.timer.arm(None)
    await wait_until(lambda: bell.rung)
    assert len(bell.rung) == 1


async def test_cancelled_timer_does_not_fire() -> None:
    bell, other = Bell(), Bell()
    bell.timer.arm(bell.clock.now() + MILLISECOND)
    bell.timer.cancel()
    bell.timer.cancel()
    other.timer.arm(bell.clock.now() + 10 * MILLISECOND)
    await wait_until(lambda: other.rung)
    assert bell.rung == []


async def test_machine_is_called_when_its_deadline_has_come_and_not_before() -> None:
    async with Stage() as stage:
        machine = stage.machine
        await wait_until(lambda: machine.turns)
        deadline = machine.deadline = stage.driver.clock.now() + 40 * MILLISECOND
        stage.driver.wake()
        await wait_until(lambda: machine.deadline is None)
        assert machine.nows[-1] >= deadline
        assert machine.nows[-1] - deadline < 2 * SECOND
        assert len(machine.turns) == 3


async def test_deadline_that_moves_later_calls_the_machine_once() -> None:
    async with Stage() as stage:
        machine = stage.machine
        await wait_until(lambda: machine.turns)
        machine.deadline = stage.driver.clock.now() + 5 * MILLISECOND
        stage.driver.wake()
        await asyncio.sleep(0)
        deadline = machine.deadline = stage.driver.clock.now() + 60 * MILLISECOND
        stage.driver.wake()
        await wait_until(lambda: machine.deadline is None)
        due = [now for now in machine.nows if now >= deadline]
        assert len(due) == 1
        assert len(machine.turns) <= 4
