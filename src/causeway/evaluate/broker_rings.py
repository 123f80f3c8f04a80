"""Ways between brokers: over the overlay of brokers that joined each other, over tables filled directly, over links.

The routing decision is the product's own (`core/overlay`) in both rings. Joined: whole Nodes, their tables as joins and
upkeep left them. Filled: the same tables without the Nodes around them, with the leaf sets that joins lead to, and in
every place of the routing table the nearest of a few brokers that belong there; for rings too large to be joined here.

Owns: rings and links. Must not know: what is sent over them.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_left
from typing import Final

import numpy as np

from causeway.core.overlay.leaves import RING, SIDE, distance, place
from causeway.core.overlay.tables import COLUMNS, DIGIT_BITS, Tables
from causeway.evaluate.closed_forms import LINKS
from causeway.evaluate.message_exchanges import Client
from causeway.evaluate.site_distances import SiteDistances
from causeway.sim.faults import Options
from causeway.sim.routing import Overlays, node_of
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Key, Peer, key_of

SEEN: Final = 2
"""Of so many brokers that belong in a place of the routing table the nearest is there: about what joined brokers have
found after AGE; the report compares them."""
ALL: Final = 0
"""Instead: the nearest of all, what upkeep would come to in the end."""
AGE: Final[Duration] = 60 * SECOND
"""How long joined brokers kept their tables after the last join."""
WAVE: Final = 64


class Places:
    """Who is where on the ring, for whoever sees all of it."""

    def __init__(self, brokers: int) -> None:
        self.ids = [key_of(f"broker-{number}") for number in range(brokers)]
        pairs = sorted((place(broker), number) for number, broker in enumerate(self.ids))
        self.places = [at for at, _ in pairs]
        self.numbers = [number for _, number in pairs]
        self.rank = {number: rank for rank, (_, number) in enumerate(pairs)}

    def closest(self, key: Key, count: int) -> list[int]:
        """The brokers closest to a key, closest first."""
        at, many = place(key), len(self.places)
        behind = bisect_left(self.places, at)
        around = {(behind + step) % many for step in range(-count, count)}
        found = sorted((distance(self.places[rank], at), self.places[rank], self.numbers[rank]) for rank in around)
        return [number for _, _, number in found[:count]]

    def client(self, rng: random.Random) -> Client:
        """An application somewhere; every broker is as likely to be responsible for it, as in the paper."""
        many = len(self.places)
        home = rng.randrange(many)
        rank = self.rank[home]
        at = self.places[rank]
        before = (at - self.places[rank - 1]) % RING
        behind = (self.places[(rank + 1) % many] - at) % RING
        key = (at - before // 2 + 1 + rng.randrange((before + behind) // 2 - 2)) % RING
        return Client(rng.randrange(many), Key(key.to_bytes(16, "big")), home)


class JoinedRing:
    """Whole Nodes that joined each other by messages; they are asked for the way."""

    def __init__(self, overlays: Overlays) -> None:
        self.overlays = overlays
        self.places = Places(len(overlays.cluster.brokers))
        self._numbers = {broker: number for number, broker in enumerate(self.places.ids)}

    def route(self, source: int, key: Key) -> list[int]:
        """As brokers send it on."""
        path, brokers = [source], self.overlays.cluster.brokers
        while (hop := node_of(brokers[path[-1]])._overlay.next_hop(key)) is not None:
            path.append(self._numbers[hop])
            assert len(path) <= len(brokers), f"a lookup of {key.hex()} goes round in circles"
        return path

    def copies(self, key: Key, count: int) -> list[int]:
        """As the broker responsible sees it."""
        home = self.places.closest(key, 1)[0]
        node = node_of(self.overlays.cluster.brokers[home])
        return [self._numbers[peer.id] for peer in node._overlay.replica_group(key, count)]


class FilledRing:
    """The product's tables, filled when a broker is first met on a way."""

    def __init__(self, brokers: int, distances: SiteDistances, seed: int, seen: int = SEEN) -> None:
        self.places = Places(brokers)
        self._distances = distances
        self._seed = seed
        self._seen = seen
        self._numbers = {broker: number for number, broker in enumerate(self.places.ids)}
        self._tables: dict[int, Tables] = {}

    def route(self, source: int, key: Key) -> list[int]:
        """As the tables have it."""
        path = [source]
        while (hop := self.tables(path[-1]).next_hop(key, with_me=True)) is not None:
            path.append(self._numbers[hop])
            assert len(path) <= len(self.places.ids), f"a lookup of {key.hex()} goes round in circles"
        return path

    def copies(self, key: Key, count: int) -> list[int]:
        """As the broker responsible sees it."""
        home = self.places.closest(key, 1)[0]
        return [self._numbers[peer.id] for peer in self.tables(home).nearest(key, count, with_me=True)]

    def tables(self, number: int) -> Tables:
        """One broker's."""
        found = self._tables.get(number)
        if found is None:
            found = self._tables[number] = self._fill(number)
        return found

    def _peer(self, number: int) -> Peer:
        return Peer(self.places.ids[number], f"broker-{number}", "", 0, 0)

    def _fill(self, number: int) -> Tables:
        places = self.places
        many, rank = len(places.ids), places.rank[number]
        between = self._distances.between

        def round_trip(broker: BrokerId) -> Duration:
            other = self._numbers[broker]
            return between(number, other) + between(other, number)

        tables = Tables(self._peer(number), round_trip)
        for step in range(1, min(SIDE, many // 2) + 1):
            for other in (places.numbers[(rank + step) % many], places.numbers[rank - step]):
                if other != number:
                    tables.add_leaf(self._peer(other))
        rng = random.Random(f"causeway/{self._seed}/tables/{number}")
        far = self._distances.row(number, many)[np.asarray(places.numbers)] if self._seen == ALL else np.zeros(0)
        for slot in self._slots(places.places[rank]):
            if self._seen == ALL:
                others = [slot[int(np.argmin(far[slot.start : slot.stop]))]]
            else:
                others = sorted(rng.sample(slot, min(len(slot), self._seen)))
            for other in others:
                tables.offer(self._peer(places.numbers[other]))
        return tables

    def _slots(self, at: int) -> list[range]:
        """For every place of a routing table the brokers that belong there, by their ranks on the ring."""
        slots, row = [], 0
        first, last = 0, len(self.places.places)
        while last - first > 1:
            shift = 128 - DIGIT_BITS * (row + 1)
            start = at >> (shift + DIGIT_BITS) << (shift + DIGIT_BITS)
            bounds = [bisect_left(self.places.places, start + (column << shift)) for column in range(COLUMNS + 1)]
            mine = (at >> shift) & (COLUMNS - 1)
            slots += [
                range(bounds[column], bounds[column + 1])
                for column in range(COLUMNS)
                if column != mine and bounds[column] < bounds[column + 1]
            ]
            first, last, row = bounds[mine], bounds[mine + 1], row + 1
        return slots


class CheapestLinks:
    """Every site has direct links to those nearest to it; Dijkstra's algorithm finds the cheapest way over them."""

    def __init__(self, sites: int, distances: SiteDistances, links: int = LINKS) -> None:
        self._sites = sites
        self._links: list[list[tuple[Duration, int]]] = []
        for site in range(sites):
            row = distances.row(site, sites)
            row[site] = np.iinfo(np.int64).max
            nearest = np.argpartition(row, links)[:links] if sites > links + 1 else np.argsort(row)[: sites - 1]
            self._links.append(sorted((int(row[other]), int(other)) for other in nearest))
        self._trees: dict[int, list[int]] = {}

    def route(self, source: int, target: int) -> list[int]:
        """The cheapest way; there is one from everywhere to nearly everywhere."""
        before = self._trees.get(source)
        if before is None:
            before = self._trees[source] = self._tree(source)
        path = [target]
        while path[-1] != source:
            path.append(before[path[-1]])
            if path[-1] < 0:
                return []
        return path[::-1]

    def _tree(self, source: int) -> list[int]:
        """For every site the one before it on the cheapest way from the source; -1 where none leads."""
        cost: list[Duration] = [1 << 62] * self._sites
        before = [-1] * self._sites
        cost[source] = 0
        heap = [(0, source)]
        while heap:
            spent, site = heapq.heappop(heap)
            if spent > cost[site]:
                continue
            for price, other in self._links[site]:
                if spent + price < cost[other]:
                    cost[other], before[other] = spent + price, site
                    heapq.heappush(heap, (spent + price, other))
        return before


def join(brokers: int, distances: SiteDistances, seed: int, *, options: Options | None = None) -> Overlays:
    """That many Nodes, joined through each other, and a while later."""
    overlays = Overlays(seed, brokers, options=options or calm_options(seed, brokers))
    overlays.world.network.distance = lambda a, b: distances.between(a.index, b.index)
    overlays.grow(brokers, WAVE, lambda joined: None)
    overlays.settle()
    overlays.world.run(overlays.world.now + AGE)
    return overlays


def calm_options(seed: int, brokers: int) -> Options:
    """Nothing fails, nothing takes time but lines and ways; what is stored is stored in memory, as in the paper."""
    return Options(
        seed=seed,
        brokers=brokers,
        heartbeat=10 * SECOND,
        silence=60 * SECOND,
        retry=2 * SECOND,
        durability="memory",
        latency=15 * MILLISECOND,
        jitter=0,
        turn_cost=0,
        event_cost=0,
    )
