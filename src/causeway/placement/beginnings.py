"""Where a search may begin when not all risks can be small: with brokers for calm items, and one that is given up.

How much deviation costs a broker grows less than in proportion to it. So it is better that some brokers have the items
that disturb most for what they carry, and others the calm ones, than that all have a mixture: *classes*. And where
there is more than all can take, the loss is least if one broker, the smallest, has it all, and if what it gets is what
would have disturbed the others most.

Both are estimates, made as if items were sand; steps improve what comes of them. Must not know: how that is done.
"""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np

from causeway.core.placing import NOBODY
from causeway.placement.arrays import Bools, Floats, Ints
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.risk import margin, overload

CLASSES: Final = 3
"""Of brokers: two were not quite as good in trials, five no better."""
GRAINS: Final = 100
"""Parts in which items are dealt out to classes, or given up."""
MARGIN_MOST: Final = 8.0
HALVINGS: Final = 14
"""Of the margin that all classes should have."""


def by_classes(instance: Instance, given_up: Ints) -> Loads | None:
    """A placement in which the smallest broker has what is given up, if that is anything, and each class of the others
    items that disturb alike. None if their topics do not fit."""
    loads = Loads(instance)
    smallest = int(instance.capacity.argmin())
    brokers = np.argsort(instance.capacity, kind="stable")
    if len(given_up):
        brokers = brokers[brokers != smallest]
        for item in given_up.tolist():
            loads.put(item, smallest)
    left = np.flatnonzero(loads.owner == NOBODY)
    if len(brokers) < CLASSES or not len(left):
        return None
    order = left[np.argsort(_disturbing(instance, left), kind="stable")]
    everybody = np.zeros(instance.broker_count, dtype=np.bool_)
    everybody[brokers] = True
    classes = [brokers[number::CLASSES] for number in range(CLASSES)]
    for mine, items in zip(classes, _dealt_out(instance, order, classes), strict=True):
        targets = np.zeros(instance.broker_count, dtype=np.bool_)
        targets[mine] = True
        if not _put_safest(loads, items, targets, everybody):
            return None
    return loads


def given_up(instance: Instance) -> Ints:
    """Items that the smallest broker should have so that the others are safe, as an estimate; none if that costs
    more."""
    model, count = instance.model, instance.item_count
    rest = np.sort(instance.capacity)[1:]
    step = -(-count // GRAINS)
    mine = np.arange(count)
    rows, own = model.covariance.sum(axis=1), np.diag(model.covariance)
    gone: list[int] = []
    best = (_loss(instance, mine, rows, instance.capacity), 0)
    most = instance.topics_max if instance.topics_max is not None else int(model.sizes.sum())
    while len(rest) and len(mine) > step:
        share = 1 / len(rest)
        weight = (own[mine] * (1 - share) + 2 * share * rows[mine]) / np.maximum(model.means[mine], 1e-12)
        taken = mine[np.argsort(-weight, kind="stable")[:step]]
        gone += taken.tolist()
        if int(model.sizes[gone].sum()) > most:
            break
        mine = np.setdiff1d(mine, taken)
        rows = rows - model.covariance[taken].sum(axis=0)
        best = min(best, (_loss(instance, mine, rows, rest) + float(model.means[gone].sum()), len(gone)))
    return np.array(gone[: best[1]], dtype=np.int64)


def _loss(instance: Instance, items: Ints, rows: Floats, capacity: Floats) -> float:
    """Of brokers that have items as sand; `rows`: the covariances of each with all of them."""
    own = float(np.diag(instance.model.covariance)[items].sum())
    mean, variance = _shares(float(instance.model.means[items].sum()), own, float(rows[items].sum()), capacity)
    return float(mean @ overload(mean, variance, capacity))


def _shares(mean: float, own: float, whole: float, capacity: Floats) -> tuple[Floats, Floats]:
    """Means and variances of brokers that share items by their capacities: sums of means, variances and covariances."""
    share = capacity / capacity.sum()
    return mean * share, np.maximum(share * own + share**2 * (whole - own), 0.0)


def _disturbing(instance: Instance, items: Ints) -> Floats:
    """What items add to the variance of a broker with its share of all, for what they carry."""
    model = instance.model
    share = 1 / instance.broker_count
    rows = model.covariance[:, items].sum(axis=0)
    added = np.diag(model.covariance)[items] * (1 - share) + 2 * share * rows
    weight: Floats = added / np.maximum(model.means[items], 1e-12)
    return weight


def _dealt_out(instance: Instance, order: Ints, classes: list[Ints]) -> list[Ints]:
    """Items by class, in this order, so that all have about the same margin, as great as can be."""
    model = instance.model
    grains = np.array_split(order, min(GRAINS, len(order)))
    starts = np.cumsum([0, *(len(grain) for grain in grains)])
    rows = np.array([model.covariance[grain].sum(axis=0) for grain in grains])[:, order]
    together = np.add.reduceat(rows, starts[:-1], axis=1)
    own = np.array([float(np.diag(model.covariance)[grain].sum()) for grain in grains])
    means = np.array([float(model.means[grain].sum()) for grain in grains])

    def filled(least: float) -> list[int]:
        """Grains at which classes end if each takes as many as leave it this margin."""
        ends = [0]
        for mine in classes:
            capacity, at, end = instance.capacity[mine], ends[-1], ends[-1]
            while end < len(grains):
                part = slice(at, end + 1)
                whole = float(together[part, part].sum())
                mean, variance = _shares(float(means[part].sum()), float(own[part].sum()), whole, capacity)
                if margin(mean, variance, capacity).min() < least:
                    break
                end += 1
            ends.append(end)
        return ends

    low, high = -MARGIN_MOST, MARGIN_MOST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if filled(middle)[-1] == len(grains) else (low, middle)
    ends = filled(low)
    ends[-1] = len(grains)  # the last class has what is left, whatever its margin
    return [order[starts[begin] : starts[end]] for begin, end in itertools.pairwise(ends)]


def _put_safest(loads: Loads, items: Ints, targets: Bools, everybody: Bools) -> bool:
    """Place items, the heaviest first, each where the margin is then greatest; elsewhere if topics do not fit."""
    weight = loads.means[items] + np.sqrt(np.maximum(loads.own[items], 0.0))
    for item in items[np.argsort(-weight, kind="stable")].tolist():
        room = loads.room_for(item)
        allowed = room & targets if (room & targets).any() else room & everybody
        if not allowed.any():
            return False
        margins = margin(*loads.with_item(item), loads.capacity)
        loads.put(item, int(np.where(allowed, margins, -np.inf).argmax()))
    return True
