"""What is delivered next: the ready parts of a mailbox, by priority and place.

Owns: the order. Must not know: who takes them, and what selectors want (a part that was looked at for them is parked).
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from causeway.core.mail.batches import PRIORITY_COUNT, READY, BatchPart

if TYPE_CHECKING:
    from causeway.core.mail.selection import Choice

_PURGE_MIN: Final = 64


class Parked(NamedTuple):
    """A part that was looked at for all selectors there are, or were then."""

    part: BatchPart
    wants: tuple[Choice, ...]
    """Who wants all of it; the others want nothing of it."""


class _Lane:
    """Parts of one priority: new ones in the order they came, and those that came back."""

    __slots__ = ("back", "fresh")

    def __init__(self) -> None:
        self.fresh: deque[BatchPart] = deque()
        self.back: list[tuple[int, BatchPart]] = []


class Lanes:
    """What is delivered next: the highest priority first, within it the order of arrival, also for what came back."""

    __slots__ = ("_filled", "_lanes", "_mask", "_stale", "count", "parked")

    def __init__(self, *, flat: bool = False) -> None:
        self._mask = 0 if flat else 15
        """Flat lanes know one priority: what has a place in a later order must keep it."""
        self._lanes = [_Lane() for _ in range(PRIORITY_COUNT)]
        self._filled = 0
        """Bit p is set when the lane of priority p may have entries."""
        self._stale = 0
        self.count = 0
        """Messages in READY parts."""
        self.parked: dict[int, Parked] = {}
        """READY parts beside the lanes, by their order."""

    def append(self, part: BatchPart) -> None:
        """A part behind all others of its priority."""
        part.queued = True
        self.count += part.stop - part.start
        priority = part.batch.info.priority & self._mask
        self._filled |= 1 << priority
        self._lanes[priority].fresh.append(part)

    def put_back(self, part: BatchPart) -> None:
        """A part that became ready again."""
        self.count += part.stop - part.start
        self.requeue(part)

    def requeue(self, part: BatchPart) -> None:
        """An entry for a READY part that is counted already."""
        if part.queued:
            self._stale -= 1
            return
        part.queued = True
        priority = part.batch.info.priority & self._mask
        self._filled |= 1 << priority
        heapq.heappush(self._lanes[priority].back, (part.key, part))

    def leave(self, part: BatchPart) -> None:
        """A READY part stops being ready without having been taken."""
        self.count -= part.stop - part.start
        if part.queued:
            self._stale += 1
        elif self.parked:
            self.parked.pop(part.order, None)

    def take(self) -> BatchPart | None:
        """The next READY part, without its entry; it still counts until it leaves."""
        while self._filled:
            priority = self._filled.bit_length() - 1
            lane = self._lanes[priority]
            fresh, back = lane.fresh, lane.back
            while fresh or back:
                if back and (not fresh or back[0][0] < fresh[0].key):
                    part = heapq.heappop(back)[1]
                else:
                    part = fresh.popleft()
                part.queued = False
                if part.state == READY:
                    return part
                self._stale -= 1
            self._filled ^= 1 << priority
        return None

    def first(self) -> BatchPart | None:
        """What `take` would take; it keeps its entry."""
        while self._filled:
            priority = self._filled.bit_length() - 1
            lane = self._lanes[priority]
            fresh, back = lane.fresh, lane.back
            while fresh or back:
                returned = bool(back) and (not fresh or back[0][0] < fresh[0].key)
                part = back[0][1] if returned else fresh[0]
                if part.state == READY:
                    return part
                part.queued = False
                self._stale -= 1
                if returned:
                    heapq.heappop(back)
                else:
                    fresh.popleft()
            self._filled ^= 1 << priority
        return None

    def unpark(self) -> None:
        """All parts beside the lanes come back to their places."""
        for part, _ in self.parked.values():
            part.queued = True
            priority = part.batch.info.priority & self._mask
            self._filled |= 1 << priority
            self._lanes[priority].back.append((part.key, part))
        self.parked.clear()
        for lane in self._lanes:
            heapq.heapify(lane.back)

    def waiting(self, priority: int) -> int:
        """Entries of one priority."""
        lane = self._lanes[priority & self._mask]
        return len(lane.fresh) + len(lane.back)

    def purge(self) -> None:
        """Drop stale entries when they are most of all, so that settled bodies are not kept alive by them."""
        if self._stale <= _PURGE_MIN:
            return
        if self._stale * 2 < sum(len(lane.fresh) + len(lane.back) for lane in self._lanes):
            return
        for lane in self._lanes:
            for part in (*lane.fresh, *(part for _, part in lane.back)):
                part.queued = part.state == READY
            lane.fresh = deque(part for part in lane.fresh if part.queued)
            lane.back = [entry for entry in lane.back if entry[1].queued]
            heapq.heapify(lane.back)
        self._stale = 0
