"""Sketches of durations: counts in buckets whose borders grow by 2 %, so quantiles are right to 1 %.

Buckets are the same everywhere, so sketches are merged by adding counts, wherever they were made; `pipeline/latency.py`
does so with columns. `number_of` and `value_of` are the definition.

Owns: which duration is in which bucket. Must not know: who counts.
"""

from __future__ import annotations

import math
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
