"""Bandwidth: every host has one line to the router in the middle, and frames wait for each other on it, both ways.

Off unless a run sets `Weather.bits_per_second`: then a frame takes its size over the sender's line, travels, and takes
its size again over the receiver's. Owns: when each line is free. Must not know: what is sent, nor why.
"""

from __future__ import annotations

from causeway.types import SECOND, Duration, Instant


class Lines:
    """The lines of all hosts, by the numbers of their processes."""

    def __init__(self) -> None:
        self._up: dict[int, Instant] = {}
        self._down: dict[int, Instant] = {}

    def leave(self, host: int, now: Instant, duration: Duration) -> Instant:
        """When a frame that is sent now has left its host."""
        self._up[host] = gone = max(now, self._up.get(host, 0)) + duration
        return gone

    def enter(self, host: int, now: Instant, duration: Duration) -> Instant:
        """When a frame that reaches the router now has arrived at its host."""
        self._down[host] = there = max(now, self._down.get(host, 0)) + duration
        return there


def time_on_line(size: int, bits_per_second: int) -> Duration:
    """How long a line is taken by so many bytes."""
    return 8 * size * SECOND // bits_per_second
