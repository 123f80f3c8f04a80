"""Sketches of durations: counts in buckets whose borders grow by 2 %, so quantiles are right to 1 %.

Buckets are the same everywhere, so sketches are merged by adding counts, wherever they were made. Spark does the same
with columns; `number_of` and `value_of` are the definition.

Owns: which duration is in which bucket. Must not know: who counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

GROWTH: Final = 1.02
"""Ratio of a bucket's upper border to its lower one."""
_LOG_GROWTH: Final = math.log(GROWTH)
NUMBER_MAX: Final = 2_100
"""Bucket of 10^18 ns: nothing takes longer."""


def number_of(nanoseconds: int) -> int:
    """The bucket of a duration; what is not positive is in bucket 0."""
    if nanoseconds <= 1:
        return 0
    return min(NUMBER_MAX, math.ceil(math.log(nanoseconds) / _LOG_GROWTH))


def value_of(number: int) -> float:
    """The duration that stands for a bucket: at most 1 % from any in it."""
    return 0.0 if number <= 0 else 2 * GROWTH**number / (1 + GROWTH)


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
