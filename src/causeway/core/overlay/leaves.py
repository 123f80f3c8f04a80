"""Distances on the ring of keys, and the leaf set: the brokers next to us on both sides (Rowstron & Druschel, 2.1).

Pure data. Members are kept sorted by their clockwise distance from us ("offset"), so that the first half lies behind
us clockwise and the last half counter-clockwise; with fewer than LEAVES_MAX members it is the whole ring.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from causeway.limits import LEAVES_MAX
from causeway.types import BrokerId, Key, Peer

RING: Final = 1 << 128
MASK: Final = RING - 1
HALF: Final = RING >> 1
SIDE: Final = LEAVES_MAX // 2


def place(key: Key) -> int:
    """A key as a number: its place on the ring."""
    return int.from_bytes(key, "big")


def distance(a: int, b: int) -> int:
    """The shorter way around the ring."""
    apart = (a - b) & MASK
    return apart if apart <= HALF else RING - apart


class LeafSet:
    """Up to LEAVES_MAX brokers around `me`."""

    __slots__ = ("_ids", "_me", "_offsets", "_peers")

    def __init__(self, me: BrokerId) -> None:
        self._me = place(me)
        self._peers: dict[BrokerId, Peer] = {}
        self._offsets: list[int] = []
        self._ids: list[BrokerId] = []

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, broker: BrokerId) -> bool:
        return broker in self._peers

    def get(self, broker: BrokerId) -> Peer | None:
        """The member with this id."""
        return self._peers.get(broker)

    def members(self) -> list[Peer]:
        """All members, clockwise from us."""
        return [self._peers[broker] for broker in self._ids]

    def ids(self) -> list[BrokerId]:
        """Ids of all members, clockwise from us."""
        return list(self._ids)

    def admits(self, broker: BrokerId) -> bool:
        """Whether this broker would be a member if it were offered."""
        offset = (place(broker) - self._me) & MASK
        if offset == 0:
            return False
        if len(self._ids) < LEAVES_MAX or broker in self._peers:
            return True
        return offset < self._offsets[SIDE - 1] or offset > self._offsets[SIDE]

    def add(self, peer: Peer) -> Peer | None:
        """Take a broker in, if it belongs; returns whom it displaced."""
        if not self.admits(peer.id):
            return None
        if peer.id in self._peers:
            self._peers[peer.id] = peer
            return None
        offset = (place(peer.id) - self._me) & MASK
        at = bisect_left(self._offsets, offset)
        self._offsets.insert(at, offset)
        self._ids.insert(at, peer.id)
        self._peers[peer.id] = peer
        if len(self._ids) <= LEAVES_MAX:
            return None
        return self._remove_at(SIDE)

    def remove(self, broker: BrokerId) -> Peer | None:
        """Take a broker out; returns it if it was a member."""
        if broker not in self._peers:
            return None
        return self._remove_at(self._ids.index(broker))

    def _remove_at(self, index: int) -> Peer:
        del self._offsets[index]
        return self._peers.pop(self._ids.pop(index))

    # Sides -------------------------------------------------------------------------------------------------------
    def is_clockwise(self, broker: BrokerId) -> bool:
        """On which side of us a broker lies."""
        return (place(broker) - self._me) & MASK < HALF

    def neighbours(self) -> list[BrokerId]:
        """The next broker on each side."""
        return self._ids if len(self._ids) < 2 else [self._ids[0], self._ids[-1]]

    def farthest(self, *, clockwise: bool) -> BrokerId | None:
        """The outermost member of one side."""
        count = len(self._ids)
        if count == 0:
            return None
        # A side that lost members does not end in the middle of the list, but before the other half of the ring.
        middle = bisect_left(self._offsets, HALF)
        if clockwise:
            return self._ids[min(SIDE, middle or count) - 1]
        return self._ids[max(count - SIDE, middle if middle < count else 0)]

    # Keys --------------------------------------------------------------------------------------------------------
    def covers(self, key: int, *, whole: bool) -> bool:
        """Whether the broker closest to the key must be us or a member; `whole`: nobody is known outside."""
        offsets = self._offsets
        count = len(offsets)
        if count < LEAVES_MAX:
            if whole:
                return True
            # A large ring under repair: members still lie on their own side of us.
            middle = bisect_left(offsets, HALF)
        else:
            middle = SIDE
        offset = (key - self._me) & MASK
        if middle > 0 and offset <= offsets[middle - 1]:
            return True
        return (middle < count and offset >= offsets[middle]) or offset == 0

    def closest(self, key: int, *, with_me: bool) -> BrokerId | None:
        """Of the members (and us) the one closest to the key, the smaller id on a tie; None when that is us."""
        ids, offsets = self._ids, self._offsets
        count = len(ids)
        if count == 0:
            return None
        offset = (key - self._me) & MASK
        at = bisect_left(offsets, offset)
        # The closest is one of the two next to the key on the ring: before it and behind it.
        before: BrokerId | None
        behind: BrokerId | None
        if with_me:
            before, gap_before = (ids[at - 1], offset - offsets[at - 1]) if at > 0 else (None, offset)
            behind, gap_behind = (ids[at], offsets[at] - offset) if at < count else (None, RING - offset)
        else:
            before, gap_before = ids[at - 1], (offset - offsets[at - 1]) & MASK
            behind, gap_behind = ids[at % count], (offsets[at % count] - offset) & MASK
        if gap_before != gap_behind:
            return before if gap_before < gap_behind else behind
        place_before = self._me if before is None else place(before)
        place_behind = self._me if behind is None else place(behind)
        return before if place_before <= place_behind else behind
