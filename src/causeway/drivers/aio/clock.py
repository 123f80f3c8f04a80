"""The clock of a driver: the Unix epoch as first read, then monotonic. Machines never see the wall clock jump."""

from __future__ import annotations

import time

from causeway.types import Instant


class SystemClock:
    """Nanoseconds since the Unix epoch, which never go back while the process lives."""

    __slots__ = ("_origin",)

    def __init__(self) -> None:
        self._origin = time.time_ns() - time.monotonic_ns()

    def now(self) -> Instant:
        """The present instant."""
        return self._origin + time.monotonic_ns()
