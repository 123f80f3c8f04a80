"""Which domains would suit the traffic: a proposal, and what it costs beside the present split.

The cost of a split is the sum over all pairs of units of their messages per second times the price of every hop between
them: a fixed price, and one per cell of the clock, the square of the domain's seats (traffic.py). It tells what clocks
and hops cost beside each other, not seconds. Units that talk to nobody cost nothing and get domains of their own.

Must not know: files, brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from causeway.domains.graph import DomainGraph, described_cycle
from causeway.domains.layouts import MAIN, Layout
from causeway.domains.limits import DOMAINS_PER_SEAT_MAX, SEATS_MAX, SEATS_PER_DOMAIN_MAX
from causeway.domains.search import solve
from causeway.domains.split import Split, Ways
from causeway.domains.starts import Problem
from causeway.domains.steps import LESS, Effort
from causeway.domains.traffic import Prices, Traffic
from causeway.errors import ConfigError

WORK: Final = 4_000_000
"""Hops that a search looks at: some seconds for thousands of units; a hundred need less."""
IDLE_DOMAIN_SIZE: Final = 8
"""Units without traffic that share a domain: some day they will talk."""


class DomainLine(msgspec.Struct, frozen=True, kw_only=True):
    """One domain of a split."""

    name: str
    members: list[str]
    routers: list[str]
    """Those members that are in other domains too."""
    rate: float
    """Messages per second that make a hop in it."""
    cost: float


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A split that suits the traffic."""

    seats: Layout
    """Unit -> its domains."""
    domains: list[DomainLine]
    """The busiest first."""
    cost: float
    rate: float
    """Messages per second from unit to unit."""
    present: list[DomainLine] = []
    present_cost: float | None = None
    """None: there is no present split, or `present_fault` says why it costs nothing that can be told."""
    present_fault: str = ""
    """What is wrong with the present split: then it is not proposed, whatever it costs."""
    changed: bool = True
    """False: nothing cheaper was found than the present split, which is what is proposed."""


def propose(
    units: Iterable[str],
    rates: Iterable[tuple[str, str, float]],
    *,
    prices: Prices | None = None,
    present: Mapping[str, tuple[str, ...]] | None = None,
    size_max: int = SEATS_PER_DOMAIN_MAX,
    work: int = WORK,
    told: Callable[[float], None] | None = None,
) -> Proposal:
    """The best split that was found, and the present one; `told` hears which part of the work is done."""
    if not 2 <= size_max <= SEATS_PER_DOMAIN_MAX:
        raise ConfigError("domain-size-max", size_max, f"must lie in 2..{SEATS_PER_DOMAIN_MAX}")
    traffic = Traffic([*units, *(present or ())], rates)
    if not 1 <= len(traffic.names) <= SEATS_MAX:
        remedy = f"must lie in 1..{SEATS_MAX}; plan for seats (columns from_seat and to_seat) if these are applications"
        raise ConfigError("units", len(traffic.names), remedy)
    weighed = _Weighed(traffic, prices or Prices())
    held = _Present(weighed, present, size_max) if present is not None else None
    start = held.split if held is not None and not held.fault and held.whole else None
    split = _found(weighed, size_max, start, Effort(work, told))
    lines = weighed.lines(split)
    cost = sum(line.cost for line in lines)
    changed = True
    if held is not None and not held.fault and not cost < held.cost * LESS:
        lines, cost, changed = held.lines, held.cost, False
    return Proposal(
        seats=_seats(traffic.names, lines),
        domains=lines,
        cost=cost,
        rate=traffic.rate,
        present=held.lines if held is not None else [],
        present_cost=held.cost if held is not None and held.cost < float("inf") else None,
        present_fault=held.fault if held is not None else "",
        changed=changed,
    )


def _seats(names: list[str], lines: list[DomainLine]) -> Layout:
    seats: dict[str, list[str]] = {name: [] for name in names}
    for line in lines:
        for member in line.members:
            seats[member].append(line.name)
    return {name: tuple(domains) for name, domains in seats.items()}


class _Weighed:
    """Traffic with prices: what the domains of a split carry and cost."""

    def __init__(self, traffic: Traffic, prices: Prices) -> None:
        self.traffic = traffic
        self.prices = prices

    def lines(self, split: Split, names: Mapping[int, str] | None = None) -> list[DomainLine]:
        """Every domain, the busiest first; without names numbered so, one is `main`. The split must be a tree."""
        loads = Ways(split).loads(self.traffic.pairs)
        order = sorted(loads, key=lambda d: (-loads[d], sorted(split.members[d])))
        if names is None:
            names = {domain: f"d{number}" if len(order) > 1 else MAIN for number, domain in enumerate(order, 1)}
        return [self._line(split, domain, names[domain], loads[domain]) for domain in order if domain in names]

    def _line(self, split: Split, domain: int, name: str, load: float) -> DomainLine:
        units = sorted(split.members[domain])
        return DomainLine(
            name=name,
            members=[self.traffic.names[unit] for unit in units],
            routers=[self.traffic.names[unit] for unit in units if len(split.homes[unit]) > 1],
            rate=load,
            cost=load * self.prices.of(len(units)),
        )


