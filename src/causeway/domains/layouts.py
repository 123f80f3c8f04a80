"""Layouts of domains: which broker sits in which domains, for so many brokers and domains (AAA, Fig. 10).

    flat    one domain
    bus     a backbone of one router per domain: from domain to domain in three hops
    daisy   a chain: neighbours share a router
    tree    a hierarchy: a domain shares one router with each of its children

All of them are trees by construction, and sizes are as even as they can be. Owns: the shapes and their least sizes.
Must not know: traffic (see plan.py), processes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Final

from causeway.domains.graph import check_domain
from causeway.domains.limits import SEATS_MAX, SEATS_PER_DOMAIN_MAX
from causeway.errors import ConfigError
from causeway.names import check_name

Layout = dict[str, tuple[str, ...]]
"""Broker -> its domains, in the order in which brokers were given; who has several is a router."""

LAYOUTS: Final = ("flat", "bus", "daisy", "tree")
BACKBONE: Final = "backbone"
MAIN: Final = "main"
"""The one domain of a network that has no more, unless somebody named it."""
CHILDREN_DEFAULT: Final = 2
"""Of a domain in a tree."""


def lay_out(kind: str, brokers: Sequence[str], domains: int, children: int = CHILDREN_DEFAULT) -> Layout:
    """The layout of this name; `children` is of a tree only."""
    if kind == "flat":
        if domains != 1:
            raise ConfigError("domains", domains, "the layout flat is one domain; choose bus, daisy or tree for more")
        return flat(brokers)
    if kind == "bus":
        return bus(brokers, domains)
    if kind == "daisy":
        return daisy(brokers, domains)
    if kind == "tree":
        return tree(brokers, domains, children)
    raise ConfigError("layout", kind, f"must be one of {', '.join(LAYOUTS)}")


def domains_for(brokers: int) -> int:
    """About the square root: then a bus costs what is linear in the number of brokers."""
    return max(1, math.isqrt(brokers))


def flat(brokers: Sequence[str], domain: str = MAIN) -> Layout:
    """Everybody in one domain."""
    _check_brokers(brokers)
    check_domain("domain", domain)
    if len(brokers) > SEATS_PER_DOMAIN_MAX:
        raise _too_few(len(brokers), 1, "flat", _least_domains(len(brokers)))
    return dict.fromkeys(brokers, (domain,))


def bus(brokers: Sequence[str], domains: int) -> Layout:
    """`domains` domains, the first broker of each also in the backbone. One domain needs no backbone."""
    _check_brokers(brokers)
    count = _check_count(len(brokers), domains)
    if count == 1:
        return flat(brokers)
    if len(brokers) < 2 * count:
        remedy = f"a bus of {count} domains needs {2 * count} brokers, two in each"
        raise _too_many(len(brokers), count, remedy, len(brokers) // 2)
    if count > SEATS_PER_DOMAIN_MAX:
        remedy = f"the backbone has one router per domain, at most {SEATS_PER_DOMAIN_MAX}"
        raise _too_many(len(brokers), count, remedy, SEATS_PER_DOMAIN_MAX)
    if len(brokers) > count * SEATS_PER_DOMAIN_MAX:
        raise _too_few(len(brokers), count, "bus", -(-len(brokers) // SEATS_PER_DOMAIN_MAX))
    small, larger = divmod(len(brokers), count)
    result: Layout = {}
    names = iter(brokers)
    for at in range(count):
        for place in range(small + (at < larger)):
            result[next(names)] = (f"d{at + 1}",) if place else (f"d{at + 1}", BACKBONE)
    return result


def daisy(brokers: Sequence[str], domains: int) -> Layout:
    """A chain of domains, each sharing one router with the next."""
    return _hierarchy(brokers, domains, 1, "daisy")


def tree(brokers: Sequence[str], domains: int, children: int = CHILDREN_DEFAULT) -> Layout:
    """A hierarchy, filled level by level; a domain shares one router with each of at most `children` below it."""
    return _hierarchy(brokers, domains, _check_children(children), "tree")


def seats_of_tree(children: int, size: int, depth: int) -> int:
    """n = 1 + (s-1)(k^(d+1)-1)/(k-1): seats of a tree in which every domain has s seats and k children, d levels below
    its root."""
    _check_children(children)
    if depth < 0:
        raise ConfigError("depth", depth, "must be 0 (one domain) or more")
    if not max(2, children + 1) <= size <= SEATS_PER_DOMAIN_MAX:
        least = max(2, children + 1)
        remedy = f"must lie in {least}..{SEATS_PER_DOMAIN_MAX}: a router for each of {children} children and one above"
        raise ConfigError("size", size, remedy)
    return 1 + (size - 1) * _domains_of_tree(children, depth)


def fixed_tree(children: int, size: int, depth: int, prefix: str = "b") -> Layout:
    """A tree in which every domain has exactly `size` seats and `children` children, down to `depth`."""
    seats = seats_of_tree(children, size, depth)
    if seats > SEATS_MAX:
        remedy = f"{size} seats and {children} children per domain make {seats} seats, at most {SEATS_MAX}; give less"
        raise ConfigError("depth", depth, remedy)
    return tree([f"{prefix}{number}" for number in range(1, seats + 1)], _domains_of_tree(children, depth), children)


def smallest_tree(seats: int, children: int, size: int, prefix: str = "b") -> Layout:
    """The smallest tree of this kind that has at least so many seats."""
    if not 1 <= seats <= SEATS_MAX:
        raise ConfigError("seats", seats, f"must lie in 1..{SEATS_MAX}")
    depth = 0
    while seats_of_tree(children, size, depth) < seats:
        depth += 1
    return fixed_tree(children, size, depth, prefix)


def grown(layout: Layout, brokers: Sequence[str]) -> Layout:
    """The same with more brokers, each in the smallest domain that has other seats than routers."""
    result = dict(layout)
    sizes: dict[str, int] = {}
    for domains in layout.values():
        for domain in domains:
            sizes[domain] = sizes.get(domain, 0) + 1
    ends = {domains[0]: None for domains in layout.values() if len(domains) == 1}
    for name in brokers:
        # What is a domain of routers only is somebody's backbone: its clock is the one that everybody pays for.
        open_to = [d for d in (ends or sizes) if sizes[d] < SEATS_PER_DOMAIN_MAX]
        if not open_to:
            remedy = f"every domain is full ({SEATS_PER_DOMAIN_MAX} seats); start it with a new domain and a router"
            raise ConfigError("brokers", len(result) + 1, remedy)
        domain = min(open_to, key=lambda d: sizes[d])
        sizes[domain] += 1
        result[name] = (domain,)
    return result


# Inside -------------------------------------------------------------------------------------------------------------
def _hierarchy(brokers: Sequence[str], domains: int, children: int, kind: str) -> Layout:
    _check_brokers(brokers)
    count = _check_count(len(brokers), domains)
    if count == 1:
        return flat(brokers)
    below = [_children_of(at, count, children) for at in range(count)]
    least = [max(2, len(below[0])), *(1 + max(1, len(mine)) for mine in below[1:])]
    needed = sum(least) - (count - 1)
    if len(brokers) < needed:
        remedy = f"a {kind} of {count} domains needs {needed} brokers"
        raise _too_many(len(brokers), count, remedy, _most_domains(len(brokers), children))
    if len(brokers) > 1 + count * (SEATS_PER_DOMAIN_MAX - 1):
        raise _too_few(len(brokers), count, kind, _least_domains(len(brokers)))
    sizes = _levelled(least, len(brokers) + count - 1)
    names = iter(brokers)
    seated: dict[str, list[str]] = {}
    shared: dict[int, str] = {}
    for at in range(count):
        fresh = [next(names) for _ in range(sizes[at] - (at in shared))]
        for name in (*((shared[at],) if at in shared else ()), *fresh):
            seated.setdefault(name, []).append(f"d{at + 1}")
        # The last of a domain's own seats: the first stay what most seats are.
        shared.update(zip(reversed(below[at]), reversed(fresh), strict=False))
    return {name: tuple(seated[name]) for name in brokers}


def _children_of(at: int, count: int, children: int) -> range:
    first = at * children + 1
    return range(min(first, count), min(first + children, count))


def _levelled(least: Sequence[int], total: int) -> list[int]:
    """Sizes with this sum, as even as they can be if each has at least so much."""
    sizes = list(least)
    smallest = [(size, at) for at, size in enumerate(sizes)]
    heapq.heapify(smallest)
    for _ in range(total - sum(sizes)):
        size, at = smallest[0]
        sizes[at] += 1
        heapq.heapreplace(smallest, (size + 1, at))
    return sizes


def _domains_of_tree(children: int, depth: int) -> int:
    return depth + 1 if children == 1 else (children ** (depth + 1) - 1) // (children - 1)


def _most_domains(brokers: int, children: int) -> int:
    """The most domains for which `_hierarchy` has enough brokers."""
    count = 1
    while count < brokers:
        below = [len(_children_of(at, count + 1, children)) for at in range(count + 1)]
        if max(2, below[0]) + sum(max(1, mine) for mine in below[1:]) > brokers:
            break
        count += 1
    return count


def _least_domains(brokers: int) -> int:
    return -(-(brokers - 1) // (SEATS_PER_DOMAIN_MAX - 1))


def _check_brokers(brokers: Sequence[str]) -> None:
    if not 1 <= len(brokers) <= SEATS_MAX:
        raise ConfigError("brokers", len(brokers), f"must lie in 1..{SEATS_MAX}")
    for name in brokers:
        check_name("brokers", name)
    if len(dict.fromkeys(brokers)) < len(brokers):
        twice = next(name for at, name in enumerate(brokers) if name in brokers[:at])
        raise ConfigError("brokers", twice, "is there twice; names of brokers are unique")


def _check_count(brokers: int, domains: int) -> int:
    if domains < 1:
        raise ConfigError("domains", domains, "must be at least 1")
    if domains > brokers:
        raise ConfigError("domains", domains, f"{brokers} brokers have room for fewer; give at least {domains} brokers")
    return domains


def _check_children(children: int) -> int:
    if not 1 <= children < SEATS_PER_DOMAIN_MAX:
        raise ConfigError("children", children, f"must lie in 1..{SEATS_PER_DOMAIN_MAX - 1}")
    return children


def _too_many(brokers: int, domains: int, needs: str, most: int) -> ConfigError:
    return ConfigError("domains", domains, f"{needs}; with {brokers} brokers give at most {max(1, most)} domains")


def _too_few(brokers: int, domains: int, kind: str, least: int) -> ConfigError:
    which = "bus, daisy or tree" if kind == "flat" else kind
    remedy = f"a domain has at most {SEATS_PER_DOMAIN_MAX} seats; {brokers} brokers need at least {least} ({which})"
    return ConfigError("domains", domains, remedy)
