"""What no placement can exceed: an upper bound of the utility, and a lower bound of the largest risk.

The sum of all means is a bound: the utility is that less the loss, and a loss is never negative. It says little where
the load is near the capacities. The better one follows from what the items of a broker must vary at least.

Let the covariance be D + R, where D is diagonal and R positive semi-definite. A set of items, as a vector x of zeros
and ones, has the variance d'x + x'Rx. By Cauchy and Schwarz x'Rx >= (r'x)^2 with r = R1 / sqrt(1'R1). So a broker with
the *pull* s = r'x and the *noise* t = d'x has at least the variance s^2 + t, and pulls and noise add up over all
brokers to sqrt(1'R1) and 1'd, whatever the placement, just as their means add up to the total. Where there are no
negative covariances the variance is at least the sum of variances, too. At most it is the square of the greatest sum
of deviations. Sets of a given mean have least and greatest pulls and noises by fractional knapsacks (sets.py). Below
its capacity a broker's risk grows with mean and variance, above it falls with the variance: so these give the least
loss of a broker, and prices the least loss of all (prices.py).

D should be large. What an item shares with no other is at most what is left of its variance when all others are
known, one by the diagonal of the inverse; the smallest eigenvalue of the covariance in units of these says by how much
all of them have to shrink so that R is positive semi-definite. If the rates follow some factors and each its own noise,
that is hardly less than this noise. Where the covariance is singular there is no D, and the bound is weaker.

**Proven** for positive semi-definite matrices. For others (a model without repair) pulls and noise count as nothing,
the least variance is the sum over the set of variances and negative covariances, and the greatest that of positive
ones: true for any matrix. Capacities are rounded up to a few kinds if there are many, which only makes the bound
weaker.

With a threshold, cells above it are left out. If what is left cannot hold the total, no placement meets the threshold.

Must not know: any placement.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from scipy.linalg import solve_triangular  # type: ignore[import-untyped]

from causeway.placement.arrays import Floats
from causeway.placement.instance import Instance
from causeway.placement.itemprices import ItemPrices, split_without_negatives
from causeway.placement.prices import Relaxation
from causeway.placement.rates import LoadModel
from causeway.placement.risk import overload
from causeway.placement.sets import SAFE, Sets

ROOM_CELLS: Final = 2_000
"""Steps of the mean up to a capacity, and as many above it, each by the same factor."""
KINDS_MAX: Final = 6
"""Different capacities that are looked at."""
ITERATIONS: Final = 60
BY_ITEM_LEAST: Final = 500
BY_ITEM_USE: Final = 0.82
"""Items, and the part of all capacities that they use, from which on prices by item are worth their seconds."""
SHRINK: Final = 0.97
SHRINKS: Final = 12
"""Steps in which D is made smaller until it is proven that R is positive definite."""
RATE_LEAST: Final = 1e-9
"""Messages per second of all items together below which there is nothing to bound: one in thirty years."""


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
    total, limit = model.total, instance.threshold if instance.threshold is not None else np.inf
    if total <= RATE_LEAST:
        return UtilityBound(utility=total, feasible=True, risk=0.0)
    noise = noise_of(model)
    sets = Sets(model, noise, sound=model.is_covariance or bool(noise.any()))
    kinds = _rounded(instance.capacity)
    rooms = [_Room(capacity, count, sets) for capacity, count in kinds]
    risk = _least_risk(rooms, total)
    if sum(room.below(limit) * room.count for room in rooms) < total * SAFE:
        return UtilityBound(utility=total, feasible=False, risk=risk)
    loss = max(0.0, _least_loss(instance, kinds, sets, limit)) * SAFE
    if loss > total:
        return UtilityBound(utility=total, feasible=False, risk=risk)
    return UtilityBound(utility=total - loss, feasible=True, risk=risk)


def _least_loss(instance: Instance, kinds: list[tuple[float, int]], sets: Sets, limit: float) -> float:
    """By three prices for all items; in large instances whatever is then weakest is looked at again with prices by
    item, until that does not help."""
    found = Relaxation(kinds, sets, limit).least_losses()
    losses = {over: loss for over, (loss, _) in found.items()}
    model = instance.model
    split = split_without_negatives(model.covariance) or sets.split()
    if instance.item_count < BY_ITEM_LEAST or model.total < BY_ITEM_USE * instance.capacity.sum() or split is None:
        return min(losses.values())
    relaxation, looked = ItemPrices(kinds, model.means, sets, split, limit), []
    while (weakest := min(losses, key=losses.__getitem__)) not in looked:
        looked.append(weakest)
        start = sets.worth(*found[weakest][1])
        losses[weakest] = max(losses[weakest], relaxation.least_loss(weakest, start))
    return min(losses.values())


def _rounded(capacity: Floats) -> list[tuple[float, int]]:
    """Capacities and how many brokers have them, rounded up to few kinds."""
    values = np.sort(capacity)
    if len(np.unique(values)) > KINDS_MAX:
        edges = np.quantile(values, np.linspace(0, 1, KINDS_MAX + 1)[1:], method="higher")
        values = edges[np.searchsorted(edges, values)]
    kinds, counts = np.unique(values, return_counts=True)
    return [(float(kind), int(count)) for kind, count in zip(kinds, counts, strict=True)]


def noise_of(model: LoadModel) -> Floats:
    """The D above, by item; zeros if the covariance is singular, or too near to it to tell, or none at all: rates that
    do not vary and yet move with others are found in no covariance."""
    own = np.diag(model.covariance)
    noise = np.zeros_like(own)
    varying = np.flatnonzero(own > 0)
    if not len(varying) or model.covariance[own <= 0].any():
        return noise
    deviation = np.sqrt(own[varying])
    scaled = model.covariance[np.ix_(varying, varying)] / np.outer(deviation, deviation)
    root = _root(scaled, 0.0)
    if root is None:
        return noise
    inverse = solve_triangular(root, np.eye(len(root)), lower=True, check_finite=False)
    alone: Floats = 1 / (inverse**2).sum(axis=0)
    part = _smallest_eigenvalue(inverse * np.sqrt(alone))
    for _ in range(SHRINKS):
        if _root(scaled, alone * part) is not None:
            noise[varying] = own[varying] * alone * part
            break
        part *= SHRINK
    return noise


def _root(scaled: Floats, less: Floats | float) -> Floats | None:
    """Cholesky's factor of correlations less a diagonal, which proves that they are positive definite; or None. More
    is taken off than rounding could hide."""
    rest = scaled.copy()
    rest[np.diag_indices_from(rest)] -= less + 1e-14 * len(rest) ** 2
    try:
        root: Floats = np.linalg.cholesky(rest).astype(np.float64, copy=False)
        return root
    except np.linalg.LinAlgError:
        return None


def _smallest_eigenvalue(inverse_root: Floats) -> float:
    """About that of (A'A)^-1, by iteration; it may be too large by some hundredths."""
    vector = np.cos(np.arange(len(inverse_root)))  # no direction of its own, and no chance
    size = 1.0
    for _ in range(ITERATIONS):
        vector = inverse_root.T @ (inverse_root @ vector)
        size = float(np.linalg.norm(vector))
        vector /= size
    return 1 / size


class _Room:
    """Brokers of one capacity: the least risk in every cell of the mean."""

    def __init__(self, capacity: float, count: int, sets: Sets) -> None:
        self.count = count
        below = np.linspace(0.0, min(capacity, sets.total), ROOM_CELLS + 1)
        above = np.geomspace(capacity, max(sets.total, capacity), ROOM_CELLS + 1)
        risks, self._means = [], np.concatenate([below[1:], above[1:]])
        for ends, variance in ((below, sets.least(below[:-1], below[1:])), (above, sets.most(above[1:]))):
            risks.append(overload(ends[:-1], variance, np.full(ROOM_CELLS, capacity)))
        self.risks = np.concatenate(risks)
        if sets.total <= capacity:
            self.risks, self._means = self.risks[:ROOM_CELLS], self._means[:ROOM_CELLS]

    def below(self, limit: float) -> float:
        """The greatest mean in cells whose risk is below the limit."""
        allowed = self.risks < limit
        return float(self._means[allowed].max()) if allowed.any() else 0.0


def _least_risk(rooms: list[_Room], total: float) -> float:
    """The smallest largest risk with which the cells can hold the total: a bisection over the risks there are."""
    risks = np.unique(np.concatenate([room.risks for room in rooms]))
    low, high = 0, len(risks) - 1
    while low < high:
        middle = (low + high) // 2
        if sum(room.below(np.nextafter(risks[middle], 2.0)) * room.count for room in rooms) < total * SAFE:
            low = middle + 1
        else:
            high = middle
    return float(risks[low])
