"""A good split of many units: the best first splits, improved until the work that was allowed is done.

What goes on inside some connected domains is a small problem of its own: who comes in and goes out stays the same
whatever they look like inside. So large networks are improved unit by unit, then region by region. Must not know:
tables, names.
"""

from __future__ import annotations

from typing import Final

from causeway.domains.split import Split, Ways, cost_of
from causeway.domains.starts import Problem, starts
from causeway.domains.steps import LESS, Effort, fits, improve_small, work_of
from causeway.domains.traffic import Traffic

SMALL: Final = 12
"""Units up to which every step is tried on the whole; regions are as large."""
PROMISING: Final = 3
"""Starts that are improved, of a small problem; of a large one, as far as the work allows."""
CANDIDATES: Final = 8
"""Domains to which a unit might move: those of the units it talks to most."""
PASSES: Final = 6
"""Times that every unit is looked at; most have found their place after two."""


def solve(problem: Problem, effort: Effort, present: Split | None = None) -> Split:
    """The best split found: never worse than the present one, if that keeps to the bounds."""
    found: list[tuple[float, int, Split]] = []
    for split in (*([present.copy()] if present is not None else []), *starts(problem)):
        effort.spend(work_of(problem))
        if fits(problem, split, list(split.members)):
            found.append((cost_of(split, problem.traffic, problem.prices), len(found), split))
    found.sort(key=lambda one: one[:2])
    if problem.units <= SMALL:
        better = [improve_small(problem, split, cost, effort) for cost, _number, split in found[:PROMISING]]
        return min(better, key=lambda one: one[0])[1]
    settled = [move_units(problem, split, effort) for _cost, _number, split in found[:PROMISING]]
    best = min(settled, key=lambda split: cost_of(split, problem.traffic, problem.prices))
    return improve_regions(problem, best, effort)


# Unit by unit -------------------------------------------------------------------------------------------------------
def move_units(problem: Problem, split: Split, effort: Effort) -> Split:
    """Let every unit that is in one domain only look for a better one, until none finds any."""
    split = split.copy()
    for _ in range(PASSES):
        moved = effort.spend(work_of(problem)) and _Placing(problem, split, effort).place_all()
        split.tidy()
        if not moved:
            break
    return split


class _Placing:
    """One look at every unit; loads are kept up to date, so a move costs as much as the unit's own messages."""

    def __init__(self, problem: Problem, split: Split, effort: Effort) -> None:
        self._problem = problem
        self._split = split
        self._effort = effort
        self._root = max(range(problem.units), key=lambda unit: (len(split.homes[unit]), -unit))
        self._ways = Ways(split, self._root)
        self._loads = self._ways.loads(problem.traffic.pairs)

    def place_all(self) -> int:
        """How many have moved."""
        moved = 0
        for unit in range(self._problem.units):
            if unit != self._root and len(self._split.homes[unit]) == 1:
                moved += self._place(unit)
                if self._effort.left <= 0:
                    break
        return moved

    def _place(self, unit: int) -> bool:
        home = next(iter(self._split.homes[unit]))
        now = self._carried(unit, home)
        best, least, chosen = 0.0, home, now
        for domain in self._candidates(unit, home):
            then = self._carried(unit, domain)
            gain = self._gain(home, domain, now, then)
            if gain > best:
                best, least, chosen = gain, domain, then
        total = sum(self._loads[domain] for domain in chosen) + 1
        if least == home or best < total * (1 - LESS):
            return False
        self._split.part(unit, home)
        self._split.join(unit, least)
        self._ways.up[unit] = least
        self._ways.depth[unit] = self._ways.depth[self._ways.top[least]] + 1
        for domain, rate in now.items():
            self._loads[domain] -= rate
        for domain, rate in chosen.items():
            self._loads[domain] += rate
        return True

    def _candidates(self, unit: int, home: int) -> list[int]:
        """Domains of those it talks to most, and for each of the first of them a new one with that unit alone."""
        partners = self._problem.traffic.partners[unit]
        nearest = sorted(partners, key=lambda other: (-partners[other], other))[:CANDIDATES]
        found = {domain: None for other in nearest for domain in self._split.homes[other] if domain != home}
        open_to = [d for d in found if len(self._split.members[d]) < self._problem.size_max][:CANDIDATES]
        for other in nearest[:1]:
            if len(self._split.homes[other]) < self._problem.room[other] and self._problem.size_max > 1:
                open_to.append(self._new_beside(other))
        return open_to

    def _new_beside(self, unit: int) -> int:
        domain = self._split.found([unit])
        self._ways.top[domain] = unit
        self._loads[domain] = 0.0
        return domain

    def _carried(self, unit: int, domain: int) -> dict[int, float]:
        """What each domain carries of a unit's messages, if it sat there."""
        up, depth = self._ways.up, self._ways.depth
        was = up[unit], depth[unit]
        up[unit], depth[unit] = domain, depth[self._ways.top[domain]] + 1
        carried: dict[int, float] = {}
        steps = 0
        for other, rate in self._problem.traffic.partners[unit].items():
            for passed, _one, _other in self._ways.hops(unit, other):
                carried[passed] = carried.get(passed, 0.0) + rate
                steps += 1
        up[unit], depth[unit] = was
        self._effort.spend(steps)
        return carried

    def _gain(self, home: int, domain: int, now: dict[int, float], then: dict[int, float]) -> float:
        price, members, loads = self._problem.prices.of, self._split.members, self._loads
        gain = 0.0
        for passed in {**now, **then, home: None, domain: None}:
            size = len(members[passed])
            after = size + (passed == domain) - (passed == home)
            load = loads[passed] - now.get(passed, 0.0) + then.get(passed, 0.0)
            gain += loads[passed] * price(size) - load * price(after)
        return gain


