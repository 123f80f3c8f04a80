"""How a cost grows: least squares, exponents, and how sure they are. Owns: arithmetic. Must not know: what grows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

STUDENT_95: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Two-sided 95 % quantiles of Student's t, for 1, 2, 3... degrees of freedom."""


class LineFit(msgspec.Struct, frozen=True):
    """y = intercept + slope * x, and the share of the variance that it explains."""

    slope: float
    intercept: float
    r2: float


def least_squares(xs: Sequence[float], ys: Sequence[float]) -> LineFit:
    """The line nearest to the points; to the last bit the same on every Python, which that of `statistics` is not."""
    middle, mean = statistics.fmean(xs), statistics.fmean(ys)
    slope = math.fsum((x - middle) * (y - mean) for x, y in zip(xs, ys, strict=True)) / math.fsum(
        (x - middle) * (x - middle) for x in xs
    )
    intercept = mean - slope * middle
    whole = math.fsum((y - mean) ** 2 for y in ys)
    rest = math.fsum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    return LineFit(slope, intercept, 1.0 - rest / whole if whole else 1.0)


def power_fit(xs: Sequence[float], ys: Sequence[float]) -> LineFit:
    """y = e^intercept * x^slope, fitted on logarithms; the slope is the exponent."""
    return least_squares([math.log(x) for x in xs], [math.log(y) for y in ys])


def logarithm_fit(xs: Sequence[float], ys: Sequence[float]) -> LineFit:
    """y = intercept + slope * ln x."""
    return least_squares([math.log(x) for x in xs], ys)


def power_between(x0: float, y0: float, x1: float, y1: float) -> float:
    """The exponent of the power law through two points."""
    return math.log(y1 / y0) / math.log(x1 / x0)


def confidence(values: Sequence[float]) -> tuple[float, float]:
    """The mean of independent repetitions, and half the width of its 95 % interval; infinite for one of them."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.inf
    return mean, student(len(values)) * statistics.stdev(values) / math.sqrt(len(values))


def another(values: Sequence[float], count: int = 1) -> tuple[float, float]:
    """The mean of independent repetitions, and half the width of the interval around it in which the mean of `count`
    more of them lies (95 %): wider than `confidence`, since those vary too."""
    mean, width = confidence(values)
    return mean, width * math.sqrt(1 + len(values) / count)


def student(repetitions: int) -> float:
    """The quantile for so many repetitions; that of ten for more, which is a little too wide."""
    return STUDENT_95[min(repetitions - 1, len(STUDENT_95)) - 1]


def relative_spread(groups: Iterable[Sequence[float]]) -> float:
    """The standard deviation of repetitions as a share of their mean, over groups that vary alike: three repetitions of
    one thing say little about how much they vary, those of five things more. Infinite if nothing was repeated."""
    squares, freedom = 0.0, 0
    for values in groups:
        mean = statistics.fmean(values)
        if len(values) > 1 and mean:
            squares += math.fsum((value / mean - 1) ** 2 for value in values)
            freedom += len(values) - 1
    return math.sqrt(squares / freedom) if freedom else math.inf


def prediction(spread: float, repetitions: int, count: int) -> float:
    """Half the width, as a share of the mean of `count` repetitions, of the 95 % interval in which one more lies.

    `repetitions` says how sure the spread is: groups that were repeated with the same seeds are not independent.
    """
    if repetitions < 2:
        return math.inf
    return student(repetitions) * spread * math.sqrt(1 + 1 / count)
