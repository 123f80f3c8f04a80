"""What causal order costs per message: the seats of the product in a network of their own, and their own counters.

Messages are sent until the clocks are in a steady state: after a warm-up, two successive halves of what is measured
must agree within 5 %, or the earlier one counts as warm-up too and another one follows.

Owns: layouts of a size, traffic, counting. Must not know: what is claimed about the numbers.
"""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from causeway.domains import layouts
from causeway.domains.layouts import Layout
from causeway.sim.seats import Got, SeatedApplication, SeatNetwork, SeatWeather
from causeway.types import MILLISECOND, Duration

TREE_SEATS: Final = 9
TREE_CHILDREN: Final = 3
"""Of every domain of a tree: with these, depths 0 to 4 have 9, 33, 105, 321 and 969 seats."""

SEND_EVERY: Final[Duration] = 20 * MILLISECOND
"""On average, for each application: so the traffic of a seat does not depend on how many there are."""
WEATHER: Final = SeatWeather(delay=(MILLISECOND, 2 * MILLISECOND))
AGREEMENT: Final = 0.05
HALVES_MAX: Final = 8
TOPIC: Final = "news"

UNICAST, BROADCAST = "unicast", "broadcast"
SETTLED: Final = "unicast, long warm-up"
"""The same unicast after so many messages that every pair has been drawn: shows what the usual warm-up leaves out."""
PING, PING_ALL = "ping-pong", "ping-pong with all"
"""The traffic of the paper's experiment: one agent asks, and one other or all others answer, a hundred times."""


class CostCase(msgspec.Struct, frozen=True):
    """One network and one kind of traffic."""

    layout: str
    traffic: str
    seats: int
    seed: int
    warm_up: int
    half: int
    """Messages (of a ping-pong: round trips) in each of the halves that are compared."""

    @property
    def weight(self) -> float:
        """About how much work it is, to begin with the longest."""
        stamped = self.seats**2 if self.layout == "flat" else 40 * self.seats**0.5
        fan_out = self.seats if self.traffic in (BROADCAST, PING_ALL) else 1
        return (self.warm_up + 2 * self.half) * fan_out * (stamped + 400)


class SeatCost(msgspec.Struct, frozen=True):
    """What was counted, per message where nothing else is said. A ping-pong's message is one round trip."""

    layout: str
    traffic: str
    seats: int
    seed: int
    domains: int
    domain_seats: int
    """Of the largest domain."""
    depth: int
    """d of the paper: a message passes at most 2d+1 domains."""
    formula: int
    """(2d+1)s², in cells."""
    warm_up: int
    measured: int
    agreement: float
    """By how much the two halves differed, as a share of their mean."""
    hops: float
    deliveries: float
    cells: float
    """Put into stamps."""
    stamp_bytes: float
    operations: float
    """Cells that clocks looked at or changed."""
    row_bytes: float
    """Written by seats, on one copy."""


class Counters(NamedTuple):
    """Sums over all seats."""

    hops: int
    cells: int
    stamp_bytes: int
    operations: int
    row_bytes: int
    deliveries: int


def lay_out(layout: str, seats: int) -> Layout:
    """Of this size; a tree must have a size that its formula gives."""
    names = [f"b{number}" for number in range(seats)]
    if layout == "flat":
        return dict.fromkeys(names, (layouts.MAIN,))  # also where brokers would refuse a domain of this size
    if layout == "tree":
        found = layouts.smallest_tree(seats, TREE_CHILDREN, TREE_SEATS)
        assert len(found) == seats, f"a tree has {len(found)} seats, not {seats}"
        return found
    return layouts.lay_out(layout, names, layouts.domains_for(seats))


def measure(case: CostCase) -> SeatCost:
    """Warm up, count, and make sure that nothing changes any more."""
    collecting = gc.isenabled()
    gc.disable()  # everything made here lives until the end, and looking for rubbish in it takes a third of the time
    gc.freeze()  # what was there before is not looked at either: in a large process that takes longer than the case
    try:
        return _measure(case)
    finally:
        if collecting:
            gc.enable()
        gc.collect()
        gc.unfreeze()


def _measure(case: CostCase) -> SeatCost:
    layout = lay_out(case.layout, case.seats)
    traffic = TRAFFIC[case.traffic](layout, f"{case.layout}/{case.traffic}/{case.seats}/{case.seed}")
    traffic.run(case.warm_up)
    warm_up = case.warm_up
    counted = [traffic.count()]
    for _ in range(2):
        traffic.run(case.half)
        counted.append(traffic.count())
    while _disagreement(counted) > AGREEMENT and len(counted) <= HALVES_MAX:
        warm_up += case.half
        traffic.run(case.half)
        counted.append(traffic.count())
    sizes: dict[str, int] = {}
    for domains in layout.values():
        for domain in domains:
            sizes[domain] = sizes.get(domain, 0) + 1
    depth = _depth(case.layout, case.seats, len(sizes))
    measured = 2 * case.half
    each = {
        name: round((after - before) / measured, 3)
        for name, before, after in zip(Counters._fields, counted[-3], counted[-1], strict=True)
    }
    return SeatCost(
        case.layout,
        case.traffic,
        case.seats,
        case.seed,
        len(sizes),
        max(sizes.values()),
        depth,
        (2 * depth + 1) * max(sizes.values()) ** 2,
        warm_up,
        measured,
        round(_disagreement(counted), 4),
        **each,
    )


