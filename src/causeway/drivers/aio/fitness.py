"""How fit this broker is and what it sustains, for the landmarks of its domains: measured beside the event loop.

Owns: when to measure and when to tell. Must not know: how anything is measured or scored, what a landmark
does with it. Whatever fails in here is logged and costs the figures, never the broker.

Threads measure, in pieces of about a millisecond; the event loop only looks once a second. They are not made nicer than
the loop: one that holds the interpreter while the system lets others run first would hold up the loop itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from causeway.config import BrokerConfig
from causeway.core.agents.news import is_news
from causeway.core.events import Measured
from causeway.drivers.aio.busy import BusyTime
from causeway.drivers.aio.machine import MachineDriver
from causeway.probes.capacity import CapacityMeter
from causeway.probes.needs import read_needs

if TYPE_CHECKING:
    from causeway.probes.scorer import Scorer

log: Final = logging.getLogger("causeway.driver")

SOON_SECONDS: Final = 1.0
"""After the start: brokers that start together need their processors to join first."""

LAP_SECONDS: Final = 1.0
"""What the meter of capacity expects."""

LOOK_LAPS: Final = 5
"""Laps between two looks for news. Each piece of news is a write on every agent of a domain: what comes and goes
within seconds is not worth one."""


class FitnessWatch:
    """Start it when the broker serves; stop it before its machine. One use."""

    def __init__(
        self,
        config: BrokerConfig,
        data: Path | None,
        driver: MachineDriver,
        handled: Callable[[], int],
        *,
        soon_seconds: float = SOON_SECONDS,
        lap_seconds: float = LAP_SECONDS,
    ) -> None:
        self._config = config
        self._data = data
        self._driver = driver
        self._handled = handled
        self._soon_seconds = soon_seconds
        self._lap_seconds = lap_seconds
        self._told: Measured | None = None
        self._scorer: Scorer | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Measure soon, and from then on."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Measure no more. Waits for no probe; idempotent."""
        if self._scorer is not None:
            self._scorer.stop()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        try:
            await asyncio.sleep(self._soon_seconds)
            scorer, start = await asyncio.get_running_loop().run_in_executor(None, self._prepare)
            self._scorer = scorer
            scorer.start()
            await self._watch(scorer, CapacityMeter(start, configured=self._config.capacity))
        except (Exception, SystemExit):  # somebody else's probe may raise anything where it is made
            log.exception("broker %s measures itself no longer; everything else goes on", self._config.name)

    def _prepare(self) -> tuple[Scorer, float]:
        """In a thread: find what measures. What that needs is loaded here, for nobody else needs it."""
        from causeway.probes.calibration import calibrate
        from causeway.probes.registry import find_probes
        from causeway.probes.scorer import Scorer

        # Calibrated first: the probes must not take our own work for somebody else's.
        start = float(self._config.capacity) or calibrate().start
        needs = read_needs(self._config.probes)
        probes = find_probes([need.probe for need in needs], self._data)
        scorer = Scorer(needs, probes, interval_seconds=LOOK_LAPS * self._lap_seconds)
        scorer.measure()
        return scorer, start

    async def _watch(self, scorer: Scorer, meter: CapacityMeter) -> None:
        busy, handled = BusyTime(self._driver), self._handled()
        while True:
            self._look(scorer, meter)
            for _ in range(LOOK_LAPS):
                await asyncio.sleep(self._lap_seconds)
                before, handled = handled, self._handled()
                meter.observe(handled - before, *busy.lap())

    def _look(self, scorer: Scorer, meter: CapacityMeter) -> None:
        now = Measured(fitness=round(1000 * scorer.score().value), capacity=round(meter.capacity()))
        told = self._told
        if told is None or is_news((told.fitness, now.fitness), (told.capacity, now.capacity)):
            self._told = now
            self._driver.post(now)
