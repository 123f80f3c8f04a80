"""Who takes over: a mirror for every item, chosen for the load it would inherit.

When a broker fails, its items go to their mirrors, so the mirrors of one broker's items decide what one failure state
looks like, and those of another broker's items another one: the choice falls apart by the broker that fails. For each
of them the items are placed on the others, beside what these have, so that the utility in that state is greatest:
proven where the ways are few, by search otherwise. The threshold and the bound of topics are kept if they can be.

Must not know: states with more than one failure (cases.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from causeway.core.placing import NOBODY
from causeway.placement.arrays import Bools, Floats, Ints
from causeway.placement.exact import Tree
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.risk import margin
from causeway.placement.steps import Price, Search

LOOKS: Final = 60
"""Brokers that are looked at for a step, for each failure."""
WAYS_MAX: Final = 20_000
"""Ways to place the items of a broker up to which the best is proven."""


def without(loads: Loads, broker: int) -> tuple[Loads, Ints]:
    """What the others have when a broker has failed and nobody has taken over; and its items."""
    rest = loads.copy()
    items = np.flatnonzero(loads.owner == broker)
    rest.owner[items] = NOBODY
    rest.mean[broker] = rest.variance[broker] = 0.0
    rest.topics[broker] = 0
    rest.cross[broker] = 0.0
    return rest, items


def put_safest(loads: Loads, items: Ints, targets: Bools) -> None:
    """Place items, the heaviest first, each where the margin is then greatest; more topics than allowed if it must
    be."""
    for item in items[np.argsort(-loads.means[items], kind="stable")]:
        loads.put(int(item), safest(loads, int(item), targets))


def safest(loads: Loads, item: int, targets: Bools) -> int:
    """The broker that is farthest from its capacity with one more item."""
    mean, variance = loads.with_item(item)
    margins = margin(mean, variance, loads.capacity)
    fitting = targets & loads.room_for(item)
    return int(np.where(fitting if fitting.any() else targets, margins, -np.inf).argmax())


def choose_mirrors(
    instance: Instance,
    owner: Ints,
    *,
    present: Ints | None = None,
    move_cost: float = 0.0,
    only: tuple[Ints, list[int]] | None = None,
) -> Ints:
    """A mirror for every item. Those that are `present` (or -1) are kept unless another one gains more than the cost.
    With `only` all mirrors are those given there, except for items of the brokers that it names."""
    loads = Loads(instance, owner)
    mirror = np.full(instance.item_count, NOBODY, dtype=np.int64) if only is None else only[0].copy()
    for broker in range(instance.broker_count) if only is None else only[1]:
        rest, items = without(loads, broker)
        if len(items):
            mirror[items] = _after(rest, items, broker, present, move_cost)[items]
    return mirror


def _after(rest: Loads, items: Ints, failed: int, present: Ints | None, move_cost: float) -> Ints:
    """The best owners of a failed broker's items."""
    targets = np.ones(len(rest.capacity), dtype=np.bool_)
    targets[failed] = False
    if present is None and int(targets.sum()) ** len(items) <= WAYS_MAX:
        # Of placements that are equally good, as all are at low load, the even one counts.
        even = rest.copy()
        put_safest(even, items, targets)
        for least_risk in (False, True):
            proof = Tree(rest, items, targets, least_risk=least_risk).solve(even.owner)
            if proof.owner is not None:
                return proof.owner
    home = rest.owner.copy()
    if present is not None:
        kept = items[(present[items] >= 0) & (present[items] != failed)]
        for item in kept:
            rest.put(int(item), int(present[item]))
    put_safest(rest, items[rest.owner[items] == NOBODY], targets)
    home[items] = rest.owner[items] if present is not None else NOBODY
    free = np.zeros(len(rest.owner), dtype=np.bool_)
    free[items] = True
    search = Search(rest, Price(rest.instance, rest.instance.threshold), free=free, targets=targets)
    if present is not None:
        search.stay_near(home, move_cost)
    search.improve(LOOKS)
    return search.loads.owner


def risks_after(instance: Instance, owner: Ints, mirror: Ints) -> Floats:
    """Risk of every broker (columns) after each single failure (rows), when the mirrors have taken over."""
    loads = Loads(instance, owner)
    lines = []
    for broker in range(instance.broker_count):
        rest, items = without(loads, broker)
        for item in items:
            if mirror[item] >= 0:
                rest.put(int(item), int(mirror[item]))
        lines.append(rest.risks())
    return np.array(lines)
