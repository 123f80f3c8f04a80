"""A broker tells its machine how fit it is: soon, again when that is news, and whatever probes do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from causeway.config import BrokerConfig
from causeway.core.events import Measured
from causeway.drivers.aio import fitness as fitness_module
from causeway.drivers.aio.fitness import FitnessWatch
from causeway.drivers.aio.machine import MachineDriver
from causeway.errors import ConfigError
from causeway.probes import calibration, registry
from tests.unit.drivers.aio.stage import StageMachine, wait_until

LAP_SECONDS = 0.002


class Tape:
    """A probe of the test's."""

    name, unit = "tape", "reels"

    def __init__(self) -> None:
        self.reels = 6.0
        self.asked = 0

    def measure(self) -> float | None:
        self.asked += 1
        if self.reels < 0:
            raise OSError("jammed")
        return self.reels


class Hall:
    """A watch on a stage machine, with one probe."""

    def __init__(self) -> None:
        self.tape = Tape()
        self.machine = StageMachine()
        self.driver = MachineDriver(self.machine, on_crash=lambda error: pytest.fail(str(error)))
        self.watch: FitnessWatch | None = None

    def begin(self, **settings: Any) -> None:
        config = BrokerConfig(name="hall", founder=True, domains=("main",), probes="tape=6", **settings)
        handled = lambda: self.machine.handled  # noqa: E731
        self.watch = FitnessWatch(config, None, self.driver, handled, soon_seconds=0, lap_seconds=LAP_SECONDS)
        self.watch.start()

    @property
    def told(self) -> list[Measured]:
        return self.machine.events(Measured)


@pytest.fixture
async def hall(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hall]:
    made = Hall()
    monkeypatch.setattr(registry, "find_probes", lambda names, data: dict.fromkeys(names, made.tape))
    yield made
    if made.watch is not None:
        await made.watch.stop()
    await made.driver.stop()


async def test_first_figures_come_soon_and_the_same_ones_are_not_repeated(hall: Hall) -> None:
    hall.begin(capacity=700)
    await wait_until(lambda: hall.told)
    seen = hall.tape.asked
    await wait_until(lambda: hall.tape.asked > seen + 3)
    assert hall.told == [Measured(fitness=1000, capacity=700)]


async def test_fitness_that_fell_is_told_and_a_failing_probe_is_only_unfit(hall: Hall) -> None:
    hall.begin(capacity=700)
    await wait_until(lambda: hall.told)
    hall.tape.reels = 3.0
    await wait_until(lambda: len(hall.told) == 2)
    hall.tape.reels = -1.0
    await wait_until(lambda: len(hall.told) == 3)
    assert [told.fitness for told in hall.told] == [1000, 368, 0]


async def test_capacity_begins_with_the_calibration_and_follows_what_is_handled(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def calibrate() -> calibration.Calibration:
        threads.append(threading.current_thread().name)
        return calibration.Calibration(batched=900.0, single=500.0)

    monkeypatch.setattr(calibration, "calibrate", calibrate)
    monkeypatch.setattr(fitness_module, "BusyTime", lambda driver: Busy(10.0, 20.0))
    hall.begin()
    await wait_until(lambda: hall.told)
    assert hall.told[0].capacity == 500
    assert threads != [threading.main_thread().name], "not on the event loop"
    hall.machine.handled += 50_000
    await wait_until(lambda: len(hall.told) >= 2)
    assert hall.told[1].capacity > 2000


class Busy:
    """Laps that are what the test says."""

    def __init__(self, busy: float, seconds: float) -> None:
        self._lap = (busy, seconds)

    def lap(self) -> tuple[float, float]:
        return self._lap


@pytest.mark.parametrize("error", [ConfigError("probes", "tape", "is gone"), SystemExit(3)], ids=["refused", "exit"])
async def test_probes_that_cannot_be_made_cost_the_figures_only(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    def find(*_: object) -> None:
        raise error

    monkeypatch.setattr(registry, "find_probes", find)
    hall.begin(capacity=700)
    await wait_until(lambda: "measures itself no longer" in caplog.text)
    assert not hall.told


async def test_stop_waits_for_no_probe_and_nothing_is_measured_afterwards(hall: Hall) -> None:
    asked, let_go = threading.Event(), threading.Event()
    hall.begin(capacity=700)
    await wait_until(lambda: hall.told)
    hall.tape.measure = hang(asked, let_go)  # type: ignore[method-assign]
    await wait_until(asked.is_set)
    assert hall.watch is not None
    async with asyncio.timeout(0.5):
        await hall.watch.stop()
    let_go.set()
    await wait_until(lambda: not threads_of_probes())
    assert len(hall.told) == 1


def hang(asked: threading.Event, let_go: threading.Event) -> Callable[[], float | None]:
    def measure() -> float | None:
        asked.set()
        return float(let_go.wait(10.0))

    return measure


def threads_of_probes() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name in ("causeway-probe-tape", "causeway-scorer")]
