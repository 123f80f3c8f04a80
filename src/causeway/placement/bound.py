"""What no placement can exceed: an upper bound of the utility, and a lower bound of the largest risk.

The sum of all means is a bound: the utility is that less the loss, and a loss is never negative. It says little where
the load is near the capacities. The better one follows from what the items of a broker must vary at least.

Let the covariance be D + R, where D is diagonal and R positive semi-definite: D is a part f of the smallest eigenvalue
of the correlations, times the variances. A set of items, as a vector x of zeros and ones, has the variance d'x + x'Rx.
By Cauchy and Schwarz x'Rx >= (r'x)^2 with r = R1 / sqrt(1'R1), and r'x, the *pull* of a broker, adds up over all
brokers to sqrt(1'R1), whatever the placement, just as their means add up to the total. So a broker with mean m and pull
s has at least the variance v = s^2 + D(m), where D(m) is the least d'x that has mean m (a fractional knapsack; so are
the least and the greatest pull that mean m can have). Where there are no negative covariances v is at least the sum of
variances, too. At most it has w(m), the square of the greatest sum of deviations (a knapsack again).

Below its capacity a broker's risk grows with mean and variance, above it falls with the variance. So m * risk(m, v)
below the capacity, and m * risk(m, w) above it, is the least loss of a broker with mean m and pull s. The least sum
over brokers, where means and pulls add up as they must, is bounded from below by Lagrange: for all prices p, q >= 0 the
sum over brokers of min(loss - p*m - q*s), plus p * total + q * sqrt(1'R1). Means and pulls are looked at in cells, each
with the loss of its lower ends and the m and s of its upper ends, so nothing lies between. The prices are found by
cutting planes; whatever they are, the bound holds.

**Proven** for positive semi-definite matrices. For others (a model without repair) pulls count as nothing, v is the sum
over the set of variances and negative covariances, and w that of positive ones: true for any matrix. Capacities are
rounded up to a few kinds if there are many, which only makes the bound weaker.

With a threshold, cells above it are left out. If what is left cannot hold the total, no placement meets the threshold.

Must not know: any placement.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from scipy.optimize import linprog  # type: ignore[import-untyped]

from causeway.placement.arrays import Floats
from causeway.placement.instance import Instance
from causeway.placement.rates import LoadModel
from causeway.placement.risk import overload

MEAN_CELLS: Final = 400
PULL_CELLS: Final = 250
"""Steps of mean and pull up to a capacity; what they leave open is some thousandths of the loss."""
ABOVE_CELLS: Final = 240
"""Steps of the mean above a capacity, each by the same factor."""
KINDS_MAX: Final = 6
"""Different capacities that are looked at."""
SHARES: Final = (0.0, 0.7)
"""The f above; the better bound counts."""
PRICE_MAX: Final = 50.0
CUTS: Final = 60
"""Prices that are tried."""
RATE_LEAST: Final = 1e-9
"""Messages per second of all items together below which there is nothing to bound: one in thirty years."""
NOTHING: Final = 1e-12
"""Items with a smaller part of all that is carried count as carrying nothing; SAFE makes up for more than that."""
SAFE: Final = 1 - 1e-7
"""Takes from what was computed more than rounding could have added."""


class UtilityBound(msgspec.Struct, frozen=True, kw_only=True):
    """What is proven about every placement."""

    utility: float
    """None has more."""
    feasible: bool
    """False: none meets the threshold."""
    risk: float
    """None has a smaller largest risk."""


def bound_of(instance: Instance) -> UtilityBound:
    """The bound of all placements of an instance, whatever their mirrors."""
    model = instance.model
    if model.total <= RATE_LEAST:
        return UtilityBound(utility=model.total, feasible=True, risk=0.0)
    smallest = _smallest_eigenvalue(model)
    shares = SHARES if smallest > 1e-9 else SHARES[:1]
    sound = model.is_covariance or smallest > 0
    found = [_bound_with(instance, _Sets(model, share * smallest, sound=sound)) for share in shares]
    return UtilityBound(
        utility=min(one.utility for one in found),
        feasible=all(one.feasible for one in found),
        risk=max(one.risk for one in found),
    )


def _bound_with(instance: Instance, sets: _Sets) -> UtilityBound:
    total, limit = instance.model.total, instance.threshold if instance.threshold is not None else np.inf
    kinds = [_Kind(capacity, count, total, sets) for capacity, count in _rounded(instance.capacity)]
    risk = _least_risk(kinds, total)
    if sum(kind.room(limit) * kind.count for kind in kinds) < total * SAFE:
        return UtilityBound(utility=total, feasible=False, risk=risk)
    for kind in kinds:
        kind.keep_below(limit)
    loss = max(0.0, _least_loss(kinds, total, sets.pull)) * SAFE
    return UtilityBound(utility=total - loss, feasible=True, risk=risk)


def _rounded(capacity: Floats) -> list[tuple[float, int]]:
    """Capacities and how many brokers have them, rounded up to few kinds."""
    values = np.sort(capacity)
    if len(np.unique(values)) > KINDS_MAX:
        edges = np.quantile(values, np.linspace(0, 1, KINDS_MAX + 1)[1:], method="higher")
        values = edges[np.searchsorted(edges, values)]
    kinds, counts = np.unique(values, return_counts=True)
    return [(float(kind), int(count)) for kind, count in zip(kinds, counts, strict=True)]


def _smallest_eigenvalue(model: LoadModel) -> float:
    """Of the correlations of what varies; 0 if it is none, or too small to tell."""
    own = np.diag(model.covariance)
    varying = own > 0
    if not varying.any():
        return 0.0
    deviation = np.sqrt(own[varying])
    scaled = model.covariance[np.ix_(varying, varying)] / np.outer(deviation, deviation)
    return max(0.0, float(np.linalg.eigvalsh(scaled)[0]) * (1 - 1e-6) - 1e-12 * len(deviation))


# How much sets vary -------------------------------------------------------------------------------------------------
class _Knapsack:
    """The least (or greatest) sum of weights that fractions of items with a given mean have."""

    def __init__(self, means: Floats, weights: Floats, *, most: bool = False) -> None:
        carrying = means > NOTHING * float(means.sum())
        sign = -1.0 if most else 1.0
        order = np.argsort(sign * weights[carrying] / means[carrying], kind="stable")
        self._means = np.concatenate([[0.0], np.cumsum(means[carrying][order])])
        self._weights = np.concatenate([[0.0], np.cumsum(weights[carrying][order])])
        self._free = sign * float(np.minimum(sign * weights[~carrying], 0.0).sum())

    def __call__(self, mean: Floats) -> Floats:
        found: Floats = np.interp(mean, self._means, self._weights) + self._free
        return found


class _Sets:
    """What sets of items of a given mean vary, and pull, at least and at most."""

    def __init__(self, model: LoadModel, split: float, *, sound: bool) -> None:
        covariance, means = model.covariance, model.means
        own = np.diag(covariance)
        pairs = np.minimum(covariance, 0.0).sum(axis=1) + np.abs(own)
        self._pairs, self._negative = _Knapsack(means, np.maximum(pairs, 0.0)), float(np.minimum(pairs, 0.0).sum())
        self._items = _Knapsack(means, split * own)
        rows = covariance.sum(axis=1) - split * own
        total = float(rows.sum())
        self.pull = float(np.sqrt(total)) * SAFE if sound and total > 0 else 0.0
        pulls = rows / np.sqrt(total) * SAFE if self.pull > 0 else np.zeros_like(means)
        self.least_pull, self.most_pull = _Knapsack(means, pulls), _Knapsack(means, pulls, most=True)
        self._deviations = _Knapsack(means, np.sqrt(np.maximum(own, 0.0)), most=True)
        self._all = float(np.maximum(covariance, 0.0).sum())
        self._sound = sound

    def least(self, mean: Floats, pull: Floats) -> Floats:
        """Variance of a set of this mean and pull, at least."""
        apart = np.maximum(0.0, self._negative + self._pairs(mean))
        found: Floats = np.maximum(apart, self._items(mean) + np.maximum(pull, 0.0) ** 2) * SAFE
        return found

    def most(self, mean: Floats) -> Floats:
        """Variance of a set of at most this mean, at most."""
        if not self._sound:
            return np.full_like(mean, self._all)
        found: Floats = np.minimum(self._deviations(mean) ** 2, self._all) * (2 - SAFE)
        return found


# What that costs ----------------------------------------------------------------------------------------------------
class _Kind:
    """Brokers of one capacity: the least risk and loss in every cell of mean and pull."""

    def __init__(self, capacity: float, count: int, total: float, sets: _Sets) -> None:
        self.count = count
        below = np.linspace(0.0, min(capacity, total), MEAN_CELLS + 1)
        ends = (
            np.concatenate([below, np.geomspace(capacity, total, ABOVE_CELLS + 1)[1:]]) if total > capacity else below
        )
        low, high = ends[:-1], ends[1:]
        least, most = np.minimum(sets.least_pull(low), sets.least_pull(high)), sets.most_pull(high)
        most = np.maximum.accumulate(np.maximum(most, sets.most_pull(low)))
        pulls = np.linspace(float(least.min()), max(float(most.max()), float(least.min()) + 1e-12), PULL_CELLS + 1)
        reached = (pulls[None, :-1] <= most[:, None]) & (pulls[None, 1:] >= least[:, None])
        cells = np.argwhere(reached)
        low_mean, self.mean = low[cells[:, 0]], high[cells[:, 0]]
        low_pull, self.pull = np.maximum(pulls[cells[:, 1]], least[cells[:, 0]]), pulls[cells[:, 1] + 1]
        variance = np.where(low_mean < capacity, sets.least(low_mean, low_pull), sets.most(self.mean))
        self.risk = overload(low_mean, variance, np.full_like(low_mean, capacity))
        self.loss = low_mean * self.risk

    def room(self, limit: float) -> float:
        """The greatest mean in cells whose risk is below the limit."""
        allowed = self.risk < limit
        return float(self.mean[allowed].max()) if allowed.any() else 0.0

    def keep_below(self, limit: float) -> None:
        """Leave out cells that have this risk or more."""
        allowed = self.risk < limit
        self.mean, self.pull, self.loss = self.mean[allowed], self.pull[allowed], self.loss[allowed]

    def cheapest(self, price: float, pull_price: float) -> int:
        """The cell with the least loss less what its mean and pull are paid for."""
        return int((self.loss - price * self.mean - pull_price * self.pull).argmin())


def _least_loss(kinds: list[_Kind], total: float, pull: float) -> float:
    """The best lower bound that prices give: it is concave in them, so every try cuts off where the best can be."""
    scale = total / pull if pull > 0 else 0.0
    best, prices = 0.0, (0.0, 0.0)
    cuts, limits = [], []
    for _ in range(CUTS):
        value, short, slack = 0.0, total, pull * scale
        for kind in kinds:
            cell = kind.cheapest(prices[0], prices[1] * scale)
            value += kind.count * float(kind.loss[cell])
            short -= kind.count * float(kind.mean[cell])
            slack -= kind.count * float(kind.pull[cell]) * scale
        best = max(best, value + prices[0] * short + prices[1] * slack)
        # bound(p, q) <= value + p * short + q * slack, everywhere
        cuts.append([-short / total, -slack / total, 1.0])
        limits.append(value / total)
        sides = [(0.0, PRICE_MAX), (0.0, PRICE_MAX if scale else 0.0), (None, 1.0)]
        found = linprog([0.0, 0.0, -1.0], A_ub=cuts, b_ub=limits, bounds=sides, method="highs")
        if not found.success or found.x[2] * total <= best + 1e-6 * total:
            break
        prices = (float(found.x[0]), float(found.x[1]))
    return best


def _least_risk(kinds: list[_Kind], total: float) -> float:
    """The smallest largest risk with which the cells can hold the total: a bisection over the risks there are."""
    risks = np.unique(np.concatenate([kind.risk for kind in kinds]))
    low, high = 0, len(risks) - 1
    while low < high:
        middle = (low + high) // 2
        if sum(kind.room(np.nextafter(risks[middle], 2.0)) * kind.count for kind in kinds) < total * SAFE:
            low = middle + 1
        else:
            high = middle
    return float(risks[low])
