"""Means and covariance of many series, computed in parts and merged without losing digits.

A part has the count, the mean and the sum of squared deviations *from its own mean* (a centred Gram matrix). Two parts
are merged by the formula of Chan, Golub and LeVeque (1979), so nothing large is ever subtracted from something large,
as it would be with sums of squares.

Owns: this arithmetic. Must not know: Spark, what the series are.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCK_BYTES: Final = 16 * 1024 * 1024
"""Of the dense rows that are turned into a part at once."""


class Moments(NamedTuple):
    """Of some samples (rows) of several series (columns)."""

    size: int
    """How many samples."""
    mean: Floats
    squares: Floats
    """Sum over samples of the products of deviations from the mean: series x series."""

    def covariance(self) -> Floats:
        """The unbiased estimate; zeros if there is one sample, which tells nothing."""
        if self.size < 2:
            return np.zeros_like(self.squares)
        half: Floats = (self.squares + self.squares.T) / (2 * (self.size - 1))
        return half


def no_moments(series: int) -> Moments:
    """Of no samples."""
    return Moments(0, np.zeros(series), np.zeros((series, series)))


def zero_moments(count: int, series: int) -> Moments:
    """Of so many samples that are zero everywhere: what nobody wrote a row for."""
    return Moments(count, np.zeros(series), np.zeros((series, series)))


def moments_of(samples: Floats) -> Moments:
    """Of dense samples (samples x series)."""
    mean = samples.mean(axis=0)
    centred = samples - mean
    return Moments(len(samples), mean, centred.T @ centred)


def merged_moments(left: Moments, right: Moments) -> Moments:
    """Of both together."""
    if not left.size or not right.size:
        return left if left.size else right
    count = left.size + right.size
    apart = right.mean - left.mean
    mean = left.mean + apart * (right.size / count)
    squares = left.squares + right.squares + np.outer(apart, apart) * (left.size * right.size / count)
    return Moments(count, mean, squares)


def sparse_moments(
    samples: npt.NDArray[np.integer[Any]], columns: Ints, values: Floats, series: int, block_bytes: int = BLOCK_BYTES
) -> Moments:
    """Of sparse samples: the sample, the series and the value of each cell, in any order; values of one cell are added.

    Samples with a value are made dense some at a time; those without any are not counted here (`zero_moments`).
    """
    found = no_moments(series)
    rows_max = max(1, block_bytes // (8 * series))
    numbers, places = np.unique(samples, return_inverse=True)
    order = np.argsort(places, kind="stable")
    cells, values = places[order] * series + columns[order], values[order]
    for begin in range(0, len(numbers), rows_max):
        count = min(rows_max, len(numbers) - begin)
        low, high = np.searchsorted(cells, (begin * series, (begin + count) * series))
        added = np.bincount(cells[low:high] - begin * series, values[low:high], count * series)
        dense = added.astype(np.float64, copy=False)
        found = merged_moments(found, moments_of(dense.reshape(count, series)))
    return found
