"""What to do when brokers fail: who takes over, and who mirrors then, with as few changes as there can be.

Items whose owner lives stay. Items of a broken broker go to their mirrors; if the mirror is broken too, to the broker
whose risk grows least. Items that have no living mirror then get one, chosen for the state in which their owner fails
as well; all other mirrors stay. So a state differs from the policy in what the broken brokers owned or mirrored, and in
nothing else.

Must not know: which states are worth computing (cases.py).
"""

from __future__ import annotations

import numpy as np

from causeway.core.placing import NOBODY
from causeway.placement.arrays import Bools, Floats, Ints
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.risk import margin, overload

EQUAL = 1e-12
"""Risks that grow by less than this differ by nothing; then the margin decides."""


class Failures:
    """A policy with everything that states after failures are computed from."""

    def __init__(self, instance: Instance, owner: Ints, mirror: Ints) -> None:
        self._instance = instance
        self._owner, self._mirror = owner, mirror
        self._loads = Loads(instance, owner)

    def after(self, broken: tuple[int, ...]) -> list[tuple[int, int, int]]:
        """Item, owner and mirror of every item that changes when these brokers are broken. -1: nobody is left."""
        alive = np.ones(self._instance.broker_count, dtype=np.bool_)
        alive[list(broken)] = False
        dead = np.append(~alive, False)  # nobody (-1) is not broken
        orphaned, bereft = dead[self._owner], dead[self._mirror]
        changed = np.flatnonzero(orphaned | bereft)
        if not alive.any():
            return [(item, NOBODY, NOBODY) for item in changed.tolist()]
        loads = self._taken_over(broken, alive, np.flatnonzero(orphaned))
        mirror = self._mirror.copy()
        mirror[changed] = NOBODY
        if self._instance.mirrors and alive.sum() > 1:
            for broker in np.unique(loads.owner[changed]).tolist():
                self._mirror_anew(loads, mirror, broker, changed[loads.owner[changed] == broker], alive)
        return [(item, int(loads.owner[item]), int(mirror[item])) for item in changed.tolist()]

    def _taken_over(self, broken: tuple[int, ...], alive: Bools, orphans: Ints) -> Loads:
        """Loads after the mirrors, or others, have taken over."""
        loads = self._loads.copy()
        loads.owner[orphans] = NOBODY
        for broker in broken:
            loads.mean[broker] = loads.variance[broker] = 0.0
            loads.topics[broker] = 0
            loads.cross[broker] = 0.0
        heirs = self._mirror[orphans]
        living = (heirs >= 0) & alive[heirs]
        for item, heir in zip(orphans[living].tolist(), heirs[living].tolist(), strict=True):
            loads.put(item, heir)
        lost = orphans[~living]
        for item in lost[np.argsort(-loads.means[lost], kind="stable")].tolist():
            loads.put(item, self._least_growth(loads, item, alive))
        return loads

    def _least_growth(self, loads: Loads, item: int, alive: Bools) -> int:
        """The living broker whose risk one more item raises least."""
        mean, variance = loads.with_item(item)
        fitting = alive & loads.room_for(item)
        allowed = fitting if fitting.any() else alive
        growth = np.where(allowed, overload(mean, variance, loads.capacity) - loads.risks(), np.inf)
        least = growth <= growth.min() + EQUAL
        return int(np.where(least, margin(mean, variance, loads.capacity), -np.inf).argmax())

    def _mirror_anew(self, loads: Loads, mirror: Ints, broker: int, items: Ints, alive: Bools) -> None:
        """Mirrors for items of one broker, beside those that its other items keep."""
        kept = np.flatnonzero((loads.owner == broker) & (mirror >= 0))
        mean, variance, cross = self._if_it_failed(loads, mirror, kept, items)
        targets = alive.copy()
        targets[broker] = False
        for row in np.argsort(-loads.means[items], kind="stable").tolist():
            item = int(items[row])
            then = variance + 2 * cross[:, row] + loads.own[item]
            margins = margin(mean + loads.means[item], then, loads.capacity)
            chosen = int(np.where(targets, margins, -np.inf).argmax())
            mirror[item] = chosen
            mean[chosen] += loads.means[item]
            variance[chosen] = then[chosen]
            cross[chosen] += loads.covariance[item, items]

    def _if_it_failed(self, loads: Loads, mirror: Ints, kept: Ints, items: Ints) -> tuple[Floats, Floats, Floats]:
        """Means and variances of all brokers once the kept mirrors took over, and their covariances with the items."""
        heirs = mirror[kept]
        count = len(loads.capacity)
        mean = loads.mean + np.bincount(heirs, loads.means[kept], count)
        together = loads.covariance[np.ix_(kept, kept)] * (heirs[:, None] == heirs[None, :])
        grown = 2 * loads.cross[heirs, kept] + together.sum(axis=1)
        variance = loads.variance + np.bincount(heirs, grown, count)
        cross = loads.cross[:, items].copy()
        np.add.at(cross, heirs, loads.covariance[np.ix_(kept, items)])
        return mean, variance, cross
