"""What every broker has under a placement: mean, variance and topics, kept up to date move by move.

`cross[b, i]` is the covariance of item i with all that broker b has. With it the variance of a broker after it gained
or lost any one item is one addition, so thousands of moves are looked at in one array operation, and making one move
costs two rows of the covariance matrix.

Must not know: which moves are worth making.
"""

from __future__ import annotations

import numpy as np

from causeway.core.placing import NOBODY
from causeway.placement.arrays import Bools, Floats, Ints
from causeway.placement.instance import Instance
from causeway.placement.risk import margin, overload


class Loads:
    """A placement in the making."""

    def __init__(self, instance: Instance, owner: Ints | None = None) -> None:
        self.instance = instance
        model = instance.model
        self.means, self.covariance, self.sizes = model.means, model.covariance, model.sizes
        self.own: Floats = np.ascontiguousarray(np.diag(model.covariance))
        """Variance of every item by itself."""
        self.capacity = instance.capacity
        self.owner: Ints = np.full(instance.item_count, NOBODY, dtype=np.int64)
        self.mean: Floats = np.zeros(instance.broker_count)
        self.variance: Floats = np.zeros(instance.broker_count)
        self.topics: Ints = np.zeros(instance.broker_count, dtype=np.int64)
        self.cross: Floats = np.zeros((instance.broker_count, instance.item_count))
        if owner is not None:
            self.owner[:] = owner
            self.refresh()

    def refresh(self) -> None:
        """Compute everything from `owner` anew: what was added up a thousand times has drifted."""
        held = np.flatnonzero(self.owner >= 0)
        count = len(self.capacity)
        self.mean = np.bincount(self.owner[held], self.means[held], count).astype(np.float64)
        self.topics = np.bincount(self.owner[held], self.sizes[held], count).astype(np.int64)
        self.cross[:] = 0.0
        order = held[np.argsort(self.owner[held], kind="stable")]
        if len(order):
            brokers, starts = np.unique(self.owner[order], return_index=True)
            self.cross[brokers] = np.add.reduceat(self.covariance[order], starts, axis=0)
        mine = self.cross[self.owner[held], held]
        self.variance = np.bincount(self.owner[held], mine, count).astype(np.float64)

    def copy(self) -> Loads:
        """The same, to be changed on its own."""
        twin = object.__new__(Loads)
        twin.__dict__.update(self.__dict__)
        for name in ("owner", "mean", "variance", "topics", "cross"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def put(self, item: int, broker: int) -> None:
        """Place an item that is nowhere."""
        self.variance[broker] += 2 * self.cross[broker, item] + self.own[item]
        self.mean[broker] += self.means[item]
        self.topics[broker] += self.sizes[item]
        self.cross[broker] += self.covariance[item]
        self.owner[item] = broker

    def take(self, item: int) -> int:
        """Take an item from where it is; from where."""
        broker = int(self.owner[item])
        self.variance[broker] -= 2 * self.cross[broker, item] - self.own[item]
        self.mean[broker] -= self.means[item]
        self.topics[broker] -= self.sizes[item]
        self.cross[broker] -= self.covariance[item]
        self.owner[item] = NOBODY
        return broker

    def move(self, item: int, broker: int) -> None:
        """Place an item elsewhere."""
        self.take(item)
        self.put(item, broker)

    def with_item(self, item: int) -> tuple[Floats, Floats]:
        """Mean and variance of every broker if it had one more item."""
        return self.mean + self.means[item], self.variance + 2 * self.cross[:, item] + self.own[item]

    def room_for(self, item: int) -> Bools:
        """Which brokers may have as many topics more."""
        most = self.instance.topics_max
        if most is None:
            return np.ones(len(self.capacity), dtype=np.bool_)
        fits: Bools = self.topics + self.sizes[item] <= most
        return fits

    def risks(self) -> Floats:
        """Overload probability by broker."""
        return overload(self.mean, self.variance, self.capacity)

    def margins(self) -> Floats:
        """Standard deviations to the capacity, by broker."""
        return margin(self.mean, self.variance, self.capacity)

    def loss(self) -> float:
        """What the utility lacks to the sum of all means."""
        return float(self.mean @ self.risks())

    def utility(self) -> float:
        """The objective: sum over brokers of mean * (1 - risk)."""
        return float(self.mean.sum()) - self.loss()
