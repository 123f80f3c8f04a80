"""Hops, tables and upkeep of rings of real brokers, to hold the model of large ones against (ring_model.py).

Three ways to have a ring, the dearer the more of it is real. *Joined*: whole brokers join each other by messages.
*Known*: brokers that have only links and a ring, told at once whom they would have found; their upkeep is simulated
event by event. *Tables*: nothing but the product's tables, filled the same way, for lookups.

Owns: how a ring is built and what is counted of it. Must not know: the model, what is claimed.
"""

from __future__ import annotations

import random
import statistics
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from causeway.core.overlay.tables import Tables
from causeway.core.overlay.upkeep import MAINTAIN_EVERY
from causeway.sim.faults import Options, stream
from causeway.sim.rings import LATENCY, FullKnowledge, KnownRing
from causeway.sim.routing import Overlays, gap, node_of
from causeway.sim.traffic import FrameCounts
from causeway.sim.world import World
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Key

JOINED, KNOWN, TABLES = "joined", "known", "tables"

WAVE: Final = 64
"""Brokers that join at once."""
HOPS_MAX: Final = 64
INSTANTS: Final = 10
"""At which open links are counted while a ring is watched."""
SETTLED: Final[Duration] = 45 * SECOND
"""What joins opened has been closed by then, and as many links are open as upkeep keeps open."""
YOUNG: Final[Duration] = 5 * MAINTAIN_EVERY // 4
"""A ring that has just been joined repeats itself at its slowest pace from then on: pauses double up to that, and are
up to a quarter longer by chance."""


class RingCountCase(msgspec.Struct, frozen=True):
    """One ring."""

    how: str
    brokers: int
    heartbeat: float
    silence: float
    watched: float
    """Seconds; signs of life come in waves at first, so it should be as long as one of them."""
    lookups: int
    seed: int = 0

    @property
    def weight(self) -> float:
        """About how much work it is, to begin with the longest."""
        if self.how == TABLES:
            return 0.005 * self.lookups
        frames = self.brokers * (40 + self.watched) * (1.6 + 8 / self.heartbeat)
        return frames / 15_000 + (self.brokers**1.3 / 100 if self.how == JOINED else 0)


class RingCount(msgspec.Struct, frozen=True, tag=True):
    """What was counted."""

    how: str
    brokers: int
    heartbeat: float
    silence: float
    seed: int
    hops: dict[int, int]
    """Lookups by hops."""
    wrong: int
    """Lookups that did not end at the closest broker."""
    table: float
    """Entries of a routing table, mean over brokers."""
    links: float
    """Open at a time, mean over brokers."""
    watched: float
    frames: dict[str, int]
    """Sent by all brokers while watched, by type."""
    bytes: dict[str, int]

    @property
    def hops_mean(self) -> float:
        """Of all lookups."""
        return sum(hops * count for hops, count in self.hops.items()) / sum(self.hops.values())


def measure(case: RingCountCase) -> RingCount:
    """Build the ring, let it be, count."""
    build = {JOINED: _joined, KNOWN: _known, TABLES: _tables}
    return build[case.how](case)


def _joined(case: RingCountCase) -> RingCount:
    options = Options(
        seed=case.seed,
        brokers=case.brokers,
        heartbeat=round(case.heartbeat * SECOND),
        silence=round(case.silence * SECOND),
        latency=LATENCY,
        jitter=MILLISECOND,
    )
    overlays = Overlays(case.seed, case.brokers, options=options)
    overlays.grow(case.brokers, WAVE, lambda joined: None)
    overlays.settle()
    nodes = {broker.id: node_of(broker) for broker in overlays.cluster.brokers}
    watched = _watch(
        overlays.world, YOUNG, case, lambda: sum(node._links.statistics().brokers_up for node in nodes.values())
    )
    hops, wrong = _look_up(case, list(nodes), lambda at, key: nodes[at]._overlay.next_hop(key))
    return _counted(
        case,
        (hops, wrong),
        sum(node._overlay.statistics().table for node in nodes.values()),
        watched,
    )


