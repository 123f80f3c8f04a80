"""How much sets of items vary, at least and at most, by what they carry: what the bound of all placements stands on.

Must not know: brokers, placements.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from causeway.placement.arrays import Floats
from causeway.placement.rates import LoadModel

NOTHING: Final = 1e-12
"""Items with a smaller part of all that is carried count as carrying nothing; SAFE makes up for more than that."""
SAFE: Final = 1 - 1e-7
"""Takes from what was computed more than rounding could have added."""


class VarianceSplit(NamedTuple):
    """A set x has at least the variance (pulls'x)^2 + noises'x."""

    pulls: Floats
    noises: Floats


class Knapsack:
    """The least (or greatest) sum of weights that fractions of items with a given mean have."""

    def __init__(self, means: Floats, weights: Floats, *, most: bool = False) -> None:
        carrying = means > NOTHING * float(means.sum())
        sign = -1.0 if most else 1.0
        order = np.argsort(sign * weights[carrying] / means[carrying], kind="stable")
        self._means = np.concatenate([[0.0], np.cumsum(means[carrying][order])])
        self._weights = np.concatenate([[0.0], np.cumsum(weights[carrying][order])])
        self._free = sign * float(np.minimum(sign * weights[~carrying], 0.0).sum())
        self._turn = float(self._means[int((sign * self._weights).argmin())])

    def between(self, low: Floats, high: Floats) -> Floats:
        """The least (or greatest) for means between two: the curve is convex (or concave) and has one turn."""
        return self(np.clip(self._turn, low, high))

    def __call__(self, mean: Floats) -> Floats:
        found: Floats = np.interp(mean, self._means, self._weights) + self._free
        return found


class Sets:
    """What sets of items of a given mean vary, pull and make noise, at least and at most."""

    def __init__(self, model: LoadModel, noise: Floats, *, sound: bool) -> None:
        covariance, means = model.covariance, model.means
        self.total = model.total
        own = np.diag(covariance)
        pairs = np.minimum(covariance, 0.0).sum(axis=1) + np.abs(own)
        self._pairs, self._negative = Knapsack(means, np.maximum(pairs, 0.0)), float(np.minimum(pairs, 0.0).sum())
        rows = covariance.sum(axis=1) - noise
        total = float(rows.sum())
        self.pull = float(np.sqrt(total)) * SAFE if sound and total > 0 else 0.0
        self._pulls = rows / np.sqrt(total) * SAFE if self.pull > 0 else np.zeros_like(means)
        self._noises = noise * SAFE
        self.noise = float(self._noises.sum())
        self._means = means
        self._least_pull, self._most_pull = Knapsack(means, self._pulls), Knapsack(means, self._pulls, most=True)
        self._least_noise, self._most_noise = Knapsack(means, self._noises), Knapsack(means, self._noises, most=True)
        self._deviations = Knapsack(means, np.sqrt(np.maximum(own, 0.0)), most=True)
        self._all = float(np.maximum(covariance, 0.0).sum())
        self._sound = sound

    def usual_deviation(self, mean: float) -> float:
        """Of a set that has the same share of everything: where to look closely."""
        share = min(1.0, mean / self.total)
        usual = float(np.sqrt((share * self.pull) ** 2 + share * self.noise))
        return usual if usual > 0 else 0.1 * mean

    def pulls(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the greatest pull of sets whose mean is between two."""
        return self._least_pull.between(low, high), self._most_pull.between(low, high)

    def noises(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The same for noise."""
        return self._least_noise.between(low, high), self._most_noise.between(low, high)

    def least(self, low: Floats, high: Floats) -> Floats:
        """Variance of sets whose mean is between two, at least."""
        apart = np.maximum(0.0, self._negative + self._pairs(low))
        pull = np.maximum(self.pulls(low, high)[0], 0.0)
        found: Floats = np.maximum(apart, pull**2 + self.noises(low, high)[0]) * SAFE
        return found

    def most(self, mean: Floats) -> Floats:
        """Variance of a set of at most this mean, at most."""
        if not self._sound:
            return np.full_like(mean, self._all)
        found: Floats = np.minimum(self._deviations(mean) ** 2, self._all) * (2 - SAFE)
        return found

    def split(self) -> VarianceSplit | None:
        """Pulls and noises, if they say anything."""
        return VarianceSplit(self._pulls, self._noises) if self.pull > 0 or self.noise > 0 else None

    def worth(self, mean_price: float, pull_price: float, noise_price: float) -> Floats:
        """Of every item at three prices for all."""
        found: Floats = mean_price * self._means + pull_price * self._pulls + noise_price * self._noises
        return found

    def knapsack(self, pull_price: float, noise_price: float, mean: Floats) -> tuple[Floats, Floats, Floats]:
        """The most that pulls and noise of a set of at most this mean are worth, and the pull and noise of that set."""
        worth = pull_price * self._pulls + noise_price * self._noises
        gaining = worth > 0
        means, pulls, noises = self._means[gaining], self._pulls[gaining], self._noises[gaining]
        carrying = means > NOTHING * self.total
        order = np.argsort(-worth[gaining][carrying] / means[carrying], kind="stable")
        ends = np.concatenate([[0.0], np.cumsum(means[carrying][order])])
        found = []
        for one in (pulls, noises):
            sums = np.concatenate([[0.0], np.cumsum(one[carrying][order])])
            found.append(np.interp(mean, ends, sums) + float(one[~carrying].sum()))
        pull, noise = found
        return pull_price * pull + noise_price * noise, pull, noise
