"""Batches in memory that wait for an instant: to expire, or to become deliverable.

Owns: which of them is next. Must not know: what happens then. Batches that end before their time leave their entries
behind; when those are most of all, they are dropped, so that settled bodies are not kept alive by them.
"""

from __future__ import annotations

import heapq
from typing import Final

from causeway.core.mail.batches import Batch
from causeway.types import Instant

_PURGE_MIN: Final = 64


class Timers:
    """Timers of one kind. The owner sees to it that a batch has one at most, and tells of its end."""

    __slots__ = ("_dead", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, Batch]] = []
        self._dead = 0

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, at: Instant, batch: Batch) -> None:
        """A batch waits."""
        heapq.heappush(self._heap, (at, batch.rank, batch))

    def next(self) -> Instant | None:
        """When the first one is due."""
        heap = self._heap
        while heap and heap[0][2].open == 0:
            heapq.heappop(heap)
            self._dead -= 1
        return heap[0][0] if heap else None

    def pop_due(self, now: Instant) -> Batch | None:
        """One that is due, without its timer."""
        due = self.next()
        return heapq.heappop(self._heap)[2] if due is not None and due <= now else None

    def end(self) -> None:
        """A batch that has a timer is settled to the end."""
        self._dead += 1
        if self._dead > _PURGE_MIN and self._dead * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].open]
            heapq.heapify(self._heap)
            self._dead = 0
