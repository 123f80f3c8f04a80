"""All splits of a few units into domains that form one tree, found by trying everything."""

from __future__ import annotations

import functools
import itertools

Domains = tuple[tuple[int, ...], ...]


@functools.cache
def hypertrees(units: int) -> tuple[Domains, ...]:
    """Every family of domains that connects these units without a cycle: 1, 4, 29, 311 of them for 2, 3, 4, 5 units."""
    subsets = [c for size in range(2, units + 1) for c in itertools.combinations(range(units), size)]
    found: list[Domains] = []

    def go(start: int, parts: tuple[int, ...], chosen: Domains) -> None:
        if len({*parts}) == 1:
            found.append(chosen)
            return
        for at in range(start, len(subsets)):
            joined = {parts[unit] for unit in subsets[at]}
            if len(joined) == len(subsets[at]):
                into = min(joined)
                go(at + 1, tuple(into if part in joined else part for part in parts), (*chosen, subsets[at]))

    go(0, tuple(range(units)), ())
    return tuple(found)
