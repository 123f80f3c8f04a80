"""Which share of its time an event loop has work to do, for the meter of capacity.

Owns: how busy time is counted. Must not know: what the work is.

Nothing is counted per message. Two figures are there anyway, each too small in its own way, so the greater one counts:

- what turns took, by the clock: with the time in which somebody else had the core, without reading from sockets and
  decoding, which happen before a turn;
- the processor time of the loop's thread, asked of the system: with everything the loop does, without the time in which
  somebody else had the core. Vigils (`alertness`) are taken off it: they are given up as soon as there is work.
"""

from __future__ import annotations

import time

from causeway.drivers.aio.machine import MachineDriver
from causeway.types import SECOND


class BusyTime:
    """Laps of one driver's loop; made and asked in the thread of that loop."""

    def __init__(self, driver: MachineDriver) -> None:
        self._driver = driver
        self._before = self._read()

    def lap(self) -> tuple[float, float]:
        """Since the last lap: busy seconds, and seconds in all."""
        before, now = self._before, self._read()
        self._before = now
        clock, turned, processor = (later - earlier for later, earlier in zip(now, before, strict=True))
        return min(max(turned, processor, 0), clock) / SECOND, clock / SECOND

    def _read(self) -> tuple[int, int, int]:
        alertness = self._driver.alertness
        watched = alertness.watched if alertness is not None else 0
        return time.monotonic_ns(), self._driver.turned, time.thread_time_ns() - watched
