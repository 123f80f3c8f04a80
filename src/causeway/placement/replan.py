"""A better placement that is near the present one: an item moves only if that gains more than a move costs.

Used when the load model or the brokers have changed. Items without an owner (it is gone, or they are new) are placed
where they are safest; then single moves and swaps are made as long as the utility grows by more than `move_cost` for
each item that is away from where it was. A broker at the threshold outweighs every cost. Mirrors follow the same rule.

Also: the fewest brokers that are enough at low load. A broker of more capacity can take whatever one of less can, with
less risk, so of k brokers the k largest are the best choice, and the fewest are found by bisection over k.

Must not know: who carries a plan out.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from causeway.core.placing import NOBODY
from causeway.errors import ConfigError
from causeway.placement.arrays import Ints
from causeway.placement.bound import bound_of
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.mirrors import choose_mirrors, put_safest
from causeway.placement.policy import PlacementPolicy, numbers_of, policy_of
from causeway.placement.search import LOOKS, wanted_margin
from causeway.placement.steps import Price, Search

MOVE_COST: Final = 1.0
"""Messages per second of utility that one moved item must gain: moving one stops its topics for a moment."""


def replan(instance: Instance, present: PlacementPolicy, *, move_cost: float = MOVE_COST) -> PlacementPolicy:
    """A policy that starts from the present one and changes what is worth it."""
    if not move_cost >= 0:
        raise ConfigError("move_cost", move_cost, "must be messages per second, 0 or more")
    owner, mirror = numbers_of(instance, present)
    moved = _improved(instance, owner, move_cost)
    if not instance.mirrors:
        return policy_of(instance, moved, np.full_like(moved, NOBODY))
    return policy_of(instance, moved, _mirrors(instance, moved, mirror, move_cost))


def _improved(instance: Instance, owner: Ints, move_cost: float) -> Ints:
    loads = Loads(instance, owner)
    put_safest(loads, np.flatnonzero(owner == NOBODY), np.ones(instance.broker_count, dtype=np.bool_))
    search = Search(loads, Price(instance, instance.threshold))
    search.stay_near(loads.owner.copy(), move_cost)
    search.improve(LOOKS)
    return search.loads.owner


def _mirrors(instance: Instance, owner: Ints, present: Ints, move_cost: float) -> Ints:
    kept = np.where(present == owner, NOBODY, present)
    return choose_mirrors(instance, owner, present=kept, move_cost=move_cost)


# Switching brokers off ----------------------------------------------------------------------------------------------
class Saving(msgspec.Struct, frozen=True, kw_only=True):
    """Brokers that are not needed, and where items live without them."""

    off: list[str]
    policy: PlacementPolicy
    largest_risk: float
    proven: bool
    """One broker less cannot be enough, whatever the placement."""


def fewest_brokers(instance: Instance, present: PlacementPolicy) -> Saving:
    """The fewest brokers found that keep every risk below the threshold (with mirrors two at least). Items whose owner
    stays on move only if the threshold asks for it."""
    if instance.threshold is None:
        raise ConfigError("threshold", None, "is needed to tell whether fewer brokers are enough; give one")
    owner, mirror = numbers_of(instance, present)
    # The largest first; of those that are alike, those that have most.
    carried = Loads(instance, owner).mean
    order = np.lexsort((np.arange(len(carried)), -carried, -instance.capacity))
    low, high = 2 if instance.mirrors else 1, instance.broker_count
    best = _on(instance, order[:high], owner, needed=True)
    assert best is not None
    while low < high:
        middle = (low + high) // 2
        found = _on(instance, order[:middle], owner)
        if found is None:
            low = middle + 1
        else:
            high, best = middle, found
    used, placed = best
    small = _part(instance, used)
    if instance.mirrors:
        kept = np.append(_renumbered(used, instance.broker_count), NOBODY)[mirror]
        policy = policy_of(small, placed, _mirrors(small, placed, kept, MOVE_COST))
    else:
        policy = policy_of(small, placed, np.full_like(placed, NOBODY))
    fewer = len(used) - 1
    return Saving(
        off=[instance.names[broker] for broker in range(instance.broker_count) if broker not in used.tolist()],
        policy=policy,
        largest_risk=float(Loads(small, placed).risks().max()),
        proven=fewer < (2 if instance.mirrors else 1) or not bound_of(_part(instance, order[:fewer])).feasible,
    )


def _part(instance: Instance, used: Ints) -> Instance:
    """The same question for some of the brokers; a bound of topics that they cannot keep is left to the caller."""
    room = None
    if instance.topics_max is not None and instance.topics_max * len(used) >= int(instance.model.sizes.sum()):
        room = instance.topics_max
    return Instance(
        instance.model,
        [instance.brokers[broker] for broker in used.tolist()],
        threshold=instance.threshold,
        topics_max=room,
        mirrors=instance.mirrors and len(used) > 1,
    )


def _renumbered(used: Ints, count: int) -> Ints:
    numbers: Ints = np.full(count, NOBODY, dtype=np.int64)
    numbers[used] = np.arange(len(used))
    return numbers


def _on(instance: Instance, used: Ints, owner: Ints, *, needed: bool = False) -> tuple[Ints, Ints] | None:
    """A placement on some of the brokers that keeps threshold and topics; None if none is found (and none is
    needed)."""
    small = _part(instance, used)
    if instance.topics_max is not None and small.topics_max is None:
        return None
    loads = Loads(small, np.append(_renumbered(used, instance.broker_count), NOBODY)[owner])
    put_safest(loads, np.flatnonzero(loads.owner == NOBODY), np.ones(len(used), dtype=np.bool_))
    search = Search(loads, Price(small, small.threshold))
    search.level(LOOKS, wanted_margin(small.threshold))
    loads = search.loads
    crowded = small.topics_max is not None and int(loads.topics.max()) > small.topics_max
    if not needed and (crowded or search.least_margin() <= wanted_margin(small.threshold)):
        return None
    return used, loads.owner
