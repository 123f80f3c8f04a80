from __future__ import annotations

import time

from causeway.drivers.aio.clock import SystemClock


def test_clock_starts_at_the_wall_clock_and_never_goes_back() -> None:
    clock = SystemClock()
    before = time.time_ns()
    readings = [clock.now() for _ in range(1000)]
    assert readings == sorted(readings)
    assert abs(readings[0] - before) < 1_000_000_000


def test_clock_ignores_a_jump_of_the_wall_clock() -> None:
    clock = SystemClock()
    first = clock.now()
    moved = time.monotonic_ns()
    assert 0 <= clock.now() - first <= time.monotonic_ns() - moved + 1_000_000_000
