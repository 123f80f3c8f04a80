"""The one timer of a machine.

Owns: one handle of the event loop. Deadlines mostly move later (every answer puts off the next heartbeat), so the
timer is only set anew for an earlier one; otherwise it fires early and is set again then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from causeway.drivers.aio.clock import SystemClock
from causeway.types import MILLISECOND, Instant


class DeadlineTimer:
    """Calls `fire` not later than a deadline; whoever is called looks whether it is due."""

    def __init__(self, clock: SystemClock, fire: Callable[[], None]) -> None:
        self._clock = clock
        self._fire = fire
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._at: Instant = 0

    def arm(self, deadline: Instant | None) -> None:
        """Fire at the deadline, or leave the timer as it is when it fires early enough; None asks for nothing."""
        if deadline is None:
            return
        if self._handle is not None:
            if self._at <= deadline:
                return
            self._handle.cancel()
        # Whole milliseconds, rounded up: that is what the event loop's timers can do.
        wait_ms = max(0, -((self._clock.now() - deadline) // MILLISECOND))
        self._at = deadline
        self._handle = self._loop.call_later(wait_ms / 1000, self._fired)

    def cancel(self) -> None:
        """Fire no more; idempotent."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fired(self) -> None:
        self._handle = None
        self._fire()
