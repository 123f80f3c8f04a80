"""The timers of one part of a machine: a heap of (instant, sequence, what), with lazy cancellation.

Setting a timer again for the same `what` replaces it, so there are no stale firings and no timer ids. All parts of a
machine share one Alarm, which knows when to look at any of them at all.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from causeway.types import Instant

What = TypeVar("What", bound=Hashable)

NEVER: Final[Instant] = 1 << 63


class Alarm:
    """When any timer of a machine may be due: never later than the earliest, sometimes earlier.

    Timers are set far more often than they fire, and every turn asks for the next deadline. So a new timer only lowers
    `at` (NEVER when none is set), one that is cancelled leaves it alone, and the parts are asked again when that
    instant has come.
    """

    __slots__ = ("_sources", "at")

    def __init__(self) -> None:
        self.at: Instant = 0
        self._sources: list[Callable[[], Instant | None]] = []

    def watch(self, source: Callable[[], Instant | None]) -> None:
        """Ask this one too when the alarm is set anew."""
        self._sources.append(source)

    def lower(self, at: Instant) -> None:
        """Something may be due then."""
        if at < self.at:
            self.at = at

    def renew(self) -> None:
        """What was due has been seen to: the earliest of what is left."""
        self.at = min((due for source in self._sources if (due := source()) is not None), default=NEVER)


class Deadlines(Generic[What]):
    """Timers keyed by what they are for; deterministic in the order they were set."""

    __slots__ = ("_alarm", "_due", "_heap", "_sequence")

    def __init__(self, alarm: Alarm | None = None) -> None:
        self._alarm = alarm or Alarm()
        self._alarm.watch(self.next)
        self._heap: list[tuple[Instant, int, What]] = []
        self._due: dict[What, tuple[Instant, int]] = {}
        self._sequence = 0

    def set(self, what: What, at: Instant) -> None:
        """Fire `what` at `at`, instead of whenever it was set for before."""
        self._sequence += 1
        self._due[what] = (at, self._sequence)
        heapq.heappush(self._heap, (at, self._sequence, what))
        if at < self._alarm.at:
            self._alarm.at = at

    def set_if_unset(self, what: What, at: Instant) -> None:
        """As `set`, unless `what` is already waiting."""
        if what not in self._due:
            self.set(what, at)

    def set_sooner(self, what: What, at: Instant) -> None:
        """As `set`, unless `what` is due before that."""
        if what not in self._due or self._due[what][0] > at:
            self.set(what, at)

    def cancel(self, what: What) -> None:
        """Forget `what`; nothing happens if it was not set."""
        self._due.pop(what, None)

    def clear(self) -> None:
        """Forget everything."""
        self._due.clear()
        self._heap.clear()

    def __contains__(self, what: object) -> bool:
        return what in self._due

    def next(self) -> Instant | None:
        """The earliest instant something is due."""
        heap, due = self._heap, self._due
        while heap:
            at, sequence, what = heap[0]
            if due.get(what) == (at, sequence):
                return at
            heapq.heappop(heap)
        return None

    def pop_due(self, now: Instant) -> list[What]:
        """Everything due by now, earliest first."""
        fired: list[What] = []
        while True:
            at = self.next()
            if at is None or at > now:
                return fired
            what = heapq.heappop(self._heap)[2]
            del self._due[what]
            fired.append(what)
