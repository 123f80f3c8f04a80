"""What is delivered next: the ready parts of a mailbox, by priority and place.

Owns: the order. Must not know: who takes them, and what selectors want (a part that was looked at for them is parked).
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from causeway.core.mail.batches import READY, BatchPart

if TYPE_CHECKING:
    from causeway.core.mail.selection import Choice

_PURGE_MIN: Final = 64


class Parked(NamedTuple):
    """A part that was looked at for all selectors there are, or were then."""

    part: BatchPart
    wants: tuple[Choice, ...]
    """Who wants all of it; the others want nothing of it."""


class _Lane:
    """Parts of one priority: new ones in the order they came, and those that came back. It lasts while it has any."""

    __slots__ = ("back", "fresh")

    def __init__(self) -> None:
        self.fresh: deque[BatchPart] = deque()
        self.back: list[tuple[int, BatchPart]] = []


class Lanes:
    """What is delivered next: the highest priority first, within it the order of arrival, also for what came back."""

    __slots__ = ("_filled", "_lanes", "_mask", "_only", "_stale", "count", "parked")

    def __init__(self, *, flat: bool = False) -> None:
        self._mask = 0 if flat else 15
        """Flat lanes know one priority: what has a place in a later order must keep it."""
        self._lanes: dict[int, _Lane] = {}
        """By priority."""
        self._filled = 0
        """Bit p is set when there is a lane of priority p, if only with stale entries."""
        self._only: BatchPart | None = None
        """The only entry there is, never stale, instead of a lane: most mailboxes have one part at a time."""
        self._stale = 0
        self.count = 0
        """Messages in READY parts."""
        self.parked: dict[int, Parked] = {}
        """READY parts beside the lanes, by their order."""

    def append(self, part: BatchPart) -> None:
        """A part behind all others of its priority."""
        part.queued = True
        self.count += part.stop - part.start
        if not self._filled and self._only is None:
            self._only = part
        else:
            self._lane(part).fresh.append(part)

    def _lane(self, part: BatchPart) -> _Lane:
        """Where a part belongs; the only one goes to its own lane first."""
        only, self._only = self._only, None
        if only is not None:
            self._lane(only).fresh.append(only)
        priority = part.batch.info.priority & self._mask
        if not self._filled >> priority & 1:
            self._filled |= 1 << priority
            self._lanes[priority] = _Lane()
        return self._lanes[priority]

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
        if not self._filled and self._only is None:
            self._only = part
        else:
            heapq.heappush(self._lane(part).back, (part.key, part))

    def leave(self, part: BatchPart) -> None:
        """A READY part stops being ready without having been taken."""
        self.count -= part.stop - part.start
        if part is self._only:
            self._only = None
            part.queued = False
        elif part.queued:
            self._stale += 1
        elif self.parked:
            self.parked.pop(part.order, None)

    def take(self) -> BatchPart | None:
        """The next READY part, without its entry; it still counts until it leaves."""
        only = self._only
        if only is not None:
            self._only = None
            only.queued = False
            return only
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
            self._end(priority)
        return None

    def _end(self, priority: int) -> None:
        self._filled ^= 1 << priority
        del self._lanes[priority]

    def first(self) -> BatchPart | None:
        """What `take` would take; it keeps its entry."""
        if self._only is not None:
            return self._only
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
            self._end(priority)
        return None

    def unpark(self) -> None:
        """All parts beside the lanes come back to their places."""
        for part, _ in self.parked.values():
            part.queued = True
            self._lane(part).back.append((part.key, part))
        self.parked.clear()
        for lane in self._lanes.values():
            heapq.heapify(lane.back)

    def waiting(self, priority: int) -> int:
        """Entries of one priority."""
        if self._only is not None:
            return int((self._only.batch.info.priority ^ priority) & self._mask == 0)
        lane = self._lanes.get(priority & self._mask)
        return 0 if lane is None else len(lane.fresh) + len(lane.back)

    def purge(self) -> None:
        """Drop stale entries when they are most of all, so that settled bodies are not kept alive by them."""
        if self._stale <= _PURGE_MIN:
            return
        if self._stale * 2 < sum(len(lane.fresh) + len(lane.back) for lane in self._lanes.values()):
            return
        for lane in self._lanes.values():
            for part in (*lane.fresh, *(part for _, part in lane.back)):
                part.queued = part.state == READY
            lane.fresh = deque(part for part in lane.fresh if part.queued)
            lane.back = [entry for entry in lane.back if entry[1].queued]
            heapq.heapify(lane.back)
        self._stale = 0