def _known(case: RingCountCase) -> RingCount:
    beat, silence = round(case.heartbeat * SECOND), round(case.silence * SECOND)
    ring = KnownRing(case.brokers, case.seed, heartbeat=beat, silence=silence)
    brokers = ring.brokers.values()
    watched = _watch(ring.world, SETTLED, case, lambda: sum(broker.links.statistics().brokers_up for broker in brokers))
    return _counted(
        case,
        _look_up(case, list(ring.brokers), ring.next_hop),
        sum(broker.overlay.statistics().table for broker in brokers),
        watched,
    )


def _tables(case: RingCountCase) -> RingCount:
    knowledge = FullKnowledge(case.brokers, case.seed)
    index = {peer.id: number for number, peer in enumerate(knowledge.peers)}
    filled: dict[BrokerId, Tables] = {}

    def next_hop(at: BrokerId, key: Key) -> BrokerId | None:
        if at not in filled:
            filled[at] = knowledge.tables(index[at])
        return filled[at].next_hop(key, with_me=True)

    found = _look_up(case, list(index), next_hop)
    entries = sum(len(tables.entries()) for tables in filled.values()) / len(filled)
    return _counted(case, found, entries * case.brokers, WatchedRing(0.0, Counter(), Counter()))


def _look_up(
    case: RingCountCase, brokers: list[BrokerId], next_hop: Callable[[BrokerId, Key], BrokerId | None]
) -> tuple[Counter[int], int]:
    """Random keys from random brokers, from hop to hop; and how many ended where they should not."""
    chance: random.Random = stream(case.seed, "lookups")
    places = sorted(brokers)
    hops: Counter[int] = Counter()
    wrong = 0
    for _ in range(case.lookups):
        key, at, taken = Key(chance.randbytes(16)), chance.choice(places), 0
        while (hop := next_hop(at, key)) is not None:
            at, taken = hop, taken + 1
            assert taken <= HOPS_MAX, f"a lookup of {key.hex()} goes round in circles"
        hops[taken] += 1
        wrong += at != _closest(places, key)
    return hops, wrong


def _closest(places: list[BrokerId], key: Key) -> BrokerId:
    """By looking at both neighbours of the key; the smaller id on a tie, as brokers decide it."""
    behind = bisect_left(places, key)
    ends = sorted((places[behind - 1], places[behind % len(places)]))
    return min(ends, key=lambda broker: gap(int.from_bytes(broker, "big"), key))


class WatchedRing(NamedTuple):
    """What a ring did for a while."""

    links: float
    """Of all brokers, mean over instants."""
    frames: Counter[str]
    bytes: Counter[str]


def _watch(world: World, before: Duration, case: RingCountCase, links: Callable[[], int]) -> WatchedRing:
    """Frames and bytes by type."""
    world.run(world.now + before)
    world.network.meter = sent = FrameCounts(lambda head: type(head).__name__)
    counted = []
    for _ in range(INSTANTS):
        world.run(world.now + round(case.watched * SECOND) // INSTANTS)
        counted.append(links())
    world.network.meter = None
    return WatchedRing(statistics.fmean(counted), sent.frames, sent.bytes)


def _counted(
    case: RingCountCase,
    lookups: tuple[Counter[int], int],
    table: float,
    watched: WatchedRing,
) -> RingCount:
    hops, wrong = lookups
    return RingCount(
        case.how,
        case.brokers,
        case.heartbeat,
        case.silence,
        case.seed,
        dict(sorted(hops.items())),
        wrong,
        round(table / case.brokers, 4),
        round(watched.links / case.brokers, 4),
        case.watched,
        dict(sorted(watched.frames.items())),
        dict(sorted(watched.bytes.items())),
    )