# Region by region ---------------------------------------------------------------------------------------------------
def improve_regions(problem: Problem, split: Split, effort: Effort) -> Split:
    """Solve what goes on around each domain anew, the dearest first, as long as there is work left."""
    done: dict[tuple[int, ...], None] = {}
    again = True
    while again:
        again = False
        ways = Ways(split)
        loads = ways.loads(problem.traffic.pairs)
        for domain in sorted(loads, key=lambda d: (-loads[d] * problem.prices.of(len(split.members[d])), d)):
            if domain not in split.members:
                continue  # it was of a region that has changed
            region = _region(split, domain, loads)
            key = tuple(sorted({unit for inside in region for unit in split.members[inside]}))
            if key in done:
                continue
            done[key] = None
            if not effort.spend(3 * work_of(problem)):
                return split
            if _renewed(problem, split, region, effort):
                again = True
    return split


def _region(split: Split, domain: int, loads: dict[int, float]) -> dict[int, None]:
    """A domain and those beside it, the busiest first, as long as they have few units together."""
    region: dict[int, None] = {domain: None}
    units = dict(split.members[domain])
    while True:
        beside = {d: None for unit in units for d in split.homes[unit] if d not in region}
        fitting = [d for d in beside if len(units) + len(split.members[d]) - 1 <= SMALL]
        if not fitting:
            return region
        chosen = max(fitting, key=lambda d: (loads.get(d, 0.0), -d))
        region[chosen] = None
        units.update(split.members[chosen])


def _renewed(problem: Problem, split: Split, region: dict[int, None], effort: Effort) -> bool:
    """Whether a cheaper inside was found for some domains; it is in place then."""
    units = list(dict.fromkeys(unit for domain in region for unit in split.members[domain]))
    numbers = {unit: number for number, unit in enumerate(units)}
    through = Ways(split).through(problem.traffic, region)
    traffic = Traffic.numbered(
        len(units), ((numbers[left], numbers[right], rate) for (left, right), rate in through.items())
    )
    room = tuple(problem.room[unit] - sum(home not in region for home in split.homes[unit]) for unit in units)
    local = Problem(traffic, problem.prices, problem.size_max, room)
    now = Split.of(len(units), ([numbers[unit] for unit in split.members[domain]] for domain in region))
    cost = cost_of(now, traffic, problem.prices)
    if len(units) <= SMALL:
        then = solve(local, effort, now)
    else:
        splits = [now, *(one for one in starts(local) if fits(local, one, list(one.members)))]
        then = move_units(local, min(splits, key=lambda one: cost_of(one, traffic, problem.prices)), effort)
    if not cost_of(then, traffic, problem.prices) < cost * LESS:
        return False
    for domain in region:
        split.dissolve(domain)
    for members in then.members.values():
        split.found(units[number] for number in members)
    split.tidy()
    return True
