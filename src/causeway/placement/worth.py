"""The most that a set of items is worth within a mean and a variance, when every item has a price of its own.

Let item i be worth p_i and let a set x have at least the variance (r'x)^2 + d'x. Of all sets with a mean of at most m
and a variance of at most v none is worth more than

    a*m + b*v + w^2/(4b) + sum of max(0, p_i - a*mean_i - w*r_i - b*d_i)

for any a, w >= 0 and b > 0 (Lagrange; the square is replaced by its tangent), and without a variance for w = b = 0. A
*plane* is such a triple: its constant follows from the prices, and the least of all planes bounds the worth at every m
and v. Good ones are found by Newton's steps on a smoothed sum, and stay good when prices change a little.

Must not know: brokers, capacities, what a loss is.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]

from causeway.placement.arrays import Floats

SMOOTH: Final = (3e-3, 5e-4, 1e-4, 2e-5)
"""Widths of the smoothed bend, as parts of each item's mean: steps lead far with the first, and the last is nearly
exact."""
STEPS: Final = 10
HALVINGS: Final = 8
PLANES_MAX: Final = 160
FLAT: Final = np.concatenate([np.linspace(0.0, 1.0, 21), np.linspace(1.2, 3.0, 10)])
"""Prices of the mean of planes that do not look at the variance."""
LEAST_PART: Final = 1e-6
"""Of the usual price of variance: it must stay above nothing."""


class Worth:
    """Planes over all pairs of mean and variance."""

    def __init__(self, means: Floats, pulls: Floats, noises: Floats) -> None:
        self.factors: Floats = np.stack([means, pulls, noises])
        self._means = np.maximum(means, 1e-12 * float(means.sum()))
        flat = np.zeros((len(FLAT), 3))
        flat[:, 0] = FLAT
        self._flat = flat
        self._bent: list[Floats] = []
        self.planes: Floats = flat
        self.constants: Floats = np.zeros(len(flat))
        self._prices: Floats = np.zeros(len(means))

    def price(self, prices: Floats) -> None:
        """Items are worth this from now on."""
        self._prices = prices
        self.planes = np.array([*self._flat, *self._bent])
        self.constants = self._constants(self.planes)

    def _constants(self, planes: Floats) -> Floats:
        bent = planes[:, 2] > 0
        square = np.where(bent, planes[:, 1] ** 2 / (4 * np.where(bent, planes[:, 2], 1.0)), 0.0)
        found: Floats = square + np.array([np.maximum(0.0, self._left(plane)).sum() for plane in planes])
        return found

    def _left(self, plane: Floats) -> Floats:
        """What items are worth more than a plane says. Not a product of matrices: it is too small for threads, which
        would wait for each other."""
        means, pulls, noises = self.factors
        left: Floats = self._prices - plane[0] * means
        left -= plane[1] * pulls
        left -= plane[2] * noises
        return left

    def at(self, mean: Floats, variance: Floats) -> Floats:
        """The most that sets are worth, by pairs; a variance may be infinite."""
        best: Floats = np.full(len(mean), np.inf)
        limited = np.isfinite(variance)
        finite = np.where(limited, variance, 0.0)
        for (a, _, b), constant in zip(self.planes, self.constants, strict=True):
            worth = a * mean + b * finite + constant
            np.minimum(best, worth if b == 0 else np.where(limited, worth, np.inf), out=best)
        return best

    def refine(self, mean: float, variance: float, start: Floats) -> tuple[float, Floats]:
        """Add the best plane for one pair; what sets are worth there by it, and a set (in parts) that is about that."""
        plane = start
        for width in SMOOTH:
            plane = self._descend(mean, variance, plane, width * self._means)
        constant = float(self._constants(plane[None, :])[0])
        self._bent = [*self._bent[-PLANES_MAX:], plane]
        self.planes = np.vstack([self.planes, plane])
        self.constants = np.append(self.constants, constant)
        chosen: Floats = expit(self._left(plane) / (SMOOTH[-1] * self._means))
        return float(plane[0] * mean + plane[2] * variance + constant), chosen

    def _descend(self, mean: float, variance: float, plane: Floats, width: Floats) -> Floats:
        least = LEAST_PART * max(plane[2], 1e-300)
        value = self._smooth(plane, mean, variance, width)
        for _ in range(STEPS):
            _, w, b = plane
            part = expit(self._left(plane) / width)
            slope = np.array([mean, w / (2 * b), variance - w * w / (4 * b * b)]) - np.einsum(
                "in,n->i", self.factors, part
            )
            weighed = self.factors * (part * (1 - part) / width)
            bend = np.einsum("in,jn->ij", weighed, self.factors)
            bend[1:, 1:] += np.array([[1 / (2 * b), -w / (2 * b * b)], [-w / (2 * b * b), w * w / (2 * b**3)]])
            scale = np.sqrt(np.maximum(np.diag(bend), 1e-24))
            step = -np.linalg.solve(bend / np.outer(scale, scale) + 1e-7 * np.eye(3), slope / scale) / scale
            part_of = min(1.0, 0.8 * b / -step[2]) if step[2] < -0.8 * b else 1.0
            for _ in range(HALVINGS):
                tried = np.maximum(plane + part_of * step, (0.0, 0.0, least))
                then = self._smooth(tried, mean, variance, width)
                if then <= value:
                    break
                part_of /= 2
            else:
                return plane
            done = np.allclose(tried, plane, rtol=1e-5)
            plane, value = tried, then
            if done:
                break
        return plane

    def _smooth(self, plane: Floats, mean: float, variance: float, width: Floats) -> float:
        a, w, b = plane
        over = self._left(plane) / width
        return float(a * mean + b * variance + w * w / (4 * b) + (width * np.logaddexp(0.0, over)).sum())
