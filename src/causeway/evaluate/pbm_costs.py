"""Delay, round trip and traffic of single messages: over brokers on a ring, and over MSMQ's links.

A case is one network; every kind of message is sent over it, at one distance after the other. The distances of one
network keep their proportions: its sites are the same, only farther apart.

Owns: which messages are sent over which network, and their means beside the formulas. Must not know: what is claimed.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import Final

import msgspec

from causeway.evaluate.broker_mail import BrokerMail
from causeway.evaluate.broker_rings import SEEN, CheapestLinks, FilledRing, JoinedRing, join
from causeway.evaluate.closed_forms import (
    CAUSEWAY,
    KINDS,
    MESSAGE_BYTES,
    MSMQ,
    PBM,
    RECOVERABLE,
    HopMeans,
    MailKind,
    frames,
    hops_bound,
    one_way_ms,
    round_trip_ms,
)
from causeway.evaluate.message_exchanges import Client, Ring, RingExchange, StoreAndForward
from causeway.evaluate.site_distances import SiteDistances
from causeway.evaluate.site_lines import SiteLines, Trip
from causeway.types import MILLISECOND

NODES, JOINED, FILLED, LINKS = "nodes", "joined", "filled", "links"
"""Which code ran: whole brokers and sessions; the exchange over the overlays of whole brokers; the same over tables
filled directly; the exchange over MSMQ's links."""

BASE_MS: Final = 15
"""The paper's distance for Fig. 6 and 7, and the one at which rings are joined."""
MAIL_PAIRS: Final = 24
TARGETS_PER_SOURCE: Final = 10
"""Messages from each site that sends over links: its tree of cheapest ways is computed once."""


SHOWN_KINDS: Final = tuple(kind for kind in KINDS if kind.reliable and kind.service != RECOVERABLE)
"""These say all about delays: a recoverable message takes as long as a transactional one."""
SYSTEMS: Final = ((PBM, False), (CAUSEWAY, False), (CAUSEWAY, True))
"""What is sent over every ring, without and with learned routes; over one with perfect tables only the first."""


class RingCase(msgspec.Struct, frozen=True):
    """One ring of brokers."""

    code: str
    brokers: int
    seed: int
    distances_ms: tuple[int, ...]
    pairs: int
    seen: int = SEEN
    """Of filled tables: how many candidates each place has seen; 0 for all."""
    mail: bool = False
    """Of joined brokers: let real applications send real messages over them too."""
    directed: bool = False

    @property
    def weight(self) -> float:
        """About how much work it is, in seconds."""
        joining = (self.brokers / 64) ** 1.25 * 1.4 + (2.0 if self.mail else 0.0) * (self.brokers / 64) ** 0.5
        systems = len(SYSTEMS) if self.seen else 1
        sending = 0.00005 * self.pairs * systems * len(KINDS) * len(self.distances_ms)
        return sending + (joining if self.code == JOINED else self.brokers / 700)


class LinksCase(msgspec.Struct, frozen=True):
    """Sites with MSMQ's links."""

    sites: int
    seed: int
    distances_ms: tuple[int, ...]
    pairs: int
    directed: bool = False

    @property
    def weight(self) -> float:
        """About how much work it is, in seconds."""
        return 0.0002 * self.pairs * len(self.distances_ms) + (self.sites / 1000) ** 2 * 0.05 + self.sites / 5000


class MailCost(msgspec.Struct, frozen=True, tag=True):
    """One kind of message over one network: means, and what the paper's formula gives with the measured hops."""

    system: str
    code: str
    brokers: int
    most_ms: int
    seed: int
    service: str
    reliable: bool
    online: bool
    learned: bool
    seen: int
    directed: bool
    messages: int = 0
    hops: float = 0.0
    hop_ms: float = 0.0
    """Of the message itself, from site to site."""
    one_way_ms: float | None = None
    round_trip_ms: float | None = None
    frames: float = 0.0
    one_way_ms_error: float = 0.0
    round_trip_ms_error: float = 0.0
    frames_error: float = 0.0
    """Standard errors of these means over the messages of this network."""
    bytes: float = 0.0
    formula_one_way_ms: float = 0.0
    formula_round_trip_ms: float | None = None
    formula_frames: float = 0.0
    hops_max: int = 0
    """The longest way of a message, between brokers."""
    long_ways: float = 0.0
    """The share of messages that took more than ⌈log16 N⌉ hops between brokers."""
    least_bytes: int = MESSAGE_BYTES
    greatest_bytes: int = MESSAGE_BYTES
    """Of frames with a message in them."""


def measure_ring(case: RingCase) -> tuple[MailCost, ...]:
    """Build the ring, send, take means."""
    base = SiteDistances(case.seed, BASE_MS * MILLISECOND, case.directed)
    ring: JoinedRing | FilledRing
    if case.code == JOINED:
        ring = JoinedRing(join(case.brokers, base, case.seed))
    else:
        ring = FilledRing(case.brokers, base, case.seed, case.seen)
    rng = random.Random(f"causeway/{case.seed}/pairs")
    pairs = [(ring.places.client(rng), ring.places.client(rng)) for _ in range(case.pairs)]
    costs: list[MailCost] = []
    for most in case.distances_ms:
        distances = SiteDistances(case.seed, most * MILLISECOND, case.directed)
        for system, learned in SYSTEMS if case.seen or case.code == JOINED else SYSTEMS[:1]:
            costs += _exchanged(case, ring, pairs, distances, system, learned=learned)
    if case.mail:
        assert isinstance(ring, JoinedRing)
        costs += _mailed(case, ring, base)
    return tuple(costs)


