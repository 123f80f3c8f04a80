"""A split of units into domains that form one tree: which hops every message takes in it, and what that costs.

Owns: membership both ways, the ways between units, the load of each domain. Numbers, not names: a search changes and
asks it thousands of times. Must not know: how a good split is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.domains.traffic import Prices, Traffic

Hops = dict[tuple[int, int], float]
"""Messages per second from member to member of one domain, the smaller number first."""


class Split:
    """Units in domains. Whoever changes it keeps it a tree."""

    def __init__(self, units: int) -> None:
        self.homes: list[dict[int, None]] = [{} for _ in range(units)]
        """The domains of each unit, in the order it came into them."""
        self.members: dict[int, dict[int, None]] = {}
        self.next_domain = 0

    @classmethod
    def of(cls, units: int, domains: Iterable[Iterable[int]]) -> Split:
        """These units in these domains."""
        split = cls(units)
        for members in domains:
            split.found(members)
        return split

    def copy(self) -> Split:
        """Another one that can be changed."""
        other = Split(0)
        other.homes = [dict(home) for home in self.homes]
        other.members = {domain: dict(units) for domain, units in self.members.items()}
        other.next_domain = self.next_domain
        return other

    def found(self, units: Iterable[int]) -> int:
        """A new domain with these members."""
        domain = self.next_domain
        self.next_domain += 1
        self.members[domain] = {}
        for unit in units:
            self.join(unit, domain)
        return domain

    def join(self, unit: int, domain: int) -> None:
        """One more member."""
        self.members[domain][unit] = None
        self.homes[unit][domain] = None

    def part(self, unit: int, domain: int) -> None:
        """One member less."""
        del self.members[domain][unit]
        del self.homes[unit][domain]

    def dissolve(self, domain: int) -> list[int]:
        """No such domain any more; who was in it."""
        units = list(self.members[domain])
        for unit in units:
            self.part(unit, domain)
        del self.members[domain]
        return units

    def tidy(self) -> None:
        """Nobody talks in a domain of one seat: it goes, unless it is the only one of that seat."""
        for domain, units in list(self.members.items()):
            if not units or (len(units) == 1 and len(self.homes[next(iter(units))]) > 1):
                self.dissolve(domain)

    def described(self) -> list[tuple[int, ...]]:
        """Its domains as members in order: two splits are the same if these are."""
        return sorted(tuple(sorted(units)) for units in self.members.values())


class Ways:
    """The ways of a split as it is now: the tree, hung up at one unit, so that everybody knows who is above."""

    def __init__(self, split: Split, root: int = 0) -> None:
        count = len(split.homes)
        self.up = [-1] * count
        """The domain that leads from a unit towards the root."""
        self.depth = [-1] * count
        self.top: dict[int, int] = {}
        """The member of a domain that is nearest to the root."""
        self.depth[root] = 0
        queue = [root]
        for unit in queue:
            for domain in split.homes[unit]:
                if domain in self.top:
                    continue
                self.top[domain] = unit
                for other in split.members[domain]:
                    if self.depth[other] < 0:
                        self.up[other] = domain
                        self.depth[other] = self.depth[unit] + 1
                        queue.append(other)
        self.whole = len(queue) == count
        """Whether there is a way from everybody to everybody."""

    def loads(self, pairs: Iterable[tuple[int, int, float]]) -> dict[int, float]:
        """Messages per second that pass each domain."""
        up, depth, top = self.up, self.depth, self.top
        loads = dict.fromkeys(top, 0.0)
        for left, right, rate in pairs:
            while left != right:
                if depth[left] < depth[right]:
                    left, right = right, left
                domain = up[left]
                loads[domain] += rate
                if up[right] == domain and depth[left] == depth[right]:
                    break
                left = top[domain]
        return loads

    def hops(self, left: int, right: int) -> list[tuple[int, int, int]]:
        """Every hop between two units: domain, and the two members; in no direction."""
        up, depth, top = self.up, self.depth, self.top
        found: list[tuple[int, int, int]] = []
        while left != right:
            if depth[left] < depth[right]:
                left, right = right, left
            domain = up[left]
            if up[right] == domain and depth[left] == depth[right]:
                found.append((domain, left, right))
                break
            found.append((domain, left, top[domain]))
            left = top[domain]
        return found

    def passing(self, traffic: Traffic) -> dict[int, Hops]:
        """What goes from member to member within each domain."""
        found: dict[int, Hops] = {domain: {} for domain in self.top}
        for left, right, rate in traffic.pairs:
            for domain, one, other in self.hops(left, right):
                pair = (one, other) if one < other else (other, one)
                found[domain][pair] = found[domain].get(pair, 0.0) + rate
        return found

    def through(self, traffic: Traffic, region: Mapping[int, None]) -> Hops:
        """What goes through some connected domains, from who it comes in by to who it leaves by."""
        found: Hops = {}
        for left, right, rate in traffic.pairs:
            ends: dict[int, int] = {}
            for domain, one, other in self.hops(left, right):
                if domain in region:
                    ends[one] = ends.get(one, 0) + 1
                    ends[other] = ends.get(other, 0) + 1
            # A member between two hops of the region is neither: it occurs twice.
            outer = [unit for unit, times in ends.items() if times == 1]
            if outer:
                pair = (min(outer), max(outer))
                found[pair] = found.get(pair, 0.0) + rate
        return found


def cost_of(split: Split, traffic: Traffic, prices: Prices) -> float:
    """What all messages of a second cost; infinite if some have no way."""
    ways = Ways(split)
    if not ways.whole:
        return float("inf")
    loads = ways.loads(traffic.pairs)
    return sum(load * prices.of(len(split.members[domain])) for domain, load in loads.items())
