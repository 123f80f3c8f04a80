"""The least loss that prices prove: Lagrange's relaxation of what all brokers must have together.

Whatever the placement, the means of all brokers add up to the total, and so do two sums over items, *pulls* and
*noise*, of which a broker with pull s and noise t has at least the variance s^2 + t (bound.py says why). For all prices
p, q, u >= 0 the sum over brokers of min(loss - p*m - q*s - u*t), plus p, q and u times those totals, is a lower bound
of the loss; the prices are found by cutting planes, and whatever they are, the bound holds.

What one broker can have at best is looked at in cells. *Below* its capacity those of mean m and variance v, with the
loss of the lower ends and what q*s + u*t can be at the upper ends: at most what s^2 + t <= v leaves, within what a set
of mean m can have of either, and at most the fractional knapsack of both. *Above* it those of the mean alone, with the
least risk that a set so large can have, and the knapsack.

A broker above its capacity can take everything that is too much for the others, and costs the capacity of one whole
broker; a relaxation would take a twentieth of one. So the cases that none, exactly one, or two and more brokers are
above are bounded by themselves, and the weakest of the three counts.

Must not know: any placement.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from scipy.optimize import linprog  # type: ignore[import-untyped]

from causeway.placement.arrays import Floats
from causeway.placement.risk import overload
from causeway.placement.sets import Sets

Prices: TypeAlias = tuple[float, float, float]
"""Of mean, pull and noise."""

COARSE: Final = (90, 60, 160)
FINE: Final = (900, 400, 4_000)
"""Cells of the mean below a capacity, of the deviation, and of the mean above: to find prices, and to prove with them.
What the fine ones leave open is about a thousandth of the total."""
HALF: Final = 0.5
"""Part of a capacity below which cells are three times as wide: hardly anything is lost there."""
SPREAD: Final = 4.0
"""Deviations from the usual one divided by this to the usual one times this have cells of their own."""
PRICE_MAX: Final = 50.0
CUTS: Final = 40
"""Prices that are tried."""
ENOUGH: Final = 2e-4
"""Part of the total within which prices need not be better."""


class BrokerKind:
    """Brokers of one capacity: the least loss in every cell."""

    def __init__(self, capacity: float, count: int, sets: Sets, cells: tuple[int, int, int], limit: float) -> None:
        self.count = count
        self._sets = sets
        self._below(capacity, sets, cells, limit)
        self._above(capacity, sets, cells[2], limit)

    def _below(self, capacity: float, sets: Sets, cells: tuple[int, int, int], limit: float) -> None:
        top = min(capacity, sets.total)
        ends = np.concatenate(
            [np.linspace(0.0, HALF * top, cells[0] // 4 + 1), np.linspace(HALF * top, top, cells[0] + 1)[1:]]
        )
        low, high = ends[:-1], ends[1:]
        usual = sets.usual_deviation(capacity)
        deviations = np.concatenate([[0.0], np.geomspace(usual / SPREAD, usual * SPREAD, cells[1]), [np.inf]])
        least = sets.least(low, high)
        reached = deviations[None, 1:] ** 2 >= least[:, None]
        row, column = np.nonzero(reached)
        variance = np.maximum(deviations[column] ** 2, least[row])
        risk = overload(low[row], variance, np.full(len(row), capacity))
        kept = risk < limit
        row, column = row[kept], column[kept]
        self._row, self._loss = row, low[row] * risk[kept]
        self._mean = high
        self._at_mean = self._mean[row]
        self._variance = deviations[column + 1] ** 2
        self._pull_low, self._pull_high = (one[row] for one in sets.pulls(low, high))
        self._noise_low, self._noise_high = (one[row] for one in sets.noises(low, high))
        # What pull s^2 <= v - (least noise) leaves, and what is left for pulls if noise is as great as it can be.
        self._pull_room = np.sqrt(np.maximum(self._variance - self._noise_low, 0.0))
        self._pull_free = np.sqrt(np.maximum(self._variance - self._noise_high, 0.0))
        self._pull_most = np.maximum(np.minimum(self._pull_high, self._pull_room), 0.0)

    def _above(self, capacity: float, sets: Sets, cells: int, limit: float) -> None:
        if sets.total <= capacity:
            self._over_mean = self._over_loss = np.zeros(0)
            return
        ends = np.geomspace(capacity, sets.total, cells + 1)
        low, high = ends[:-1], ends[1:]
        risk = overload(low, sets.most(high), np.full(len(low), capacity))
        kept = risk < limit
        self._over_mean, self._over_loss = high[kept], (low * risk)[kept]

    def below(self, prices: Prices) -> tuple[float, Floats]:
        """The least priced loss below the capacity, and the mean, pull and noise of that cell. There is always one: a
        broker that has nothing has no risk."""
        mean_price, pull_price, noise_price = prices
        best = pull_price / (2 * noise_price) if noise_price > 0 else np.inf
        pull = np.clip(np.maximum(self._pull_free, best), self._pull_low, self._pull_most)
        noise = np.clip(self._variance - pull**2, self._noise_low, self._noise_high)
        free = pull_price * pull + noise_price * noise
        most, pulls, noises = self._sets.knapsack(pull_price, noise_price, self._mean)
        priced = self._loss - mean_price * self._at_mean - np.minimum(free, most[self._row])
        cell = int(priced.argmin())
        row = int(self._row[cell])
        if free[cell] <= most[row]:
            return float(priced[cell]), np.array([self._at_mean[cell], pull[cell], noise[cell]])
        return float(priced[cell]), np.array([self._at_mean[cell], pulls[row], noises[row]])

    def above(self, prices: Prices) -> tuple[float, Floats]:
        """The same above the capacity; infinite if no such cell is allowed."""
        if not len(self._over_loss):
            return np.inf, np.zeros(3)
        most, pulls, noises = self._sets.knapsack(prices[1], prices[2], self._over_mean)
        priced = self._over_loss - prices[0] * self._over_mean - most
        cell = int(priced.argmin())
        return float(priced[cell]), np.array([self._over_mean[cell], pulls[cell], noises[cell]])


class Relaxation:
    """All brokers, by kinds."""

    def __init__(self, kinds: list[tuple[float, int]], sets: Sets, limit: float) -> None:
        self._sets = sets
        self._kinds = kinds
        self._limit = limit
        self._coarse = [BrokerKind(capacity, count, sets, COARSE, limit) for capacity, count in kinds]
        self._totals = np.array([sets.total, sets.pull, sets.noise])

    def least_losses(self) -> dict[int, tuple[float, Prices]]:
        """By how many brokers are above their capacities (2: or more): no placement has less, infinite if none keeps
        the limit; and the prices that prove it."""
        found = {over: self._prices(over) for over in (0, 1, 2)}
        fine = [BrokerKind(capacity, count, self._sets, FINE, self._limit) for capacity, count in self._kinds]
        return {
            over: (value if np.isinf(value) else self._value(fine, prices, over)[0], prices)
            for over, (value, prices) in found.items()
        }

    def _prices(self, over: int) -> tuple[float, Prices]:
        """The best bound that prices give: it is concave in them, so every try cuts off where the best can be."""
        total = self._sets.total
        scale = np.array([total / one if one > 0 else 0.0 for one in self._totals])
        best, best_prices, prices = -np.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        cuts, limits = [], []
        for _ in range(CUTS):
            value, short = self._value(self._coarse, prices, over)
            if np.isinf(value):
                return np.inf, prices
            if value > best:
                best, best_prices = value, prices
            # bound(prices) <= value + (change of prices) * short, everywhere
            slope = short * scale / total
            cuts.append([*(-slope), 1.0])
            limits.append((value - float(np.dot(prices, short))) / total)
            sides = [(0.0, PRICE_MAX if one else 0.0) for one in scale.tolist()]
            aim = linprog([0.0, 0.0, 0.0, -1.0], A_ub=cuts, b_ub=limits, bounds=[*sides, (None, 1.0)], method="highs")
            if not aim.success or aim.x[3] * total <= best + ENOUGH * total:
                break
            priced = np.array(aim.x[:3]) * scale
            prices = (float(priced[0]), float(priced[1]), float(priced[2]))
        return best, best_prices

    def _value(self, kinds: list[BrokerKind], prices: Prices, over: int) -> tuple[float, Floats]:
        """The bound at some prices if so many brokers (2: or more) are above their capacities, and what is short."""
        value, short = float(np.dot(prices, self._totals)), self._totals.copy()
        dearer: list[tuple[float, int, Floats]] = []
        for kind in kinds:
            below, has = kind.below(prices)
            above, had = kind.above(prices)
            value += kind.count * below
            short -= kind.count * has
            dearer.append((above - below, kind.count, had - has))
        left = over
        for more, count, change in sorted(dearer, key=lambda one: one[0]):
            taken = min(count, left) if over < 2 or more >= 0 else count
            if taken > 0:
                value += taken * more
                short -= taken * change
                left = max(0, left - taken)
        return (np.inf if left > 0 else value), short
