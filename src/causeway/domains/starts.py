"""First splits, to be improved: units that talk most come together, then domains are joined to a tree.

Two ways to join them, each for a ladder of sizes: along the heaviest traffic between domains, neighbours sharing a
router; or by a domain of routers, one from each, and domains of routers of those where they are too many. One is good
where traffic has a direction, the other where everybody talks to everybody.

Must not know: which of them is good (see search.py).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final

import msgspec

from causeway.domains.split import Split
from causeway.domains.traffic import Prices, Traffic

LADDER: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Sizes of domains that are tried. Few enough for thousands of units, near enough for the search to do the rest."""


class Problem(msgspec.Struct, frozen=True):
    """What is to be split, and within which bounds."""

    traffic: Traffic
    prices: Prices
    size_max: int
    """Seats of a domain."""
    room: tuple[int, ...]
    """Domains that each unit may be in."""

    @property
    def units(self) -> int:
        """How many there are."""
        return len(self.room)


def starts(problem: Problem) -> Iterator[Split]:
    """Splits to begin with; at least one, whatever the traffic."""
    if problem.units <= problem.size_max:
        yield Split.of(problem.units, [range(problem.units)])
    circles = Circles(problem.traffic, list(range(problem.units)))
    for bound in LADDER:
        if bound >= problem.units or bound > problem.size_max:
            break
        circles.merge(bound)
        parts = circles.parts()
        for split in (_along_traffic(problem, parts), _by_routers(problem, parts, bound)):
            if split is not None:
                split.tidy()
                yield split


# Who belongs together -----------------------------------------------------------------------------------------------
class Circles:
    """Units in circles that grow: first those with most traffic per pair of members."""

    def __init__(self, traffic: Traffic, units: list[int]) -> None:
        self._members: dict[int, list[int]] = {unit: [unit] for unit in units}
        self._between: dict[int, dict[int, float]] = {
            unit: {other: rate for other, rate in traffic.partners[unit].items() if other in self._members}
            for unit in units
        }

    def parts(self) -> list[list[int]]:
        """The circles as they are."""
        return [list(members) for members in self._members.values()]

    def merge(self, bound: int) -> None:
        """Join circles as long as none gets larger than this."""
        waiting = [
            self._entry(left, right) for left, others in self._between.items() for right in others if left < right
        ]
        heapq.heapify(waiting)
        while waiting:
            score, left, right = heapq.heappop(waiting)
            if left not in self._members or right not in self._between[left]:
                continue
            if score != self._entry(left, right)[0]:
                continue  # one of them has grown since
            if len(self._members[left]) + len(self._members[right]) <= bound:
                for other in self._join(left, right):
                    heapq.heappush(waiting, self._entry(min(left, other), max(left, other)))

    def _entry(self, left: int, right: int) -> tuple[float, int, int]:
        pairs = len(self._members[left]) * len(self._members[right])
        return (-self._between[left][right] / pairs, left, right)

    def _join(self, left: int, right: int) -> list[int]:
        """The right circle goes into the left one; whom that talks to then."""
        self._members[left] += self._members.pop(right)
        theirs = self._between.pop(right)
        mine = self._between[left]
        del mine[right]
        del theirs[left]
        for other, rate in theirs.items():
            mine[other] = mine.get(other, 0.0) + rate
            del self._between[other][right]
            self._between[other][left] = mine[other]
        return list(mine)


def _between(traffic: Traffic, part_of: dict[int, int]) -> dict[tuple[int, int], float]:
    """Traffic between parts, the smaller number first."""
    found: dict[tuple[int, int], float] = {}
    for left, right, rate in traffic.pairs:
        if left in part_of and right in part_of and part_of[left] != part_of[right]:
            pair = (min(part_of[left], part_of[right]), max(part_of[left], part_of[right]))
            found[pair] = found.get(pair, 0.0) + rate
    return found


def _parted(parts: list[list[int]]) -> dict[int, int]:
    return {unit: number for number, members in enumerate(parts) for unit in members}


# Joined along the heaviest traffic ----------------------------------------------------------------------------------
def _along_traffic(problem: Problem, parts: list[list[int]]) -> Split | None:
    part_of = _parted(parts)
    weights = _between(problem.traffic, part_of)
    below = _spanning_tree(len(parts), weights)
    split = Split.of(problem.units, parts)
    domains = list(split.members)
    queue = [_heaviest(len(parts), weights)]
    known = dict.fromkeys(queue)
    for part in queue:
        for other in below[part]:
            if other not in known:
                known[other] = None
                queue.append(other)
                if not _attach(problem, split, domains[part], domains[other], (parts[part], parts[other])):
                    return None
    return split