def _exchanged(
    case: RingCase,
    ring: Ring,
    pairs: Sequence[tuple[Client, Client]],
    distances: SiteDistances,
    system: str,
    *,
    learned: bool,
) -> list[MailCost]:
    exchange = RingExchange(SiteLines(distances), ring, system, learned=learned)
    return [
        _cost(
            MailCost(
                system,
                case.code,
                case.brokers,
                distances.most // MILLISECOND,
                case.seed,
                *kind,
                learned,
                case.seen if case.code == FILLED else 0,
                case.directed,
            ),
            kind,
            [exchange.send(kind, sender, receiver) for sender, receiver in pairs],
        )
        for kind in KINDS
    ]


def _cost(empty: MailCost, kind: MailKind, trips: Sequence[Trip]) -> MailCost:
    """Means of trips, beside the formulas filled with what was measured.

    t_d is that of the frames one after the other; only where copies are waited for that of all frames, because the
    formula knows no slower one of several.
    """
    hops = statistics.fmean(trip.hops for trip in trips)
    copied = empty.system != MSMQ and kind.stored and not kind.online
    out = HopMeans(hops, _per_frame([trip.out for trip in trips]))
    answered = [trip.round_trip for trip in trips if trip.round_trip is not None]
    ways = [trip.sent if copied else trip.there_and_back for trip in trips]
    back = HopMeans(hops, _per_frame(ways)) if answered else None
    system = empty.system
    return msgspec.structs.replace(
        empty,
        messages=len(trips),
        hops=hops,
        hop_ms=out.hop_ms,
        one_way_ms=statistics.fmean(trip.one_way or 0 for trip in trips) / MILLISECOND,
        round_trip_ms=statistics.fmean(answered) / MILLISECOND if answered else None,
        frames=statistics.fmean(trip.frames for trip in trips),
        one_way_ms_error=_error([trip.one_way or 0 for trip in trips]) / MILLISECOND,
        round_trip_ms_error=_error(answered) / MILLISECOND if answered else 0.0,
        frames_error=_error([trip.frames for trip in trips]),
        bytes=statistics.fmean(trip.bytes for trip in trips),
        formula_one_way_ms=one_way_ms(system, kind, out),
        formula_round_trip_ms=round_trip_ms(system, kind, back) if back is not None else None,
        formula_frames=frames(system, kind, hops),
        hops_max=max(trip.hops for trip in trips),
        long_ways=sum(trip.hops > hops_bound(empty.brokers) for trip in trips) / len(trips),
    )


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _per_frame(totals: Sequence[tuple[int, int]]) -> float:
    """How long frames travelled, on average; t_d."""
    sent = sum(count for count, _ in totals)
    return sum(travelled for _, travelled in totals) / sent / MILLISECOND if sent else 0.0


# Whole brokers --------------------------------------------------------------------------------------------------------
def _mailed(case: RingCase, ring: JoinedRing, distances: SiteDistances) -> list[MailCost]:
    """The same kinds by real sessions over real brokers, and by the exchange between the same applications."""
    mail = BrokerMail(ring, distances, case.seed, MAIL_PAIRS)
    costs: list[MailCost] = []
    for learned in (False, True):
        mail.let_learn(learn=learned)
        for _ in range(2):
            mail.warm_up()
        expected = _exchanged(case, ring, mail.expected(), distances, CAUSEWAY, learned=learned)
        for cost in expected:
            kind = MailKind(cost.service, cost.reliable, cost.online)
            found = mail.measure(kind)
            costs += [
                msgspec.structs.replace(cost, code=TWIN),
                msgspec.structs.replace(
                    cost,
                    code=NODES,
                    one_way_ms=statistics.fmean(found.one_way) / MILLISECOND if kind.online else None,
                    one_way_ms_error=_error(found.one_way) / MILLISECOND,
                    round_trip_ms=statistics.fmean(found.round_trip) / MILLISECOND if found.round_trip else None,
                    round_trip_ms_error=_error(found.round_trip) / MILLISECOND,
                    frames=found.frames,
                    bytes=found.bytes,
                    least_bytes=found.least,
                    greatest_bytes=found.greatest,
                ),
            ]
    mail.times.finish()
    return costs


TWIN: Final = "twin"
"""The exchange over joined brokers, between the very applications that real messages were sent between."""


# Links ----------------------------------------------------------------------------------------------------------------
def measure_links(case: LinksCase) -> tuple[MailCost, ...]:
    """Lay the links, send, take means. Sites that are nobody's nearest cannot be reached, and get nothing."""
    rng = random.Random(f"causeway/{case.seed}/pairs over links")
    base = SiteDistances(case.seed, BASE_MS * MILLISECOND, case.directed)
    links = CheapestLinks(case.sites, base)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < case.pairs:
        source = rng.randrange(case.sites)
        targets = [rng.randrange(case.sites) for _ in range(TARGETS_PER_SOURCE)]
        pairs += [(source, target) for target in targets if links.route(source, target)]
    costs = []
    for most in case.distances_ms:
        distances = SiteDistances(case.seed, most * MILLISECOND, case.directed)
        system = StoreAndForward(SiteLines(distances), links, rng)
        for kind in (kind for kind in KINDS if kind.online):
            trips = [system.send(kind, source, target) for source, target in pairs]
            head = (MSMQ, LINKS, case.sites, most, case.seed, *kind, False, 0, case.directed)
            costs.append(_cost(MailCost(*head), kind, trips))
    return tuple(costs)
