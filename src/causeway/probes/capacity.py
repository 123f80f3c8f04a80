"""How many messages per second a broker sustains: what it was set to, or a measured start that its life corrects. Pure.

Owns: the estimate. Must not know: clocks, event loops, how messages or busy time are counted.

Once a second it hears how many messages were handled and which share of that second the event loop was busy. A broker
that handled m messages in a share b of its time would handle m / b in all of it. Such seconds are added up as messages
and busy seconds, and their quotient is the estimate:

- a second counts by how busy it was, so that quiet ones, whose share is mostly housekeeping, hardly move it;
- below BUSY_MIN a second counts for nothing: a broker that idles forgets nothing and learns nothing;
- the start is worth START_SECONDS of busy time, and all of it fades with the busy time that follows, so that the
  estimate follows the traffic there is: messages in large batches cost less than single ones;
- what was really handled in a second of the last minutes is never denied.

What limits a broker beside its event loop, a disk above all, is not seen here.
"""

from __future__ import annotations

import math
from typing import Final

from causeway.errors import ConfigError
from causeway.limits import CAPACITY_MAX

BUSY_MIN: Final = 0.05
"""Below it heartbeats and timers are a large part of what the loop does."""

START_SECONDS: Final = 2.0
"""Busy time that the start value is worth: enough not to be overthrown by one odd second."""

FADE_SECONDS: Final = 30.0
"""Busy time after which what was seen counts 1/e."""

PEAK_SECONDS: Final = 300
"""The best second is remembered for so many further ones, and at most twice that."""


class CapacityMeter:
    """Messages per second, from a start value and what is observed; or fixed by the configuration."""

    def __init__(self, start: float, *, configured: int = 0) -> None:
        if not 0 <= configured <= CAPACITY_MAX:
            raise ConfigError("capacity", configured, f"must lie in 1..{CAPACITY_MAX}, or be 0 to be measured")
        if not (math.isfinite(start) and start > 0):
            raise ConfigError("start", start, "must be a finite number of messages per second above 0")
        self._configured = configured
        self._messages = min(start, CAPACITY_MAX) * START_SECONDS
        self._busy = START_SECONDS
        self._peak = 0.0
        self._peak_before = 0.0
        self._seconds = 0.0

    def capacity(self) -> float:
        """Messages per second that this broker sustains, as far as is known now."""
        if self._configured:
            return float(self._configured)
        return min(max(self._messages / self._busy, self._peak, self._peak_before), float(CAPACITY_MAX))

    def observe(self, messages: int, busy_seconds: float, seconds: float = 1.0) -> None:
        """What happened in the last second (or so): messages handled, and how long the event loop was busy."""
        if not (seconds > 0 and messages >= 0 and busy_seconds >= 0):
            return  # a clock that stood still or went back says nothing
        busy_seconds = min(busy_seconds, seconds)
        self._remember(messages / max(1.0, seconds), seconds)  # a burst in a moment is no second
        if not messages or busy_seconds < BUSY_MIN * seconds:
            return
        kept = math.exp(-busy_seconds / FADE_SECONDS)
        self._messages = self._messages * kept + messages
        self._busy = self._busy * kept + busy_seconds

    def _remember(self, handled: float, seconds: float) -> None:
        """The best second, in two spans of PEAK_SECONDS: the present one and the one before."""
        self._seconds += seconds
        if self._seconds > PEAK_SECONDS:
            self._seconds = 0.0
            self._peak_before, self._peak = self._peak, 0.0
        self._peak = max(self._peak, handled)