class _Present:
    """The split as it is, and what is wrong with it."""

    def __init__(self, weighed: _Weighed, seats: Mapping[str, tuple[str, ...]], size_max: int) -> None:
        self.cost = float("inf")
        self.lines: list[DomainLine] = []
        self.whole = False
        numbers = {name: number for number, name in enumerate(weighed.traffic.names)}
        for name in weighed.traffic.names:
            if not seats.get(name):
                raise ConfigError("present", name, "talks, and is in no domain of the present split; give its domains")
        graph = DomainGraph(seats)
        ids = {domain: number for number, domain in enumerate(graph.domains)}
        self.split = Split.of(len(numbers), ([numbers[seat] for seat in graph.domains[domain]] for domain in ids))
        cycle = graph.find_cycle()
        if cycle is not None:
            self.fault = f"it has a cycle: {described_cycle(cycle)}"
            return
        self.fault = self._crowded(graph, size_max)
        linked, self.whole = _linked(self.split)
        lines = weighed.lines(linked, {number: domain for domain, number in ids.items()})
        within = Ways(linked)
        # What links parts that have nothing to do with each other carries nothing, or they have.
        extra = [domain for domain in linked.members if domain not in ids.values()]
        for left, right, _rate in weighed.traffic.pairs:
            if extra and any(hop[0] in extra for hop in within.hops(left, right)):
                names = weighed.traffic.names
                self.fault = f"there is no way between {names[left]} and {names[right]}, which talk to each other"
                return
        self.lines = [_without_links(line, seats) for line in lines]
        self.cost = sum(line.cost for line in lines)

    def _crowded(self, graph: DomainGraph, size_max: int) -> str:
        for domain, members in graph.domains.items():
            if len(members) > size_max:
                return f"its domain {domain} has {len(members)} seats, at most {size_max} are wanted"
        for seat, domains in graph.seats.items():
            if len(domains) > DOMAINS_PER_SEAT_MAX:
                return f"its seat {seat} is in {len(domains)} domains, at most {DOMAINS_PER_SEAT_MAX} are possible"
        return ""


def _without_links(line: DomainLine, seats: Mapping[str, tuple[str, ...]]) -> DomainLine:
    routers = [name for name in line.members if len(seats[name]) > 1]
    return msgspec.structs.replace(line, routers=routers)


def _linked(split: Split) -> tuple[Split, bool]:
    """The same as one tree, by one more domain if need be; and whether it was one."""
    reached: dict[int, None] = {}
    heads: list[int] = []
    for unit in range(len(split.homes)):
        if unit in reached:
            continue
        heads.append(unit)
        ways = Ways(split, unit)
        reached.update(dict.fromkeys(other for other, depth in enumerate(ways.depth) if depth >= 0))
    if len(heads) == 1:
        return split, True
    linked = split.copy()
    linked.found(heads)
    return linked, False


def _found(weighed: _Weighed, size_max: int, present: Split | None, effort: Effort) -> Split:
    """The best split of all units: those that talk are searched for, the others seated where they cost nothing."""
    traffic = weighed.traffic
    talking = [unit for unit, partners in enumerate(traffic.partners) if partners]
    idle = [unit for unit, partners in enumerate(traffic.partners) if not partners]
    numbers = {unit: number for number, unit in enumerate(talking)}
    split = Split(len(traffic.names))
    if talking:
        rates = ((numbers[left], numbers[right], rate) for left, right, rate in traffic.pairs)
        # One home of each unit is kept free for what has to be hung on it afterwards.
        room = (DOMAINS_PER_SEAT_MAX - bool(idle),) * len(talking)
        local = Problem(Traffic.numbered(len(talking), rates), weighed.prices, size_max, room)
        start = present if present is not None and not idle else None
        for members in solve(local, effort, start).members.values():
            split.found(talking[number] for number in members)
    hook = max(talking, key=lambda unit: (sum(traffic.partners[unit].values()), -unit)) if talking else None
    size = min(size_max, max(2, IDLE_DOMAIN_SIZE))
    while idle:
        taken = size - (hook is not None)
        seated, idle = idle[:taken], idle[taken:]
        split.found([*([hook] if hook is not None else []), *seated])
        hook = next((unit for unit in (hook, *seated) if unit is not None and _has_room(split, unit)), None)
    return split


def _has_room(split: Split, unit: int) -> bool:
    return len(split.homes[unit]) < DOMAINS_PER_SEAT_MAX
