"""The graph of seats and domains: refuses cycles, names them, and knows the way from seat to seat.

Seats and domains are the two kinds of nodes, and a seat in a domain is an edge. The theorem of AAA wants no path of
seats that leaves a domain and comes back to it elsewhere: that is a cycle of this graph, also when two domains share
two seats. (A domain inside another one is no cycle in the paper; with a clock per domain, its two ways between the
same seats would know nothing of each other, so it counts as one here.)

Must not know: who holds a seat, clocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from causeway.errors import ConfigError
from causeway.names import check_name


def check_domain(field: str, value: str) -> str:
    """Return a domain's name, or say what is wrong with it."""
    check_name(field, value)
    if "," in value or "/" in value:
        raise ConfigError(field, value, "a domain's name has no ',' and no '/'")
    return value


def described_cycle(cycle: Iterable[str]) -> str:
    """A cycle for people: seats, with the domains between them in brackets."""
    return " ".join(f"[{name}]" if at % 2 else name for at, name in enumerate(cycle))


class DomainGraph:
    """Which seats share which domains. Never changed: `with_seat` makes another one."""

    def __init__(self, seats: Mapping[str, tuple[str, ...]]) -> None:
        self.seats = dict(seats)
        members: dict[str, list[str]] = {}
        for seat, domains in self.seats.items():
            for domain in domains:
                members.setdefault(domain, []).append(seat)
        self.domains: dict[str, tuple[str, ...]] = {domain: tuple(seats) for domain, seats in members.items()}
        """Seats by domain, in the order of `seats`."""
        self._ways: dict[str, dict[str, tuple[str, str]]] = {}

    def with_seat(self, seat: str, domains: Iterable[str]) -> DomainGraph:
        """The same with a seat in these domains besides those it has."""
        had = self.seats.get(seat, ())
        return DomainGraph({**self.seats, seat: (*had, *(d for d in dict.fromkeys(domains) if d not in had))})

    def cycle_with(self, seat: str, domains: Iterable[str]) -> list[str] | None:
        """What would close if a seat came into these domains: seat, domain, ..., the same seat; None if nothing."""
        known: dict[str, str] = {}  # a domain that can be reached from the seat -> the domain through which it leaves
        for domain in self.seats.get(seat, ()):
            known.update(dict.fromkeys(self._walk(seat, domain), domain))
        for domain in dict.fromkeys(domains):
            if domain in self.seats.get(seat, ()):
                continue
            if domain in known:
                return self._closed(seat, known[domain], domain)
            known.update(dict.fromkeys(self._walk(seat, domain), domain))
            known[domain] = domain
        return None

    def find_cycle(self) -> list[str] | None:
        """A cycle of the graph as it is; None when it is a tree, or several."""
        trees: dict[str, str] = {}  # a domain -> another one of its tree, or itself
        before: dict[str, tuple[str, ...]] = {}
        for seat, domains in self.seats.items():
            roots = [_root(trees, domain) for domain in dict.fromkeys(domains)]
            if len(dict.fromkeys(roots)) < len(roots):
                return DomainGraph(before).cycle_with(seat, domains)
            trees.update(dict.fromkeys(roots[1:], roots[0] if roots else ""))
            before[seat] = domains
        return None

    def next_hop(self, seat: str, to: str) -> tuple[str, str] | None:
        """The domain to use and the seat in it that is next on the way; None when there is no way."""
        ways = self._ways.get(seat)
        if ways is None:
            ways = self._ways[seat] = self._ways_from(seat)
        return ways.get(to)

    def neighbours(self, seat: str, domain: str) -> tuple[str, ...]:
        """The other seats of a domain."""
        return tuple(other for other in self.domains.get(domain, ()) if other != seat)

    def routers(self, domain: str | None = None) -> tuple[str, ...]:
        """Seats in several domains: those of one domain, or all."""
        among = self.seats if domain is None else self.domains.get(domain, ())
        return tuple(seat for seat in among if len(self.seats[seat]) > 1)

    def path(self, seat: str, to: str) -> list[str] | None:
        """All seats on the way, both ends included."""
        path = [seat]
        while path[-1] != to:
            hop = self.next_hop(path[-1], to)
            if hop is None:
                return None
            path.append(hop[1])
        return path

    # Inside ----------------------------------------------------------------------------------------------------
    def _ways_from(self, seat: str) -> dict[str, tuple[str, str]]:
        ways: dict[str, tuple[str, str]] = {}
        queue: deque[str] = deque([seat])
        used: dict[str, None] = {}
        while queue:
            at = queue.popleft()
            way = ways.get(at)
            for domain in self.seats.get(at, ()):
                if domain in used:
                    continue
                used[domain] = None
                for other in self.domains[domain]:
                    if other != seat and other not in ways:
                        ways[other] = way or (domain, other)
                        if len(self.seats[other]) > 1:
                            queue.append(other)
        return ways

    def _walk(self, seat: str, domain: str) -> dict[str, tuple[str, str]]:
        """Domains reached through `domain`, each with the seat and the domain one came from."""
        came: dict[str, tuple[str, str]] = {}
        queue: deque[str] = deque([domain])
        while queue:
            at = queue.popleft()
            for router in self.domains.get(at, ()):
                if router == seat:
                    continue
                for other in self.seats[router]:
                    if other != domain and other not in came:
                        came[other] = (router, at)
                        queue.append(other)
        return came

    def _closed(self, seat: str, start: str, end: str) -> list[str]:
        """From the seat through `start` to `end` and back to the seat."""
        came = self._walk(seat, start)
        back = [seat, end]
        while back[-1] != start:
            back += came[back[-1]]
        return [*back, seat][::-1]


def _root(trees: dict[str, str], domain: str) -> str:
    """The domain that stands for the tree that a domain is in."""
    at = trees.setdefault(domain, domain)
    while trees[at] != at:
        trees[at] = at = trees[trees[at]]
    return at
