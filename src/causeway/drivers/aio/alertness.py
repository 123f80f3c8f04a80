"""Staying awake for a moment: whoever has just heard something is likely to hear an answer soon.

Being woken from sleep takes longer than a broker's work for a message, so after each arrival the loop looks for more
instead of sleeping. Owns: for how long, and whether it is worth it. It gives way: at every look the core goes to
whoever wants it, a core that somebody wanted is left alone, and where nothing ever follows it soon stops trying.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Final

from causeway.types import MICROSECOND, Duration, Instant

TRUST_MAX: Final = 8
TRUST_AT_FIRST: Final = 4
"""So many vain vigils in a row end them; each that was rewarded earns one more."""

RETRY_AFTER: Final = 32
"""Without trust, so many arrivals pass before one is given a try."""

WANTED: Final[Duration] = 50 * MICROSECOND
"""Giving way took so long: somebody else has work for this core."""


class Alertness:
    """Vigils of one event loop, each at most `span` long after the last arrival."""

    __slots__ = ("_heard", "_looked", "_loop", "_rewarded", "_span", "_trust", "_until", "_untried", "awake", "watched")

    def __init__(self, loop: asyncio.AbstractEventLoop, span: Duration) -> None:
        self._loop = loop
        self._span = span
        self._until = 0
        self.awake = False
        """A vigil is on."""
        self.watched: Duration = 0
        """All rounds of the loop so far in which nothing was heard: processor time, but no work."""
        self._looked: Instant = 0
        self._heard = False
        """Something came since the last look."""
        self._rewarded = False
        """Something came during this vigil."""
        self._trust = TRUST_AT_FIRST
        self._untried = 0

    def heard(self) -> None:
        """Something arrived."""
        if self.awake:
            self._rewarded = True
            self._heard = True
        elif self._trust or self._untried >= RETRY_AFTER:
            self.awake = True
            self._rewarded = False
            self._heard = True
            self._untried = 0
            self._loop.call_soon(self._look)
        else:
            self._untried += 1
            return
        self._until = time.monotonic_ns() + self._span

    def _look(self) -> None:
        """Once per round of the loop, which does not sleep as long as this is asked for again."""
        now = time.monotonic_ns()
        if not self._heard:
            self.watched += now - self._looked
        self._heard = False
        self._looked = now
        if now < self._until:
            os.sched_yield()
            if time.monotonic_ns() - now < WANTED:
                self._loop.call_soon(self._look)
                return
        self.awake = False
        self._trust = min(self._trust + 1, TRUST_MAX) if self._rewarded else max(self._trust - 1, 0)
