"""All timers of one machine: a heap of (instant, sequence, what), with lazy cancellation.

Setting a timer again for the same `what` replaces it, so there are no stale firings and no timer ids.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

from causeway.types import Instant

What = TypeVar("What", bound=Hashable)


class Deadlines(Generic[What]):
    """Timers keyed by what they are for; deterministic in the order they were set."""

    __slots__ = ("_due", "_heap", "_sequence")

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, What]] = []
        self._due: dict[What, tuple[Instant, int]] = {}
        self._sequence = 0

    def set(self, what: What, at: Instant) -> None:
        """Fire `what` at `at`, instead of whenever it was set for before."""
        self._sequence += 1
        self._due[what] = (at, self._sequence)
        heapq.heappush(self._heap, (at, self._sequence, what))

    def set_if_unset(self, what: What, at: Instant) -> None:
        """As `set`, unless `what` is already waiting."""
        if what not in self._due:
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
