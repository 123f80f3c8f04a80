"""A good placement of thousands of items: built greedily, improved step by step, shaken where it is stuck.

Bounded by counts, never by time, and all chance comes from the seed: the same instance and seed give the same
placement. It proves nothing by itself; how far it can be from the best is told by the bound (bound.py).

Must not know: mirrors, failures.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import ndtri  # type: ignore[import-untyped]

from causeway.errors import ConfigError
from causeway.placement.arrays import Ints
from causeway.placement.beginnings import by_classes, given_up
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.risk import margin
from causeway.placement.steps import Price, Search

LOOKS: Final = 1_200
"""Brokers that are looked at for a step from one beginning: 2,000 items on 50 brokers settle in 600 to 1,100."""
SHAKES: Final = 40
"""Times that a placement that is stuck is shaken and improved again."""
SHAKE_LOOKS: Final = 12
SHAKE_SWAPS: Final = 3
UNEVEN: Final = 0.001
"""A loss above this part of the total makes other beginnings worth a try."""
GOOD: Final = 1e-6
"""A loss below this part of the total is none."""


def construct(instance: Instance) -> Loads:
    """Items one by one, the heaviest first, each to the broker that is then farthest from its capacity."""
    model = instance.model
    spread = model.means + np.sqrt(np.maximum(np.diag(model.covariance), 0.0))
    for by_size in (False, True):
        keys = (-spread, -model.sizes) if by_size else (-model.sizes, -spread)
        order = np.lexsort(keys) if instance.topics_max is not None else np.argsort(-spread, kind="stable")
        loads = Loads(instance)
        if all(_put_best(loads, int(item)) for item in order):
            return loads
    remedy = "no placement was found with so few topics on every broker; allow more, or split large items"
    raise ConfigError("topics_max", instance.topics_max, remedy)


def _put_best(loads: Loads, item: int) -> bool:
    mean, variance = loads.with_item(item)
    margins = np.where(loads.room_for(item), margin(mean, variance, loads.capacity), -np.inf)
    if not np.isfinite(margins).any():
        return False
    loads.put(item, int(margins.argmax()))
    return True


def search(instance: Instance, seed: int, start: Ints | None = None) -> Loads:
    """A placement of great utility that keeps the threshold, if one is found; `start` is tried beside the greedy
    one."""
    price = Price(instance, instance.threshold)
    found = [construct(instance)] if start is None else [Loads(instance, start), construct(instance)]
    enough = wanted_margin(instance.threshold)
    settled = []
    for loads in found:
        one = Search(loads, price)
        if instance.threshold is not None:
            one.level(LOOKS, enough)
        one.improve(LOOKS)
        settled.append(one)
    best = min(settled, key=lambda one: one.cost())
    if best.loads.loss() > UNEVEN * instance.model.total and instance.threshold is None:
        best = min([best, *_uneven(instance, price)], key=lambda one: one.cost())
    _shake(best, np.random.default_rng(seed))
    best.loads.refresh()
    return best.loads


def _uneven(instance: Instance, price: Price) -> list[Search]:
    """Placements that keep calm items apart from others, with and without a broker that is given up."""
    nothing, too_much = np.zeros(0, dtype=np.int64), given_up(instance)
    begun = [by_classes(instance, items) for items in ((nothing, too_much) if len(too_much) else (nothing,))]
    found = [Search(loads, price) for loads in begun if loads is not None]
    for one in found:
        one.improve(LOOKS)
    return found


def least_risky(instance: Instance, seed: int, start: Ints | None = None) -> Loads:
    """A placement whose broker most at risk is as safe as was found."""
    price = Price(instance)
    best = Search(Loads(instance, start) if start is not None else construct(instance), price)
    best.level(LOOKS)
    chance = np.random.default_rng(seed)
    for _ in range(SHAKES):
        before = best.least_margin()
        kept = best.loads.copy()
        worst = int(best.loads.margins().argmin())
        _swap_some(best.loads, worst, chance)
        best.level(2 * SHAKE_LOOKS)
        if best.least_margin() <= before:
            best.loads = kept
    best.loads.refresh()
    return best.loads


def wanted_margin(threshold: float | None) -> float:
    """The margin above which a risk is below the threshold."""
    return float(-ndtri(threshold)) if threshold is not None else -np.inf


def _shake(search: Search, chance: np.random.Generator) -> None:
    """Disturb two brokers and improve again; what is worse is undone."""
    total = max(search.loads.instance.model.total, 1e-300)
    for _ in range(SHAKES):
        costs = search.costs()
        if costs.sum() <= GOOD * total:
            return
        before, kept = search.cost(), search.loads.copy()
        first = int(chance.choice(len(costs), p=costs / costs.sum()))
        second = _swap_some(search.loads, first, chance)
        if second is None:
            return
        search.improve(SHAKE_LOOKS, np.array([first, second]))
        if search.cost() >= before:
            search.loads = kept


def _swap_some(loads: Loads, first: int, chance: np.random.Generator) -> int | None:
    """Let random items of a broker and of another one change places; the other one."""
    if len(loads.capacity) < 2:
        return None
    second = int(chance.integers(len(loads.capacity) - 1))
    second += second >= first
    for _ in range(SHAKE_SWAPS):
        mine, theirs = np.flatnonzero(loads.owner == first), np.flatnonzero(loads.owner == second)
        if not len(mine) or not len(theirs):
            return second
        one, two = int(chance.choice(mine)), int(chance.choice(theirs))
        most = loads.instance.topics_max
        more = int(loads.sizes[two] - loads.sizes[one])
        if most is not None and (loads.topics[first] + more > most or loads.topics[second] - more > most):
            continue
        loads.move(one, second)
        loads.move(two, first)
    return second
