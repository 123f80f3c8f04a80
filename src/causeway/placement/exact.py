"""The best placement, proven: branch and bound over items, the heaviest first, for a dozen items or so.

A node of the tree has the first d items placed. What can become of broker b below it: its mean only grows, by at most
the mean of the items that are left; its variance stays above `least` = its variance plus, for every item left, the most
that the item can take from it (its variance, twice its covariance with the broker, and its negative covariances with
others left), and below `most`, with the positive ones. Risk grows with the mean everywhere, with the variance up to
the capacity, and falls with it above. So the sum over brokers of the loss at (mean, least) or (mean, most) is a lower
bound of the loss of everything below; spreading what is left over cells of the mean at the best of some prices makes
it better (see bound.py). None of this needs the covariance to be positive semi-definite. Nodes whose bound is not
below the best leaf are cut, so the leaf that stays is optimal; of brokers that are alike only the first empty one is
tried.

Nodes are looked at thousands at a time, depth first. Must not know: mirrors, failures (others give it what is fixed).
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from causeway.placement.arrays import Bools, Floats, Ints
from causeway.placement.loads import Loads
from causeway.placement.risk import ROUNDING, overload

NODES_MAX: Final = 3_000_000
"""Nodes that are looked at; beyond it the best so far is returned, unproven. Some seconds."""
NOTHING: Final = 1e-9
"""A start with less loss, or risk, has none: nobody would see what is better than that."""
CHUNK: Final = 2_048
CELLS: Final = 8
PRICES: Final = np.array([0.0, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0])


class Proof(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What the tree gave."""

    owner: Ints | None
    """By item; None: there is no placement (or none was found, if not `proven`)."""
    value: float
    """Loss, or largest risk."""
    bound: float
    """None has less; the value itself if proven."""
    proven: bool
    nodes: int


