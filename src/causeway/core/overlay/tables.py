"""Who is where: leaf set, routing table and neighbourhood of one broker, and the routing decision over them.

Every entry was heard from directly and said that its join is complete; entries whose connection is lost are removed
at once. Must not know: messages, timers.

Routing (Rowstron & Druschel, 2.3) is made loop-free in any state of any table: every hop is strictly closer to the
key. An entry with a longer common prefix nearly always is; where it is not (the key lies just across a digit's
border) the numerically closest broker known is taken instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from causeway.core.overlay.leaves import LeafSet, distance, place
from causeway.limits import HOPS_REMEMBERED_MAX, NEIGHBOURS_MAX
from causeway.types import BrokerId, Duration, Key, Peer

DIGIT_BITS: Final = 4
"""Pastry's b."""
DIGITS: Final = 128 // DIGIT_BITS
COLUMNS: Final = 1 << DIGIT_BITS

FAR: Final[Duration] = 1 << 62
"""Stands for a round trip that was never measured."""

RoundTrip = Callable[[BrokerId], Duration | None]


class Tables:
    """The three tables of Pastry."""

    def __init__(self, me: Peer, round_trip: RoundTrip) -> None:
        self.me = me
        self.leaves = LeafSet(me.id)
        self._place = place(me.id)
        self._round_trip = round_trip
        self._slots: dict[int, Peer] = {}
        """Routing table, by row * COLUMNS + column."""
        self._slot_of: dict[BrokerId, int] = {}
        self._near: dict[BrokerId, Peer] = {}
        self._near_bound = FAR
        """About the longest round trip in the neighbourhood: who is farther need not be compared."""
        # Derived, rebuilt when a table changed:
        self._stale = True
        self._whole = True
        self._places: list[int] = []
        self._known: list[BrokerId] = []
        self._hops: dict[Key, BrokerId | None] = {}

    # Entries -----------------------------------------------------------------------------------------------------
    def __contains__(self, broker: BrokerId) -> bool:
        return broker in self._slot_of or broker in self.leaves or broker in self._near

    def add_leaf(self, peer: Peer) -> Peer | None:
        """Offer a broker to the leaf set; returns whom it displaced."""
        self._stale = True
        return self.leaves.add(peer)

    def offer(self, peer: Peer) -> None:
        """Let a broker take its place in the routing table and the neighbourhood, if it is nearer than who is there."""
        slot = self.slot(peer.id)
        holder = self._slots.get(slot)
        if holder is None or holder.id == peer.id:
            if holder != peer:
                self._slots[slot] = peer
                self._slot_of[peer.id] = slot
                self._stale = True
        elif self._trip(peer.id) < self._trip(holder.id):
            del self._slot_of[holder.id]
            self._slots[slot] = peer
            self._slot_of[peer.id] = slot
            self._stale = True
        self._offer_near(peer)

    def _offer_near(self, peer: Peer) -> None:
        near = self._near
        if peer.id in near:
            near[peer.id] = peer
        elif len(near) < NEIGHBOURS_MAX:
            near[peer.id] = peer
            self._stale = True
        else:
            trip = self._trip(peer.id)
            if trip < self._near_bound:
                worst = max(near, key=self._trip)
                self._near_bound = self._trip(worst)
                if trip < self._near_bound:
                    del near[worst]
                    near[peer.id] = peer
                    self._stale = True

    def remove(self, broker: BrokerId) -> tuple[Peer | None, int | None]:
        """Take a broker out everywhere; returns it if it was a leaf, and its slot if it had one."""
        leaf = self.leaves.remove(broker)
        slot = self._slot_of.pop(broker, None)
        if slot is not None:
            del self._slots[slot]
        if self._near.pop(broker, None) is not None:
            self._near_bound = FAR
            self._stale = True
        if leaf is not None or slot is not None:
            self._stale = True
        return leaf, slot

    def slot(self, broker: BrokerId) -> int:
        """Where in the routing table a broker belongs: row (digits shared with us) and column (its next digit)."""
        at = place(broker)
        row = (128 - (at ^ self._place).bit_length()) // DIGIT_BITS
        return row * COLUMNS + ((at >> (128 - DIGIT_BITS - DIGIT_BITS * row)) & (COLUMNS - 1))

    def has_room_for(self, broker: BrokerId) -> bool:
        """Whether the routing table has nobody where this broker belongs, or the neighbourhood is not full."""
        return len(self._near) < NEIGHBOURS_MAX or self.slot(broker) not in self._slots

    def row(self, row: int) -> list[Peer]:
        """One row of the routing table, by column."""
        slots, start = self._slots, row * COLUMNS
        return [slots[slot] for slot in range(start, start + COLUMNS) if slot in slots]

    def rows(self) -> list[int]:
        """Rows that are not empty, first to last."""
        return sorted({slot // COLUMNS for slot in self._slots})

    def entries(self) -> list[Peer]:
        """The routing table, row by row."""
        return [self._slots[slot] for slot in sorted(self._slots)]

    def neighbours(self) -> list[Peer]:
        """The neighbourhood, nearest first."""
        return sorted(self._near.values(), key=lambda peer: (self._trip(peer.id), peer.id))

    def everybody(self) -> list[Peer]:
        """All entries of all tables, each once: leaves, then routing table, then neighbourhood."""
        found = {peer.id: peer for peer in self.leaves.members()}
        for peer in (*self.entries(), *self._near.values()):
            found.setdefault(peer.id, peer)
        return list(found.values())

    def _trip(self, broker: BrokerId) -> Duration:
        trip = self._round_trip(broker)
        return FAR if trip is None else trip

    # Routing -----------------------------------------------------------------------------------------------------
    def next_hop(self, key: Key, *, with_me: bool) -> BrokerId | None:
        """The next broker towards the one closest to the key; None when that is us (or nobody else is known)."""
        if self._stale:
            self._refresh()
        hops = self._hops
        if with_me and key in hops:
            return hops[key]
        hop = self._decide(place(key), with_me=with_me)
        if with_me:
            if len(hops) >= HOPS_REMEMBERED_MAX:
                hops.clear()
            hops[key] = hop
        return hop

    def _decide(self, key: int, *, with_me: bool) -> BrokerId | None:
        leaves = self.leaves
        if leaves.covers(key, whole=self._whole):
            return leaves.closest(key, with_me=with_me)
        apart = key ^ self._place
        row = (128 - apart.bit_length()) // DIGIT_BITS
        column = (key >> (128 - DIGIT_BITS - DIGIT_BITS * row)) & (COLUMNS - 1)
        entry = self._slots.get(row * COLUMNS + column)
        if entry is not None:
            at = place(entry.id)
            theirs, ours = distance(at, key), distance(self._place, key)
            if theirs < ours or (theirs == ours and at < self._place) or not with_me:
                return entry.id
        return self._closest_known(key, with_me=with_me)

    def _closest_known(self, key: int, *, with_me: bool) -> BrokerId | None:
        places, known = self._places, self._known
        count = len(known)
        if count == 0:
            return None
        behind = bisect_left(places, key)
        candidates = [(distance(places[i], key), places[i], known[i]) for i in (behind - 1, behind % count)]
        gap, at, broker = min(candidates)
        if with_me and (distance(self._place, key), self._place) < (gap, at):
            return None
        return broker

    def detour(self, key: Key, avoid: BrokerId) -> BrokerId | None:
        """As `next_hop`, but as if `avoid` did not exist."""
        hop = self.next_hop(key, with_me=True)
        if hop != avoid:
            return hop
        at = place(key)
        best = (distance(self._place, at), self._place)
        found: BrokerId | None = None
        for broker in self._known:
            candidate = (distance(place(broker), at), place(broker))
            if broker != avoid and candidate < best:
                best, found = candidate, broker
        return found

    def nearest(self, key: Key, count: int, *, with_me: bool) -> list[Peer]:
        """Leaves (and us) closest to the key, closest first, the smaller id on a tie."""
        at = place(key)
        candidates = self.leaves.members()
        if with_me:
            candidates.append(self.me)
        candidates.sort(key=lambda peer: (distance(place(peer.id), at), peer.id))
        return candidates[:count]

    def known_around(self, count: int) -> list[BrokerId]:
        """The known brokers next to us on the ring, `count` on each side: candidates when the leaf set has a gap."""
        if self._stale:
            self._refresh()
        known = self._known
        at = bisect_left(self._places, self._place)
        around = [known[i % len(known)] for i in range(at - count, at + count)] if known else []
        return list(dict.fromkeys(around))

    def _refresh(self) -> None:
        self._stale = False
        self._hops = {}
        pairs = sorted((place(peer.id), peer.id) for peer in self.everybody())
        self._places = [at for at, _ in pairs]
        self._known = [broker for _, broker in pairs]
        self._whole = len(pairs) == len(self.leaves)
