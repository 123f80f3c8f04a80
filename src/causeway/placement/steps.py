"""Single steps of a search: one item moves, or two change places; what each would do is computed for all at once.

A `Search` knows which items may move and where to. `improve` makes the best step of the broker that costs most, as long
as one pays; `level` makes the step that helps the broker most at risk, as long as one helps. Both end by themselves:
every step makes the sum of costs, or the sorted list of margins, better. `looks` bounds them anyway.

Must not know: how a search begins, what is tried when no step is left.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from causeway.placement.arrays import Bools, Floats, Ints
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.risk import margin, overload

WORTH: Final = 2e-7
"""The least gain of a step, as a part of the total: a thousand smaller ones would not be seen."""
FINER: Final = 1e-9
"""The least part by which a margin must grow: less is rounding."""
PARTNERS: Final = 6
"""Brokers with whom swaps are looked at: those with the most room."""
GIVEN_UP: Final = -3.0
"""A margin below which a broker is a partner, too: it is overloaded anyway, and may as well have what disturbs."""
DRIFT: Final = 200
"""Steps after which loads are computed anew."""


class Price:
    """What a search makes small: the loss, and before it the brokers whose risk reaches the threshold."""

    def __init__(self, instance: Instance, threshold: float | None = None) -> None:
        self.threshold = threshold
        # More than all utility there is: no gain makes up for one more broker above the threshold.
        self._fine = 2 * max(instance.model.total, 1.0)

    def of(self, mean: Floats, variance: Floats, capacity: Floats) -> Floats:
        """By broker."""
        risk = overload(mean, variance, capacity)
        cost = mean * risk
        if self.threshold is not None:
            cost = cost + np.where(risk >= self.threshold, self._fine * (1 + risk), 0.0)
        return cost


class Moves:
    """One item of a broker goes elsewhere: means and variances of both brokers, for all items (rows) and brokers."""

    def __init__(self, loads: Loads, broker: int, items: Ints) -> None:
        means, own = loads.means[items], loads.own[items]
        self.here_mean = loads.mean[broker] - means
        self.here_variance = loads.variance[broker] - 2 * loads.cross[broker, items] + own
        self.there_mean = loads.mean[None, :] + means[:, None]
        self.there_variance = loads.variance[None, :] + 2 * loads.cross[:, items].T + own[:, None]


class Swaps:
    """An item of a broker (rows) and one of another broker (columns) change places: means and variances of both."""

    def __init__(self, loads: Loads, broker: int, items: Ints, others: Ints) -> None:
        brokers = loads.owner[others]
        more = loads.means[others][None, :] - loads.means[items][:, None]
        both = loads.own[items][:, None] + loads.own[others][None, :] - 2 * loads.covariance[np.ix_(items, others)]
        self.here_mean = loads.mean[broker] + more
        self.there_mean = loads.mean[brokers][None, :] - more
        self.here_variance = (loads.variance[broker] + both) + 2 * (
            loads.cross[broker, others][None, :] - loads.cross[broker, items][:, None]
        )
        leaving = loads.variance[brokers] - 2 * loads.cross[brokers, others]
        self.there_variance = both + 2 * loads.cross[np.ix_(brokers, items)].T + leaving[None, :]


class Search:
    """Changes loads step by step."""

    def __init__(self, loads: Loads, price: Price, *, free: Bools | None = None, targets: Bools | None = None) -> None:
        self.loads = loads
        self.price = price
        self._free = np.ones(len(loads.owner), dtype=np.bool_) if free is None else free
        self._targets = np.ones(len(loads.capacity), dtype=np.bool_) if targets is None else targets
        self._home: Ints | None = None
        self._move_cost = 0.0
        self._worth = WORTH * max(loads.instance.model.total, 1e-300)
        self._steps = 0

    def stay_near(self, home: Ints, move_cost: float) -> None:
        """Every item that is not at home costs so much."""
        self._home, self._move_cost = home, move_cost

    def costs(self) -> Floats:
        """By broker."""
        return self.price.of(self.loads.mean, self.loads.variance, self.loads.capacity)

    def cost(self) -> float:
        """What `improve` makes small."""
        away = 0.0 if self._home is None else self._move_cost * float((self.loads.owner != self._home).sum())
        return float(self.costs().sum()) + away

    # Sum of costs ---------------------------------------------------------------------------------------------------
    def improve(self, looks: int, brokers: Ints | None = None) -> int:
        """Make steps that pay, of these brokers and those they touch; the looks that are left."""
        waiting = np.zeros(len(self.loads.capacity), dtype=np.bool_)
        waiting[np.flatnonzero(self._targets) if brokers is None else brokers] = True
        while looks > 0:
            costs = np.where(waiting, self.costs(), -1.0)
            broker = int(costs.argmax())
            if costs[broker] <= self._worth and self._home is None:
                break
            if not waiting[broker]:
                break
            looks -= 1
            touched = self._step(broker)
            if touched is None:
                waiting[broker] = False
            else:
                waiting[[broker, touched]] = self._targets[[broker, touched]]
        return looks

    def _step(self, broker: int) -> int | None:
        """Make the best step of a broker that pays; the other broker of it."""
        items = np.flatnonzero((self.loads.owner == broker) & self._free)
        if not len(items):
            return None
        costs = self.costs()
        gain, item, target = self._best_move(broker, items, costs)
        if gain > self._worth:
            self._make(item, target)
            return target
        gain, item, other = self._best_swap(broker, items, costs)
        if gain > self._worth:
            target = int(self.loads.owner[other])
            self._make(item, target)
            self._make(other, broker)
            return target
        return None

    def _best_move(self, broker: int, items: Ints, costs: Floats) -> tuple[float, int, int]:
        moves = Moves(self.loads, broker, items)
        capacity = self.loads.capacity
        here = self.price.of(moves.here_mean, moves.here_variance, capacity[broker])
        there = self.price.of(moves.there_mean, moves.there_variance, capacity)
        gain = (costs[broker] - here)[:, None] + costs - there
        if self._home is not None:
            home = self._home[items]
            gain += self._move_cost * (
                np.not_equal(home, broker)[:, None] * 1.0 - (np.arange(len(capacity)) != home[:, None])
            )
        gain[~self._may_move(broker, items)] = -np.inf
        row, column = np.unravel_index(int(gain.argmax()), gain.shape)
        return float(gain[row, column]), int(items[row]), int(column)

    def _best_swap(self, broker: int, items: Ints, costs: Floats) -> tuple[float, int, int]:
        others = self._others(broker)
        if not len(others):
            return 0.0, -1, -1
        swaps = Swaps(self.loads, broker, items, others)
        brokers = self.loads.owner[others]
        here = self.price.of(swaps.here_mean, swaps.here_variance, self.loads.capacity[broker])
        there = self.price.of(swaps.there_mean, swaps.there_variance, self.loads.capacity[brokers])
        gain = (costs[broker] + costs[brokers])[None, :] - here - there
        if self._home is not None:
            mine, theirs = self._home[items], self._home[others]
            away = np.not_equal(mine, broker)[:, None] * 1.0 + (brokers != theirs)[None, :]
            gain += self._move_cost * (
                away - np.not_equal(brokers[None, :], mine[:, None]) - np.not_equal(theirs, broker)[None, :]
            )
        gain[~self._may_swap(broker, items, others)] = -np.inf
        row, column = np.unravel_index(int(gain.argmax()), gain.shape)
        return float(gain[row, column]), int(items[row]), int(others[column])

    # The least margin -----------------------------------------------------------------------------------------------
    def level(self, looks: int, enough: float = np.inf) -> int:
        """Help the broker most at risk until nothing helps, or all margins are enough; the looks that are left."""
        while looks > 0:
            margins = np.where(self._targets, self.loads.margins(), np.inf)
            broker = int(margins.argmin())
            looks -= 1
            if margins[broker] > enough or not self._relieve(broker, float(margins[broker])):
                break
        return looks

    def least_margin(self) -> float:
        """Of the broker most at risk."""
        return float(self.loads.margins()[self._targets].min())

    def _relieve(self, broker: int, present: float) -> bool:
        """Make the step after which both its brokers are as far from their capacities as can be, if that helps."""
        items = np.flatnonzero((self.loads.owner == broker) & self._free)
        if not len(items):
            return False
        least = present + FINER * (1 + abs(present))
        capacity = self.loads.capacity
        moves = Moves(self.loads, broker, items)
        here = margin(moves.here_mean, moves.here_variance, capacity[broker])
        after = np.minimum(here[:, None], margin(moves.there_mean, moves.there_variance, capacity))
        after[~self._may_move(broker, items)] = -np.inf
        row, column = np.unravel_index(int(after.argmax()), after.shape)
        if after[row, column] > least:
            self._make(int(items[row]), int(column))
            return True
        others = self._others(broker)
        if not len(others):
            return False
        swaps = Swaps(self.loads, broker, items, others)
        brokers = self.loads.owner[others]
        here = margin(swaps.here_mean, swaps.here_variance, capacity[broker])
        after = np.minimum(here, margin(swaps.there_mean, swaps.there_variance, capacity[brokers]))
        after[~self._may_swap(broker, items, others)] = -np.inf
        row, column = np.unravel_index(int(after.argmax()), after.shape)
        if after[row, column] <= least:
            return False
        target = int(brokers[column])
        self._make(int(items[row]), target)
        self._make(int(others[column]), broker)
        return True

    # What is allowed ------------------------------------------------------------------------------------------------
    def _others(self, broker: int) -> Ints:
        """Items with which those of a broker might change places."""
        margins = np.where(self._targets, self.loads.margins(), -np.inf)
        margins[broker] = -np.inf
        partners = np.zeros(len(margins) + 1, dtype=np.bool_)
        partners[np.argsort(-margins, kind="stable")[:PARTNERS]] = True
        partners[:-1] |= margins < GIVEN_UP
        partners[:-1] &= np.isfinite(margins)
        return np.flatnonzero(self._free & partners[self.loads.owner])

    def _may_move(self, broker: int, items: Ints) -> Bools:
        allowed = np.broadcast_to(self._targets, (len(items), len(self._targets))).copy()
        allowed[:, broker] = False
        most = self.loads.instance.topics_max
        if most is not None:
            allowed &= self.loads.topics[None, :] + self.loads.sizes[items][:, None] <= most
        return allowed

    def _may_swap(self, broker: int, items: Ints, others: Ints) -> Bools:
        most = self.loads.instance.topics_max
        if most is None:
            return np.ones((len(items), len(others)), dtype=np.bool_)
        sizes = self.loads.sizes
        more = sizes[others][None, :] - sizes[items][:, None]
        fits: Bools = (self.loads.topics[broker] + more <= np.maximum(most, self.loads.topics[broker])) & (
            self.loads.topics[self.loads.owner[others]][None, :] - more
            <= np.maximum(most, self.loads.topics[self.loads.owner[others]])[None, :]
        )
        return fits

    def _make(self, item: int, broker: int) -> None:
        self.loads.move(item, broker)
        self._steps += 1
        if self._steps % DRIFT == 0:
            self.loads.refresh()
