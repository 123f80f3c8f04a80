"""How likely a broker is to get more than it can take.

`overload` is the paper's model: the rate of a set of items is normal, so Pr(V > C) follows from its mean and variance.
A set without variance is over its capacity or it is not; at its capacity it is not. `sampled_overload` is a second
opinion without that model: in which part of the joint samples the sum was over the capacity, with Wilson's interval for
so few samples.

Must not know: how items came to where they are.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec
import numpy as np
from scipy.special import ndtr  # type: ignore[import-untyped]

from causeway.placement.arrays import Floats, Ints

CONFIDENCE_Z: Final = 1.959963984540054
"""Half the width of a 95 % interval, in standard deviations."""
LEAST_VARIANCE: Final = 1e-12
"""Below it a rate does not vary: messages per second, squared, are not that small."""
ROUNDING: Final = 1e-12
"""A mean that is this part of a capacity away from it is at the capacity: sums differ as much by their order."""


def overload(mean: Floats, variance: Floats, capacity: Floats) -> Floats:
    """Pr(V > C) for V normal; arrays of any shapes that fit together. Never NaN for finite numbers."""
    varying = variance > LEAST_VARIANCE
    over = mean - capacity
    over = np.where(np.abs(over) <= ROUNDING * capacity, 0.0, over)
    deviation = np.sqrt(np.where(varying, variance, 1.0))
    chance: Floats = np.where(varying, ndtr(over / deviation), np.where(over > 0, 1.0, 0.0))
    return chance


def margin(mean: Floats, variance: Floats, capacity: Floats) -> Floats:
    """Standard deviations between mean and capacity: what to compare where probabilities are too small to differ."""
    gap: Floats = (capacity - mean) / np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    return gap


class SampledRisk(msgspec.Struct, frozen=True, kw_only=True):
    """Samples over the capacity of one broker."""

    over: int
    samples: int
    share: float
    low: float
    high: float
    """Ends of the 95 % interval (Wilson) of the probability."""


def wilson(over: int, samples: int, z: float = CONFIDENCE_Z) -> tuple[float, float]:
    """Wilson's interval for a probability of which `over` in `samples` cases were seen."""
    share = over / samples
    spread = z * math.sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples))
    scale = 1 + z * z / samples
    middle = share + z * z / (2 * samples)
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def sampled_overload(samples: Floats, owner: Ints, capacity: Floats) -> list[SampledRisk]:
    """By broker: how often the joint samples (samples x items) were over its capacity."""
    placed = np.zeros((samples.shape[1], len(capacity)))
    held = owner >= 0
    placed[np.flatnonzero(held), owner[held]] = 1.0
    over = (samples @ placed > capacity).sum(axis=0)
    lines = []
    for count in over.tolist():
        low, high = wilson(count, len(samples))
        share = count / len(samples)
        lines.append(SampledRisk(over=count, samples=len(samples), share=share, low=low, high=high))
    return lines
