"""A better proof with prices by item: what all brokers must lose if no two may choose the same calm items.

For any prices p of items, the sum of all prices plus, for every broker, the least of loss(S) - p(S) over the sets S it
could have, is a lower bound of the loss: every item is on one broker. Three prices for all items (prices.py) let every
broker choose the same items; here a price is a curve over how much an item disturbs for what it carries, so that what
all want becomes dear. Below its capacity a broker's loss grows with mean and variance, so the least is looked for over
pairs of these, with the most that sets within them are worth (worth.py); above it over means, with a knapsack.

Prices are found by cutting planes within a region of trust: each try shows sets that are too cheap at these prices.
What they prove is computed afterwards, in cells that are split until it is exact; so it holds however good they are.

Must not know: any placement.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import linprog  # type: ignore[import-untyped]

from causeway.placement.arrays import Floats
from causeway.placement.risk import overload
from causeway.placement.sets import NOTHING, SAFE, Sets, VarianceSplit
from causeway.placement.worth import Worth

KNOTS: Final = 14
"""Of the curve."""
TRIES: Final = 100
REGION: Final = 0.3
REGION_LEAST: Final = 1e-4
REGION_MOST: Final = 1.0
WIDER: Final = 1.3
NARROWER: Final = 0.5
IN_VAIN: Final = 3
"""The region of trust, in prices per message, and how it changes after a try that was better, or some that were not."""
ENOUGH: Final = 1e-4
"""Part of the total within which prices need not be better."""
LOOKS: Final = 8
LOOKS_LAST: Final = 6
"""Planes that are added for one kind of brokers at one set of prices."""
MEANS: Final = 60
DEVIATIONS: Final = 50
OVERS: Final = 2_000
"""Points at which the least is looked for: means and deviations below a capacity, means above it."""
SPREAD: Final = 12.0
SPLITS: Final = 9
CELLS_MAX: Final = 10_000
EXACT: Final = 1e-4
"""Part of the total that cells leave open in all brokers together."""
BALANCING: Final = 25


def split_without_negatives(covariance: Floats) -> VarianceSplit | None:
    """If no covariance is negative: pulls whose products are nowhere above a covariance, and as noise what each item's
    variance has more than that. It is exact for items that have only these pulls in common; None where it says
    nothing."""
    own = np.diag(covariance)
    if len(own) < 2 or own.min() <= NOTHING * own.max() or covariance.min() < 0:
        return None
    scaled = covariance / np.sqrt(np.outer(own, own))
    np.fill_diagonal(scaled, np.inf)
    least = float(scaled.min())
    if least <= NOTHING:
        return VarianceSplit(np.zeros_like(own), own * SAFE)
    pull = np.full(len(own), np.sqrt(least))
    for _ in range(BALANCING):
        pull = np.sqrt(pull * (scaled / pull).min(axis=1))
    pull *= np.sqrt(min(1.0, float((scaled / np.outer(pull, pull)).min()))) * SAFE
    return VarianceSplit(pull * np.sqrt(own), own * (1 - pull**2) * SAFE)


class _Kind:
    """Brokers of one capacity."""

    def __init__(self, capacity: float, count: int, sets: Sets, split: VarianceSplit, limit: float) -> None:
        self.capacity, self.count, self._limit = capacity, count, limit
        top, share = min(capacity, sets.total), min(1.0, capacity / sets.total)
        usual = np.sqrt((share * float(split.pulls.sum())) ** 2 + share * float(split.noises.sum()))
        usual = usual if usual > 0 else 0.1 * capacity
        self.means: Floats = np.concatenate(
            [np.linspace(0.0, 0.5 * top, MEANS // 5), np.linspace(0.5 * top, top, MEANS)[1:]]
        )
        self.variances: Floats = np.geomspace(usual / SPREAD, usual * SPREAD, DEVIATIONS) ** 2
        grid = np.meshgrid(self.means, self.variances, indexing="ij")
        self._mean, self._variance = (one.ravel() for one in grid)
        self._loss = self.loss(self._mean, self._variance)
        self._usual = usual
        self._over(sets)

    def loss(self, mean: Floats, variance: Floats) -> Floats:
        """Infinite where the limit is not kept."""
        risk = overload(mean, variance, np.full(len(mean), self.capacity))
        found: Floats = np.where(risk < self._limit, mean * risk, np.inf)
        return found

    def _over(self, sets: Sets) -> None:
        self._over_mean = self._over_loss = np.zeros(0)
        if sets.total > self.capacity:
            ends = np.geomspace(self.capacity, sets.total, OVERS + 1)
            risk = overload(ends[:-1], sets.most(ends[1:]), np.full(OVERS, self.capacity))
            kept = risk < self._limit
            self._over_mean, self._over_loss = ends[1:][kept], (ends[:-1] * risk)[kept]

    def below(self, worth: Worth, looks: int, gain_least: float) -> tuple[float, Floats]:
        """About the least of loss less worth below the capacity, and the set that has it."""
        values = worth.at(self._mean, self._variance)
        chosen: Floats = np.zeros(worth.factors.shape[1])
        found = np.inf
        for _ in range(looks):
            at = int((self._loss - values).argmin())
            mean, variance = float(self._mean[at]), float(self._variance[at])
            found = float(self._loss[at] - values[at])
            now, chosen = worth.refine(mean, variance, self._start(worth, mean, variance))
            gain = float(values[at]) - now
            plane, constant = worth.planes[-1], worth.constants[-1]
            np.minimum(values, plane[0] * self._mean + plane[2] * self._variance + constant, out=values)
            if gain <= gain_least:
                break
        return found, chosen

    def _start(self, worth: Worth, mean: float, variance: float) -> Floats:
        bent = worth.planes[:, 2] > 0
        if not bent.any():
            deviation = np.sqrt(variance)
            price = (
                0.3
                / deviation**2
                * max(mean, 0.1 * self.capacity)
                * max(0.05, (self.capacity - mean) / deviation)
                * 0.5
            )
            return np.array([0.5, price * deviation, price])
        planes, constants = worth.planes[bent], worth.constants[bent]
        found: Floats = planes[int((planes[:, 0] * mean + planes[:, 2] * variance + constants).argmin())]
        return found

    def proven(self, worth: Worth, open_most: float) -> float:
        """A lower bound of loss less worth below the capacity. Where it is least, planes may not be as good as they
        could: they are refined there as long as that helps."""
        best = -np.inf
        for _ in range(LOOKS_LAST):
            found, mean, variance = self._split(worth, open_most)
            best = max(best, found)
            if not np.isfinite(variance) or variance <= 0:
                break
            before = float(worth.at(np.array([mean]), np.array([variance]))[0])
            if before - worth.refine(mean, variance, self._start(worth, mean, variance))[0] <= open_most:
                break
        return best

    def _split(self, worth: Worth, open_most: float) -> tuple[float, float, float]:
        """A lower bound by cells, which are split where it is not exact; and the cell that has it."""
        edges = np.concatenate([[0.0], self.variances, [np.inf]])
        low_m, low_v = (one.ravel() for one in np.meshgrid(self.means[:-1], edges[:-1], indexing="ij"))
        high_m, high_v = (one.ravel() for one in np.meshgrid(self.means[1:], edges[1:], indexing="ij"))
        best, upper = (np.inf, 0.0, np.inf), 0.0  # a broker that has nothing loses nothing
        for split in range(SPLITS + 1):
            most = worth.at(high_m, high_v)
            lower = self.loss(low_m, low_v) - most
            reached = np.isfinite(high_v)
            if reached.any():
                upper = min(upper, float((self.loss(high_m[reached], high_v[reached]) - most[reached]).min()))
            unclear = (lower < upper - open_most) & reached
            if split == SPLITS or int(unclear.sum()) * 4 > CELLS_MAX:
                unclear[:] = False
            clear = np.where(unclear, np.inf, lower)
            at = int(clear.argmin())
            best = min(best, (float(clear[at]), float(high_m[at]), float(high_v[at])))
            if not unclear.any():
                break
            cells = [one[unclear] for one in (low_m, high_m, low_v, high_v)]
            low_m, high_m, low_v, high_v = _quarters(*cells)
        return best

    def above(self, prices: Floats, means: Floats) -> tuple[float, Floats]:
        """The least of loss less worth above the capacity, and the set; infinite if no such cell is allowed."""
        if not len(self._over_loss):
            return np.inf, np.zeros_like(prices)
        order = np.argsort(-prices / np.maximum(means, NOTHING * float(means.sum())), kind="stable")
        ends = np.concatenate([[0.0], np.cumsum(means[order])])
        worth = np.concatenate([[0.0], np.cumsum(np.maximum(prices[order], 0.0))])
        values = self._over_loss - np.interp(self._over_mean, ends, worth)
        at = int(values.argmin())
        chosen = np.zeros_like(prices)
        chosen[order[ends[1:] <= self._over_mean[at]]] = 1.0
        return float(values[at]), np.where(prices > 0, chosen, 0.0)


def _quarters(low_m: Floats, high_m: Floats, low_v: Floats, high_v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    middle_m, middle_v = (low_m + high_m) / 2, (low_v + high_v) / 2
    return (
        np.concatenate([low_m, middle_m, low_m, middle_m]),
        np.concatenate([middle_m, high_m, middle_m, high_m]),
        np.concatenate([low_v, low_v, middle_v, middle_v]),
        np.concatenate([middle_v, middle_v, high_v, high_v]),
    )


class ItemPrices:
    """The relaxation with prices by item."""

    def __init__(
        self, kinds: list[tuple[float, int]], means: Floats, sets: Sets, split: VarianceSplit, limit: float
    ) -> None:
        self._kinds = [_Kind(capacity, count, sets, split, limit) for capacity, count in kinds]
        self._means, self._total = means, sets.total
        self._worth = Worth(means, split.pulls, split.noises)
        brokers = sum(kind.count for kind in self._kinds)
        carried = np.maximum(means, NOTHING * sets.total)
        disturbing = (split.noises + 2 * float(split.pulls.sum()) / brokers * split.pulls) / carried
        self._curve = _curve(disturbing, means, split)
        self._knobs: Floats | None = None
        self._master: _Master | None = None
        """Of the last question: sets that were cheap then are not far from it now."""

    def least_loss(self, over: int, start: Floats) -> float:
        """What no placement is below in which so many brokers (2: or more) are above their capacities; `start` are
        prices to begin with."""
        fitted = np.linalg.lstsq(self._curve, start, rcond=None)[0].astype(np.float64, copy=False)
        best = _Best(self._knobs if self._knobs is not None else fitted)
        master = _Master(self._curve.sum(axis=0), [kind.count for kind in self._kinds], over, self._total)
        master.inherit(self._master)
        knobs = best.knobs
        for _ in range(TRIES):
            prices = self._curve @ knobs
            value = self._try(prices, over, master)
            best.see(value, knobs)
            aim = master.solve(best.knobs, best.region)
            if aim is None or aim[0] <= best.value + ENOUGH * self._total or best.region < REGION_LEAST:
                break
            knobs = aim[1]
        self._knobs, self._master = best.knobs, master
        return self._proven(self._curve @ best.knobs, over)

    def _try(self, prices: Floats, over: int, master: _Master) -> float:
        """About the bound at some prices; the sets that are cheapest there go to the master."""
        self._worth.price(prices)
        value, dearer = float(prices.sum()), []
        gain_least = ENOUGH / 10 * self._total / sum(kind.count for kind in self._kinds)
        for number, kind in enumerate(self._kinds):
            below, chosen = kind.below(self._worth, LOOKS, gain_least)
            mean, pull, noise = self._worth.factors @ chosen
            loss = float(kind.loss(np.array([mean]), np.array([pull**2 + noise]))[0])
            master.add(number, loss if np.isfinite(loss) else below + float(prices @ chosen), self._curve.T @ chosen)
            value += kind.count * below
            if over:
                above, taken = kind.above(prices, self._means)
                if np.isfinite(above):
                    master.add_over(number, above + float(prices @ taken), self._curve.T @ taken)
                dearer.append((above - below, kind.count))
        return value + _added(dearer, over)

    def _proven(self, prices: Floats, over: int) -> float:
        self._worth.price(prices)
        open_most = EXACT * self._total / sum(kind.count for kind in self._kinds)
        for kind in self._kinds:
            kind.below(self._worth, LOOKS_LAST, open_most / 4)
        value, dearer = float(prices.sum()), []
        for kind in self._kinds:
            below = min(0.0, kind.proven(self._worth, open_most))
            value += kind.count * below
            dearer.append((kind.above(prices, self._means)[0] - below, kind.count))
        return value + _added(dearer, over)


def _added(dearer: list[tuple[float, int]], over: int) -> float:
    """What it adds at least that so many brokers (2: or more) are above their capacities."""
    added, left = 0.0, over
    for more, count in sorted(dearer) if over else []:
        taken = min(count, left) if over < 2 or more >= 0 else count
        if taken > 0:
            added, left = added + taken * more, max(0, left - taken)
    return np.inf if left > 0 else added


def _curve(disturbing: Floats, means: Floats, split: VarianceSplit) -> Floats:
    """Items x knobs: a price is piecewise linear in how much an item disturbs, times its mean, and linear in pull and
    noise."""
    order = np.argsort(disturbing, kind="stable")
    shares = np.cumsum(means[order]) / max(float(means.sum()), NOTHING)
    knots = np.unique(np.interp(np.linspace(0.0, 1.0, KNOTS), shares, disturbing[order]))
    hats = [np.interp(disturbing, knots, row) * means for row in np.eye(len(knots))]
    total = float(means.sum())
    others = [one * total / float(one.sum()) for one in split if float(one.sum()) > 0]
    found: Floats = np.column_stack([*hats, *others])
    return found


class _Best:
    """The best knobs so far, and how far from them to look."""

    def __init__(self, knobs: Floats) -> None:
        self.value, self.knobs, self.region = -np.inf, knobs, REGION
        self._in_vain = 0

    def see(self, value: float, knobs: Floats) -> None:
        if value > self.value:
            self.value, self.knobs, self.region = value, knobs, min(REGION_MOST, WIDER * self.region)
            self._in_vain = 0
            return
        self._in_vain += 1
        if self._in_vain % IN_VAIN == 0:
            self.region *= NARROWER


class _Master:
    """Sets that were cheap at some prices: which prices would make all of them dear?"""

    def __init__(self, totals: Floats, counts: list[int], over: int, total: float) -> None:
        self._knobs, self._kinds = len(totals), len(counts)
        self._unit = total / sum(counts)
        self._aim = -np.concatenate([totals / self._unit, counts, [float(over)]])
        self._over = over
        self._rows: list[Floats] = []
        self._limits: list[float] = []

    def inherit(self, other: _Master | None) -> None:
        """Take over what another one knows of the same brokers."""
        for row, limit in zip(other._rows, other._limits, strict=True) if other is not None else ():
            if self._over or not row[-1]:
                self._rows.append(row)
                self._limits.append(limit)

    def add(self, kind: int, loss: float, knobs: Floats) -> None:
        """A set for brokers of this kind."""
        row = np.zeros(self._knobs + self._kinds + 1)
        row[: self._knobs], row[self._knobs + kind] = knobs / self._unit, 1.0
        self._rows.append(row)
        self._limits.append(loss / self._unit)

    def add_over(self, kind: int, loss: float, knobs: Floats) -> None:
        """A set for one of them that is above its capacity."""
        self.add(kind, loss, knobs)
        self._rows[-1][-1] = 1.0

    def solve(self, middle: Floats, region: float) -> tuple[float, Floats] | None:
        """About the best bound within the region, and its knobs."""
        sides = [(one - region, one + region) for one in middle.tolist()]
        free: list[tuple[float | None, float | None]] = [(None, None)] * self._kinds
        last = (None, None) if self._over and any(row[-1] for row in self._rows) else (0.0, 0.0)
        found = linprog(
            self._aim, A_ub=np.array(self._rows), b_ub=self._limits, bounds=[*sides, *free, last], method="highs"
        )
        return (-float(found.fun) * self._unit, found.x[: self._knobs]) if found.success else None