def _spanning_tree(count: int, weights: dict[tuple[int, int], float]) -> list[list[int]]:
    """Neighbours in the tree with most traffic along its edges; parts without any hang on the heaviest one."""
    roots = list(range(count))

    def root(part: int) -> int:
        while roots[part] != part:
            roots[part] = part = roots[roots[part]]
        return part

    neighbours: list[list[int]] = [[] for _ in range(count)]
    heaviest = _heaviest(count, weights)
    rest = [(heaviest, part) for part in range(count) if part != heaviest]
    for left, right in [*sorted(weights, key=lambda pair: (-weights[pair], pair)), *rest]:
        if root(left) != root(right):
            roots[root(right)] = root(left)
            neighbours[left].append(right)
            neighbours[right].append(left)
    return neighbours


def _heaviest(count: int, weights: dict[tuple[int, int], float]) -> int:
    totals = [0.0] * count
    for (left, right), rate in weights.items():
        totals[left] += rate
        totals[right] += rate
    return max(range(count), key=lambda part: (totals[part], -part))


def _attach(problem: Problem, split: Split, upper: int, lower: int, parts: tuple[list[int], list[int]]) -> bool:
    """Let two domains share the unit that has most to say across; or join two units by a domain of their own."""
    above, beneath = parts
    best: tuple[float, int, int] | None = None
    for mine, theirs, into in ((above, beneath, lower), (beneath, above, upper)):
        if len(split.members[into]) >= problem.size_max:
            continue
        for unit in mine:
            if len(split.homes[unit]) < problem.room[unit]:
                talk = _talk(problem.traffic, unit, theirs)
                if best is None or talk > best[0]:
                    best = (talk, unit, into)
    if best is not None:
        split.join(best[1], best[2])
        return True
    ends = [
        max(mine, key=lambda unit: (len(split.homes[unit]) < problem.room[unit], _talk(problem.traffic, unit, theirs)))
        for mine, theirs in ((above, beneath), (beneath, above))
    ]
    if problem.size_max < 2 or any(len(split.homes[unit]) >= problem.room[unit] for unit in ends):
        return False
    split.found(ends)
    return True


def _talk(traffic: Traffic, unit: int, others: list[int]) -> float:
    partners = traffic.partners[unit]
    if len(others) > len(partners):
        inside = dict.fromkeys(others)
        return sum(rate for other, rate in partners.items() if other in inside)
    return sum(partners.get(other, 0.0) for other in others)


# Joined by domains of routers ---------------------------------------------------------------------------------------
def _by_routers(problem: Problem, parts: list[list[int]], bound: int) -> Split | None:
    split = Split.of(problem.units, parts)
    traffic = problem.traffic
    while len(parts) > 1:
        part_of = _parted(parts)
        weights = _between(traffic, part_of)
        outside = [0.0] * problem.units
        for left, right, rate in traffic.pairs:
            if part_of.get(left) != part_of.get(right):
                outside[left] += rate
                outside[right] += rate
        routers = []
        for members in parts:
            able = [unit for unit in members if len(split.homes[unit]) < problem.room[unit]]
            if not able:
                return None
            routers.append(max(able, key=lambda unit: (outside[unit], -unit)))
        # From here on a router speaks for everybody behind it.
        traffic = Traffic.numbered(
            problem.units, ((routers[left], routers[right], rate) for (left, right), rate in weights.items())
        )
        upper = _upper_parts(traffic, routers, max(bound, 2), problem.size_max)
        if len(upper) == len(routers):
            return None  # no two of them may sit together
        for members in upper:
            split.found(members)
        parts = upper
    return split


def _upper_parts(traffic: Traffic, routers: list[int], bound: int, size_max: int) -> list[list[int]]:
    if len(routers) <= min(size_max, 2 * bound):
        return [routers]
    circles = Circles(traffic, routers)
    circles.merge(min(bound, size_max))
    # Who has nobody to talk to in the end still needs somebody to sit with.
    packed: list[list[int]] = []
    for members in sorted(circles.parts(), key=len, reverse=True):
        fitting = next((part for part in packed if len(part) + len(members) <= min(bound, size_max)), None)
        if fitting is None or len(members) > 1:
            packed.append(list(members))
        else:
            fitting += members
    return packed