def _disagreement(counted: list[Counters]) -> float:
    first = counted[-2].operations - counted[-3].operations
    second = counted[-1].operations - counted[-2].operations
    return 2 * abs(second - first) / max(1, first + second)


def _depth(layout: str, seats: int, domains: int) -> int:
    """How far below the middle of the network the farthest domains are."""
    if layout == "tree":
        return next(d for d in range(16) if layouts.seats_of_tree(TREE_CHILDREN, TREE_SEATS, d) >= seats)
    if layout == "daisy":
        return domains // 2
    return int(domains > 1)


class SeatTraffic:
    """A network of seats with one application at each, its random numbers, and its counters."""

    topics = ""

    def __init__(self, layout: Layout, seed: str) -> None:
        self.rng = random.Random(seed)
        self.network = SeatNetwork(layout, self.rng.getrandbits(64), WEATHER)
        self.apps = [self.network.application(f"a{seat}", seat, self.topics) for seat in layout]
        self.network.run()
        self._delivered = 0
        self.network.on_receive = self.received

    def run(self, messages: int) -> None:
        """So many messages, in random order and at even times, until all have arrived."""
        pause = SEND_EVERY // len(self.apps)
        for at in range(messages):
            self.network.after(at * pause, self.send)
        self.network.run()

    def send(self) -> None:
        """One message."""
        raise NotImplementedError

    def received(self, mailbox: str, got: Got) -> None:
        """A message is in a mailbox; nobody will look at it again."""
        self._delivered += 1
        self.network.mailboxes[mailbox].clear()

    def count(self) -> Counters:
        """All that was counted so far."""
        places = list(self.network.places.values())
        clocks = [clock for place in places for clock in place.seat.clocks.values()]
        return Counters(
            sum(made for place in places for made in place.seat.stamps.values()),
            sum(clock.stamped for clock in clocks),
            sum(place.stamp_bytes for place in places),
            sum(clock.operations for clock in clocks),
            sum(place.written_bytes for place in places),
            self._delivered,
        )


class Unicast(SeatTraffic):
    """From anybody to anybody else, all pairs alike."""

    def send(self) -> None:
        source, dest = self.rng.sample(self.apps, 2)
        source.send(b"", dest=dest.name)


class Broadcast(SeatTraffic):
    """From anybody to everybody, in rounds: each once, in random order, so that few rounds are enough for a mean."""

    topics = TOPIC

    def __init__(self, layout: Layout, seed: str) -> None:
        super().__init__(layout, seed)
        self._round: list[SeatedApplication] = []

    def send(self) -> None:
        if not self._round:
            self._round = self.rng.sample(self.apps, len(self.apps))
        self._round.pop().send(b"", topic=TOPIC)


class PingPong(SeatTraffic):
    """Between the two seats that are farthest apart, one message at a time."""

    def __init__(self, layout: Layout, seed: str) -> None:
        super().__init__(layout, seed)
        self.main, self.others = self._players()
        self._left = 0
        self._missing = 0

    def _players(self) -> tuple[SeatedApplication, list[SeatedApplication]]:
        far = self._farthest(self.apps[0])
        return self._farthest(far), [far]

    def _farthest(self, app: SeatedApplication) -> SeatedApplication:
        graph = self.network.map.graph
        return max(self.apps, key=lambda other: len(graph.path(app.seat, other.seat) or ()))

    def run(self, messages: int) -> None:
        self._left = messages
        self.send()
        self.network.run()

    def send(self) -> None:
        self._left -= 1
        self._missing = len(self.others)
        self.ask()

    def ask(self) -> None:
        """The one question."""
        self.main.send(b"", dest=self.others[0].name)

    def received(self, mailbox: str, got: Got) -> None:
        super().received(mailbox, got)
        if mailbox != self.main.name:
            self.network.applications[mailbox].send(b"", dest=self.main.name)
        elif got.source != mailbox:
            self._missing -= 1
            if not self._missing and self._left:
                self.send()


class PingPongWithAll(PingPong):
    """One agent publishes, everybody else answers it, and then the next one."""

    topics = TOPIC

    def _players(self) -> tuple[SeatedApplication, list[SeatedApplication]]:
        return self.apps[0], self.apps[1:]

    def ask(self) -> None:
        self.main.send(b"", topic=TOPIC)


TRAFFIC: Final[dict[str, Callable[[Layout, str], SeatTraffic]]] = {
    UNICAST: Unicast,
    SETTLED: Unicast,
    BROADCAST: Broadcast,
    PING: PingPong,
    PING_ALL: PingPongWithAll,
}


def warm_up_for(layout: str, traffic: str, seats: int, half: int) -> int:
    """Messages until clocks have forgotten how they began.

    Among n seats of one domain each ordered pair is drawn every n² messages, and a stamp is what has changed since:
    after 1.5 n² the mean is 1 - e⁻³ = 95 % of its limit, the same share for every n. With domains the pairs that
    carry nearly all of the cost (those with a router) are drawn every n messages or more often.
    """
    if traffic in (PING, PING_ALL):
        return 5
    if traffic == BROADCAST:
        return 2 * seats
    if traffic == SETTLED:
        return (6 if layout == "flat" else 3) * seats * seats
    everything = math.ceil(1.5 * seats * seats)
    return everything if layout == "flat" else min(everything, 2 * (half + seats))