class Tree:
    """All ways to place some items, given what is placed already."""

    def __init__(self, fixed: Loads, items: Ints, targets: Bools, *, least_risk: bool = False) -> None:
        order = np.argsort(-fixed.means[items], kind="stable")
        self._items = items[order]
        self._brokers = np.flatnonzero(targets)
        self._fixed = fixed
        self._least_risk = least_risk
        self._threshold = fixed.instance.threshold if not least_risk else None
        self._means = fixed.means[self._items]
        self._sizes = fixed.sizes[self._items]
        self._cov = fixed.covariance[np.ix_(self._items, self._items)]
        self._own = np.diag(self._cov)
        self._capacity = fixed.capacity[self._brokers]
        self._mean0, self._variance0 = fixed.mean[self._brokers], fixed.variance[self._brokers]
        self._cross0 = fixed.cross[np.ix_(self._brokers, self._items)]
        self._topics0 = fixed.topics[self._brokers]
        self._rest = np.cumsum(self._means[::-1])[::-1]
        self._twins = self._find_twins()

    def solve(self, start: Ints | None = None, nodes_max: int = NODES_MAX) -> Proof:
        """The best placement of these items. `start`, brokers by item of the whole instance, need not be good; it is
        the answer if nothing is better."""
        best, value = self._start(start)
        count, nodes, width = len(self._items), 0, len(self._brokers)
        if count == 0:
            return self._proof(np.zeros(0, dtype=np.int64), self._value_of_nothing(), None, 0)
        stack: list[tuple[Ints, Floats]] = [(np.zeros((1, 0), dtype=np.int64), np.zeros(1))]
        while stack:
            parents, bounds = stack.pop()
            parents = parents[bounds < value]
            if not len(parents):
                continue
            if nodes >= nodes_max:
                left = min([value, *(float(bounds.min()) for _nodes, bounds in stack), float(bounds.min())])
                return self._proof(best, value, left, nodes)
            children = np.column_stack([np.repeat(parents, width, axis=0), np.tile(np.arange(width), len(parents))])
            nodes += len(children)
            kept, found = self._bounds(children, value)
            children = children[kept]
            if children.shape[1] == count:
                if len(found) and found.min() < value:
                    best, value = children[int(found.argmin())], float(found.min())
                continue
            order = np.argsort(found, kind="stable")
            chunks = range(0, len(order), CHUNK)
            stack += [(children[order[at : at + CHUNK]], found[order[at : at + CHUNK]]) for at in reversed(chunks)]
        return self._proof(best, value, None, nodes)

    # Bounds ---------------------------------------------------------------------------------------------------------
    def _bounds(self, nodes: Ints, value: float) -> tuple[Bools, Floats]:
        """Which nodes may have something better below them, and the bounds of those."""
        depth, count = nodes.shape[1], len(self._items)
        here = (nodes[:, None, :] == np.arange(len(self._brokers))[None, :, None]).astype(np.float64)
        kept = self._fits(nodes, here)
        nodes, here = nodes[kept], here[kept]
        cross = here @ self._cov[:depth] + self._cross0
        variance = self._variance0 + (here * (cross[..., :depth] + self._cross0[:, :depth])).sum(axis=2)
        mean = self._mean0 + here @ self._means[:depth]
        least = most = np.maximum(variance, 0.0)
        rest = 0.0
        if depth < count:
            left = self._cov[depth:, depth:]
            apart = left - np.diag(np.diag(left))
            alone = self._own[depth:] + 2 * cross[..., depth:]
            less = np.minimum(0.0, alone + np.minimum(apart, 0.0).sum(axis=1)).sum(axis=2)
            more = np.maximum(0.0, alone + np.maximum(apart, 0.0).sum(axis=1)).sum(axis=2)
            least, most = np.maximum(0.0, variance + less), np.maximum(0.0, variance + more)
            rest = float(self._rest[depth])
        bounds = self._spread(mean, least, most, rest, value)
        better = bounds < value
        kept[kept] = better
        return kept, bounds[better]

    def _spread(self, mean: Floats, least: Floats, most: Floats, rest: float, value: float) -> Floats:
        """The least that nodes can come to when what is left is spread as if it were water."""
        cells = np.arange(CELLS if rest > 0 else 1) / CELLS * rest
        upper = cells + (rest / CELLS if rest > 0 else 0.0)
        means = mean[..., None] + cells
        capacity = self._capacity[None, :, None]
        # At its capacity a broker whose rate does not vary has no risk, any other one half: so the least counts there.
        variances = np.where(means <= capacity * (1 + ROUNDING), least[..., None], most[..., None])
        risks = overload(means, variances, capacity)
        limit = value if self._least_risk else (self._threshold if self._threshold is not None else np.inf)
        allowed = risks < limit
        room = np.where(allowed, upper, 0.0).max(axis=2).sum(axis=1)
        hopeless = ~allowed[..., 0].all(axis=1) | (room < rest * (1 - 1e-12))
        if self._least_risk:
            return np.where(hopeless, np.inf, risks[..., 0].max(axis=1))
        losses = np.where(allowed, means * risks, np.inf)
        priced = (losses[..., None] - upper[:, None] * PRICES).min(axis=2).sum(axis=1) + PRICES * rest
        bounds: Floats = np.where(hopeless, np.inf, priced.max(axis=1))
        return bounds

    def _fits(self, nodes: Ints, here: Floats) -> Bools:
        """No broker has too many topics, and none is used before its twin."""
        kept = np.ones(len(nodes), dtype=np.bool_)
        used: Bools = here.max(axis=2, initial=0.0) > 0
        for first, second in self._twins:
            kept &= used[:, first] | ~used[:, second]
        most = self._fixed.instance.topics_max
        if most is not None:
            depth = nodes.shape[1]
            topics = self._topics0 + here @ self._sizes[:depth]
            # Where a failure made a broker too full already, it must only not get more.
            kept &= (topics <= np.maximum(most, self._topics0)).all(axis=1)
            kept &= np.maximum(0, most - topics).sum(axis=1) >= self._sizes[depth:].sum()
        return kept

    def _find_twins(self) -> list[tuple[int, int]]:
        """Pairs of empty brokers that are alike: the second is used only after the first."""
        pairs = []
        latest: dict[float, int] = {}
        for number, capacity in enumerate(self._capacity.tolist()):
            if self._mean0[number] == 0 and self._variance0[number] == 0 and self._topics0[number] == 0:
                if capacity in latest:
                    pairs.append((latest[capacity], number))
                latest[capacity] = number
        return pairs

    # Ends -----------------------------------------------------------------------------------------------------------
    def _start(self, start: Ints | None) -> tuple[Ints | None, float]:
        if start is None:
            return None, np.inf
        numbers = {int(broker): number for number, broker in enumerate(self._brokers)}
        nodes = np.array([[numbers[int(start[item])] for item in self._items]], dtype=np.int64)
        twins, self._twins = self._twins, []
        kept, found = self._bounds(nodes, np.inf)
        self._twins = twins
        if not kept[0] or not np.isfinite(found[0]):
            return None, np.inf
        return nodes[0], float(found[0]) if found[0] > NOTHING else 0.0

    def _value_of_nothing(self) -> float:
        risks = overload(self._mean0, self._variance0, self._capacity)
        return float(risks.max()) if self._least_risk else float(self._mean0 @ risks)

    def _proof(self, best: Ints | None, value: float, bound: float | None, nodes: int) -> Proof:
        owner = None
        if best is not None:
            owner = self._fixed.owner.copy()
            owner[self._items] = self._brokers[best]
        low = value if bound is None else bound
        return Proof(owner=owner, value=value, bound=low, proven=bound is None, nodes=nodes)
