"""How busy a loop is: turns by the clock, or the thread's processor time without its vigils, whichever is more."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from causeway.drivers.aio.busy import BusyTime
from causeway.drivers.aio.machine import MachineDriver
from causeway.types import MILLISECOND, SECOND
from tests.unit.drivers.aio.stage import StageMachine


@pytest.mark.parametrize(
    ("turned", "processor", "watched", "busy"),
    [
        (300, 200, 0, 0.3),
        (200, 300, 0, 0.3),
        (200, 900, 650, 0.25),
        (100, 900, 890, 0.1),
        (1500, 0, 0, 1.0),
        (0, 0, 50, 0.0),
    ],
    ids=["core shared", "much to read", "vigils", "vigils only", "a long turn", "idle"],
)
def test_busy_is_the_greater_of_both_figures(
    monkeypatch: pytest.MonkeyPatch, turned: int, processor: int, watched: int, busy: float
) -> None:
    clock, used = [5 * SECOND], [7 * SECOND]
    monkeypatch.setattr(time, "monotonic_ns", lambda: clock[0])
    monkeypatch.setattr(time, "thread_time_ns", lambda: used[0])
    driver = SimpleNamespace(turned=3 * SECOND, alertness=SimpleNamespace(watched=SECOND))
    laps = BusyTime(driver)  # type: ignore[arg-type]
    clock[0] += SECOND
    used[0] += processor * MILLISECOND
    driver.turned += turned * MILLISECOND
    driver.alertness.watched += watched * MILLISECOND
    assert laps.lap() == (pytest.approx(busy), 1.0)
    clock[0] += SECOND
    assert laps.lap() == (0.0, 1.0), "each lap stands for itself"


async def test_a_real_loop_counts_its_turns() -> None:
    def work(*_: object) -> None:
        end = time.monotonic_ns() + 20 * MILLISECOND
        while time.monotonic_ns() < end:
            pass

    driver = MachineDriver(StageMachine(lambda event, effects: work()), on_crash=pytest.fail)
    laps = BusyTime(driver)
    driver.post(object())  # type: ignore[arg-type]
    await asyncio.sleep(0)
    busy, seconds = laps.lap()
    assert driver.turned >= 20 * MILLISECOND
    assert 0.02 <= busy <= seconds
    await driver.stop()
