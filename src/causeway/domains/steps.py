"""Small steps from one split to another, each tried on the whole of a small problem.

A unit moves to another domain, a domain hangs on another router, units get a domain of their own, two domains become
one, two units change places: each keeps a tree a tree or is refused. There is no chance in it: the same problem gives
the same split. Must not know: how a large problem is cut into small ones (see search.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from causeway.domains.split import Split, cost_of
from causeway.domains.starts import Problem

LESS: Final = 1 - 1e-9
"""A step that gains less than this gains nothing but the noise of adding in another order."""

Move = tuple[str, int, int, int]


class Effort:
    """How much work is left, in hops looked at (a microsecond each, more or less)."""

    def __init__(self, total: int, told: Callable[[float], None] | None = None) -> None:
        self.total = total
        self.left = total
        self._told = told

    def spend(self, steps: int) -> bool:
        """Whether there was so much left."""
        self.left -= steps
        if self._told is not None:
            self._told(1 - max(0, self.left) / self.total)
        return self.left > 0


def improve_small(problem: Problem, split: Split, cost: float, effort: Effort) -> tuple[float, Split]:
    """Try every step until none is better."""
    moved = True
    while moved:
        moved = False
        for move in list(_moves(problem, split)):
            if not effort.spend(work_of(problem)):
                return cost, split
            other = _moved(problem, split, move)
            if other is None:
                continue
            price = cost_of(other, problem.traffic, problem.prices)
            if price < cost * LESS:
                cost, split, moved = price, other, True
    return cost, split


def _moves(problem: Problem, split: Split) -> Iterator[Move]:
    incidences = [(unit, domain) for domain, units in split.members.items() for unit in units]
    for unit, domain in incidences:
        for other in split.members:
            if other != domain:
                yield ("move", unit, domain, other)
        for router in range(problem.units):
            if router != unit:
                yield ("hang", unit, domain, router)
        if len(split.members[domain]) > 2:
            for router in split.members[domain]:
                if router != unit:
                    yield ("pull", unit, domain, router)
    for unit, homes in enumerate(split.homes):
        for one in homes:
            for other in homes:
                if one < other:
                    yield ("merge", unit, one, other)
    for left in range(problem.units):
        for right in range(left):
            yield ("swap", left, right, 0)
    for domain, units in split.members.items():
        for one in units:
            for other in units:
                if one < other and len(units) > 3:
                    yield ("pair", one, other, domain)


def _moved(problem: Problem, split: Split, move: Move) -> Split | None:
    """The split after a step; None if the step is not possible (any more)."""
    kind, unit, one, other = move
    if kind == "swap":
        return _swapped(problem, split, unit, one)
    if kind == "pair":
        return _paired(problem, split, (unit, one), other)
    if one not in split.homes[unit]:
        return None
    changed = split.copy()
    if kind == "move":
        if other not in split.members or other in split.homes[unit]:
            return None
        changed.part(unit, one)
        changed.join(unit, other)
    elif kind == "hang":
        if other in split.members[one]:
            return None
        changed.part(unit, one)
        changed.join(other, one)
    elif kind == "pull":
        if other not in split.members[one]:
            return None
        changed.part(unit, one)
        other = changed.found((unit, other))
    elif kind == "merge":
        if other not in split.homes[unit]:
            return None
        for member in changed.dissolve(other):
            changed.join(member, one)
    changed.tidy()
    return changed if fits(problem, changed, [one, other]) else None


def _swapped(problem: Problem, split: Split, left: int, right: int) -> Split | None:
    """Two units change places."""
    if split.homes[left].keys() == split.homes[right].keys():
        return None
    if len(split.homes[left]) > problem.room[right] or len(split.homes[right]) > problem.room[left]:
        return None
    changed = split.copy()
    for domain in split.homes[left]:
        changed.part(left, domain)
    for domain in split.homes[right]:
        changed.part(right, domain)
    for domain in split.homes[left]:
        changed.join(right, domain)
    for domain in split.homes[right]:
        changed.join(left, domain)
    return changed


def _paired(problem: Problem, split: Split, pair: tuple[int, int], domain: int) -> Split | None:
    """Two members get a domain of their own, and one of them, the router, stays."""
    left, right = pair
    if domain not in split.homes[left] or domain not in split.homes[right] or len(split.members[domain]) < 4:
        return None
    # The third seat makes it different from "pull": two move out together, behind the member they talk to most.
    partners = problem.traffic.partners
    others = [unit for unit in split.members[domain] if unit not in pair]
    router = max(others, key=lambda unit: (partners[left].get(unit, 0.0) + partners[right].get(unit, 0.0), -unit))
    changed = split.copy()
    changed.part(left, domain)
    changed.part(right, domain)
    changed.tidy()
    founded = changed.found((left, right, router))
    return changed if fits(problem, changed, [founded]) else None


def fits(problem: Problem, split: Split, domains: list[int]) -> bool:
    """Whether these domains and their members keep to the bounds."""
    return all(
        len(members) <= problem.size_max and all(len(split.homes[unit]) <= problem.room[unit] for unit in members)
        for members in (split.members.get(domain, {}) for domain in domains)
    )


def work_of(problem: Problem) -> int:
    """What it takes to look at a whole split once."""
    return 2 * (problem.units + len(problem.traffic.pairs))
