"""Merging sketches and reading quantiles off them, one bucket after another: what jobs on Spark must agree with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.lake.sketch import value_of


def quantile(counts: Mapping[int, int], part: float) -> float:
    """The duration below which `part` (0..1) of those counted are; 0 when nothing was counted."""
    total = sum(counts.values())
    rank, seen = part * (total - 1), 0
    for number in sorted(counts):
        seen += counts[number]
        if seen > rank:
            return value_of(number)
    return 0.0


def merged(sketches: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """All of them as one."""
    found: dict[int, int] = {}
    for sketch in sketches:
        for number, count in sketch.items():
            found[number] = found.get(number, 0) + count
    return found
