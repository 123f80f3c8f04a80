"""A ring of up to millions of brokers as arrays: whom each would know, the way of lookups, and what upkeep asks.

Places are random numbers of 64 bits (the first half of a key; digits beyond them decide nothing). A table is not
stored: who holds a place of it follows from a hash of broker and place, so memory grows with 8 bytes per broker and the
lookups of one chunk. The rules are those of `core/overlay/tables.py`, `core/overlay/upkeep.py` and
`core/links/pulse.py`; that they are followed is what the comparison with real brokers shows (ring_counts.py).

Owns: these rules as arrays. Must not know: brokers, what is claimed.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from causeway.core.links.pulse import BEATS_BEFORE_SILENCE, LINK_IDLE
from causeway.core.overlay.leaves import SIDE
from causeway.core.overlay.roster import MEASURED_PER_ROW
from causeway.core.overlay.tables import COLUMNS, DIGIT_BITS
from causeway.core.overlay.upkeep import EXCHANGE_SELDOM, MAINTAIN_EVERY, MAINTAIN_HAILS
from causeway.limits import NEIGHBOURS_MAX
from causeway.types import SECOND

Places = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BITS: Final = 64
ROWS: Final = 12
"""Of a table: 16^12 brokers have not more."""
CHUNK: Final = 20_000
"""Lookups or brokers that are looked at together."""
HOPS_MAX: Final = 64


class ModelCase(msgspec.Struct, frozen=True):
    """One ring."""

    brokers: int
    lookups: int
    sample: int
    """Brokers whose tables are counted."""
    seed: int = 0


class ModelledRing(msgspec.Struct, frozen=True, tag=True):
    """What the arrays say of a ring."""

    brokers: int
    hops: dict[int, int]
    """Lookups by hops."""
    table: float
    """Entries of a routing table, on average."""
    known: float
    """Brokers in any table, each once."""
    row_told: float
    """Brokers in the row that is told when one is asked for."""
    strangers: float
    """Of these, brokers that are greeted only to learn how far they are."""
    asked_is_leaf: float
    """Share of requests for a row that go to a leaf."""
    entries_elsewhere: float
    """Entries of a routing table that are no leaves: their links are closed when idle."""

    @property
    def hops_mean(self) -> float:
        """Of all lookups."""
        return sum(hops * count for hops, count in self.hops.items()) / sum(self.hops.values())


class RingUpkeep(msgspec.Struct, frozen=True):
    """Frames per second that each broker sends, by kind of message, while nothing happens."""

    leaves: float
    row_requests: float
    row_replies: float
    hails: float
    greetings: float
    """Hello, and as many Welcome."""
    goodbyes: float
    signs: float
    """Beat and Ping, and as many Echo."""
    links: float
    """Open at a time."""

    @property
    def ring(self) -> float:
        """What the overlay says."""
        return self.leaves + self.row_requests + self.row_replies + self.hails

    @property
    def life(self) -> float:
        """What links say."""
        return 2 * self.greetings + self.goodbyes + 2 * self.signs


def measure(case: ModelCase) -> ModelledRing:
    """One ring, looked at."""
    return RingModel(case.brokers, case.seed).looked_at(case.lookups, case.sample)


def asked_after(heartbeat: float, silence: float) -> float:
    """Seconds until a quiet link is asked for a sign of life: both ends look at it once per heartbeat, at any phase, so
    the first of them does after a third of one."""
    return heartbeat / 3 + max(heartbeat / 2, silence - BEATS_BEFORE_SILENCE * heartbeat)


def upkeep_of(ring: ModelledRing, heartbeat: float, silence: float, age: float = math.inf) -> RingUpkeep:
    """What follows for the upkeep, with these settings in seconds.

    `age`: seconds since nobody had measured how far anybody is; who is greeted for the first time is asked once more.
    """
    maintain, exchange, idle = MAINTAIN_EVERY / SECOND, EXCHANGE_SELDOM / SECOND, LINK_IDLE / SECOND
    quiet = asked_after(heartbeat, silence)
    lasts = idle + heartbeat / 3
    leaves, elsewhere = 2 * min(SIDE, (ring.brokers - 1) // 2), ring.entries_elsewhere
    awake = min(1.0, MAINTAIN_HAILS / maintain * lasts * (1 + elsewhere / ring.brokers) / max(elsewhere, 1))
    asleep = elsewhere * (1 - awake)
    hailed = min(MAINTAIN_HAILS, asleep)
    # Whoever is asked for a row may be hailed in the same round, on the same link.
    requested = (1 - ring.asked_is_leaf) * (1 - awake) * (1 - hailed / max(asleep, 1))
    opened = hailed + requested + ring.strangers
    first = (hailed + requested) * math.exp(-(hailed + requested) / maintain * age / max(elsewhere, 1)) + ring.strangers
    # What is said on a link to a leaf anyway spares a sign of life: requests for rows, and leaf sets to the next ones.
    said = 2 * ring.asked_is_leaf / maintain / leaves
    signs = (leaves - 2) * _asked(said, quiet) + 2 * _asked(said + 2 / exchange, quiet)
    return RingUpkeep(
        leaves=4 / exchange,  # two requests and two answers
        row_requests=1 / maintain,
        row_replies=1 / maintain,
        hails=2 * (hailed + ring.strangers) / maintain,
        greetings=opened / maintain,
        goodbyes=2 * opened / maintain,
        signs=signs / 2 + (opened * (idle // quiet) + first) / maintain,
        links=leaves + 2 * opened / maintain * lasts,
    )


def _asked(said: float, quiet: float) -> float:
    """How often a link is asked for a sign of life that has to be quiet for so long first, and is not at this rate."""
    return said / math.expm1(said * quiet) if said else 1 / quiet


def _either_way(apart: Places) -> Places:
    """The shorter way around the ring."""
    shorter: Places = np.minimum(apart, np.uint64(0) - apart)
    return shorter


class RingModel:
    """The places of a ring, and who would be in whose tables."""

    def __init__(self, brokers: int, seed: int) -> None:
        self._chance = np.random.default_rng([brokers, seed])
        places = np.unique(self._chance.integers(0, 1 << BITS, brokers, dtype=np.uint64))
        while len(places) < brokers:
            more = self._chance.integers(0, 1 << BITS, brokers - len(places), dtype=np.uint64)
            places = np.unique(np.concatenate([places, more]))
        self.places: Places = places
        self._salt = np.uint64(self._chance.integers(0, 1 << 62))

    def looked_at(self, lookups: int, sample: int) -> ModelledRing:
        """Lookups by hops, and the tables of some brokers."""
        hops = np.zeros(HOPS_MAX, dtype=np.int64)
        for begin in range(0, lookups, CHUNK):
            count = min(CHUNK, lookups - begin)
            at = self._chance.integers(0, len(self.places), count)
            hops += self.route(at, self._chance.integers(0, 1 << BITS, count, dtype=np.uint64))
        sums = np.zeros(6)
        for begin in range(0, sample, CHUNK):
            sums += self._count(self._chance.integers(0, len(self.places), min(CHUNK, sample - begin)))
        mean = [float(f"{value:.9g}") for value in sums / sample]
        return ModelledRing(len(self.places), {n: int(count) for n, count in enumerate(hops.tolist()) if count}, *mean)

    # Who is where -----------------------------------------------------------------------------------------------
    def _span(self, prefix_of: Places, row: Indices, column: Indices) -> tuple[Indices, Indices]:
        """The brokers that share the first `row` digits of a place and have `column` as the next one: from, to."""
        shift = (BITS - DIGIT_BITS * (row + 1)).astype(np.uint64)
        above = np.where(row > 0, prefix_of >> np.minimum(shift + np.uint64(DIGIT_BITS), np.uint64(BITS - 1)), 0)
        base = ((above << np.uint64(DIGIT_BITS)) | column.astype(np.uint64)) << shift
        last = base + ((np.uint64(1) << shift) - np.uint64(1))
        return np.searchsorted(self.places, base), np.searchsorted(self.places, last, side="right")

    def _holder(self, broker: Indices, row: Indices, column: Indices) -> Indices:
        """Who has this place in a broker's table, -1 for nobody: one of those that fit, the same whenever asked."""
        low, high = self._span(self.places[broker], row, column)
        chosen = low + self._mixed(broker, row * COLUMNS + column, np.maximum(high - low, 1))
        return np.where(high > low, chosen, -1)

    def _mixed(self, broker: Indices, what: Indices, below: Indices) -> Indices:
        """A number below another one, from a hash of the two."""
        mixed = broker.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + self._salt
        mixed = mixed ^ what.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
        return (mixed % below.astype(np.uint64)).astype(np.int64)

    def _neighbours(self, broker: Indices) -> Indices:
        """The neighbourhood: brokers that are near in the network, which is anywhere on the ring."""
        numbers = 1_000 + np.arange(NEIGHBOURS_MAX)
        count = np.full(1, len(self.places))
        return self._mixed(broker[:, None], numbers[None, :], count[None, :])

    def _slot(self, broker: Indices, place: Places) -> tuple[Indices, Indices]:
        """Where in a broker's table a place belongs: row and column."""
        apart = self.places[broker] ^ place
        row = np.zeros(len(broker), dtype=np.int64)
        for digits in range(1, ROWS + 1):
            row += (apart >> np.uint64(BITS - DIGIT_BITS * digits)) == 0
        row = np.minimum(row, ROWS - 1)
        column = (place >> (BITS - DIGIT_BITS * (row + 1)).astype(np.uint64)) & np.uint64(COLUMNS - 1)
        return row, column.astype(np.int64)

    def _distance(self, broker: Indices, key: Places) -> Places:
        return _either_way(self.places[broker] - key)

    # Lookups ----------------------------------------------------------------------------------------------------
    def route(self, at: Indices, key: Places) -> Indices:
        """How many lookups take how many hops, each from one broker to the one that is closest to its key."""
        count = len(self.places)
        behind = np.searchsorted(self.places, key) % count
        before = (behind - 1) % count
        closest = np.where(self._distance(before, key) <= self._distance(behind, key), before, behind)
        hops = np.zeros(HOPS_MAX, dtype=np.int64)
        for taken in range(HOPS_MAX):
            hops[taken] += int((at == closest).sum())
            going = at != closest
            if not going.any():
                return hops
            at, key, closest = at[going], key[going], closest[going]
            far = np.flatnonzero(~self._covers(at, key))
            onwards = closest.copy()
            onwards[far] = self._forward(at[far], key[far])
            at = onwards
        raise AssertionError(f"{len(at)} lookups take more than {HOPS_MAX} hops")

    def _covers(self, at: Indices, key: Places) -> Flags:
        """Whether a key lies among a broker's leaves."""
        count = len(self.places)
        if count <= 2 * SIDE:
            return np.ones(len(at), dtype=np.bool_)
        mine = self.places[at]
        offset = key - mine
        ahead = self.places[(at + SIDE) % count] - mine
        back = self.places[(at - SIDE) % count] - mine
        covered: Flags = (offset <= ahead) | (offset >= back)
        return covered

    def _forward(self, at: Indices, key: Places) -> Indices:
        """The entry with a longer prefix if it is closer to the key, and the closest of all known ones otherwise."""
        row, column = self._slot(at, key)
        entry = self._holder(at, row, column)
        nearer = (entry >= 0) & (self._distance(np.maximum(entry, 0), key) < self._distance(at, key))
        left = np.flatnonzero(~nearer)
        if len(left):
            entry[left] = self._closest_known(at[left], key[left])
        return entry

    def _closest_known(self, at: Indices, key: Places) -> Indices:
        known = self._known(at)
        gaps = _either_way(self.places[known] - key[:, None])
        closest: Indices = known[np.arange(len(at)), gaps.argmin(axis=1)]
        return closest

    def _known(self, at: Indices) -> Indices:
        """Everybody a broker knows, itself where nobody is: leaves, table, neighbourhood."""
        steps = np.array([step for step in range(-SIDE, SIDE + 1) if step])
        parts = [(at[:, None] + steps[None, :]) % len(self.places), self._neighbours(at)]
        for row in range(ROWS):
            for column in range(COLUMNS):
                holder = self._holder(at, np.full(len(at), row), np.full(len(at), column))
                parts.append(np.where(holder >= 0, holder, at)[:, None])
        return np.concatenate(parts, axis=1)

    # Tables and upkeep ------------------------------------------------------------------------------------------
    def _count(self, at: Indices) -> npt.NDArray[np.float64]:
        """Sums over brokers of what `ModelledRing` has means of."""
        count = len(at)
        holders = np.empty((count, ROWS, COLUMNS), dtype=np.int64)
        own = self.places[at]
        for row in range(ROWS):
            mine = (own >> np.uint64(BITS - DIGIT_BITS * (row + 1))) & np.uint64(COLUMNS - 1)
            for column in range(COLUMNS):
                held = self._holder(at, np.full(count, row), np.full(count, column))
                holders[:, row, column] = np.where(mine == column, -1, held)
        there = holders >= 0
        leaf = self._is_leaf(at[:, None, None], holders) & there
        known = np.sort(np.concatenate([self._known(at), at[:, None]], axis=1), axis=1)
        distinct = 1 + (np.diff(known, axis=1) != 0).sum(axis=1) - 1  # the broker itself is among them once
        told, strangers, asked_leaf = self._maintained(at, holders, leaf)
        sums = (there.sum(), distinct.sum(), told, strangers, asked_leaf, (there & ~leaf).sum())
        return np.array([float(value) for value in sums])

    def _is_leaf(self, at: Indices, other: Indices) -> Flags:
        count = len(self.places)
        apart = (other - at) % count
        leaf: Flags = (apart <= SIDE) | (apart >= count - SIDE)
        return leaf

    def _maintained(self, at: Indices, holders: Indices, leaf: Flags) -> tuple[int, int, int]:
        """One round of upkeep of each: sums of brokers told, of strangers greeted, of leaves asked."""
        count = len(at)
        line = np.arange(count)
        rows: Flags = np.asarray((holders >= 0).any(axis=2))
        row = self._one_of(rows)
        column = self._one_of(holders[line, row] >= 0)
        asked = holders[line, row, column]
        told, strangers = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        mine = (self.places[asked] >> (BITS - DIGIT_BITS * (row + 1)).astype(np.uint64)) & np.uint64(COLUMNS - 1)
        near = self._neighbours(at)
        for other in range(COLUMNS):
            entry = self._holder(asked, row, np.full(count, other))
            entry = np.where(mine == other, -1, entry)
            there = entry >= 0
            told += there
            place = self.places[np.maximum(entry, 0)]
            in_table = self._holder(at, *self._slot(at, place)) == entry
            familiar = in_table | self._is_leaf(at, entry) | (near == entry[:, None]).any(axis=1) | (entry == at)
            strangers += there & ~familiar
        return int(told.sum()), int(np.minimum(strangers, MEASURED_PER_ROW).sum()), int(leaf[line, row, column].sum())

    def _one_of(self, allowed: Flags) -> Indices:
        """By line, one of the columns that are allowed, each as likely."""
        drawn = np.where(allowed, self._chance.random(allowed.shape), -1.0)
        chosen: Indices = drawn.argmax(axis=1)
        return chosen
