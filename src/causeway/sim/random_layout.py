"""Which broker of a run sits in which domains: a random tree, so that no run depends on a shape somebody chose.

Owns: the tree of those that begin, and where newcomers sit. Must not know: what brokers do there.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from causeway.domains.layouts import Layout

UNSEATED = 0.3
"""Share of newcomers that take no part."""


def random_tree(rng: random.Random, brokers: Sequence[str], domains: int) -> Layout:
    """So many domains, if there are brokers for them, with two seats or more each; routers are anybody."""
    waiting = list(brokers)
    rng.shuffle(waiting)
    first, waiting = waiting[:2], waiting[2:]
    seated: dict[str, list[str]] = {name: ["d0"] for name in first if domains}
    count = min(domains, 1)
    while waiting and count < domains:
        rng.choice(list(seated.values())).append(f"d{count}")
        seated[waiting.pop()] = [f"d{count}"]
        count += 1
    for name in waiting:
        if count:
            seated[name] = [f"d{rng.randrange(count)}"]
    return {name: tuple(seated.get(name, ())) for name in brokers}


def seat_for_newcomer(rng: random.Random, layout: Layout) -> tuple[str, ...]:
    """In some domain that is there, or in none."""
    domains = list(dict.fromkeys(domain for inside in layout.values() for domain in inside))
    if not domains or rng.random() < UNSEATED:
        return ()
    return (rng.choice(domains),)
