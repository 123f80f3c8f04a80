"""The door to the solvers: a placement with mirrors, how good it is, and how much better another one could be.

Few items are placed by branch and bound, and the answer is proven; many by search, with a bound of what is possible. If
no placement keeps the threshold, that is said, together with the placement whose largest risk is smallest.

Must not know: tables, commands, what is placed at present (replan.py).
"""

from __future__ import annotations

import math
from typing import Final, Literal

import msgspec
import numpy as np

from causeway.core.placing import NOBODY
from causeway.errors import ConfigError
from causeway.placement.arrays import Ints
from causeway.placement.bound import UtilityBound, bound_of
from causeway.placement.exact import Proof, Tree
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.mirrors import choose_mirrors, put_safest
from causeway.placement.search import least_risky, search

WAYS_MAX: Final = 5e6
"""Ways to place all items up to which `auto` proves the best one."""

Method = Literal["auto", "exact", "search"]


class Solution(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A placement, and what is known about it."""

    owner: Ints
    """Broker by item, both as numbers."""
    mirror: Ints
    """-1: there are no mirrors."""
    utility: float
    bound: float
    """No placement that keeps the constraints has more utility."""
    gap: float
    """(bound - utility) / bound: this part of the bound may be lost at most."""
    proven: bool
    """Nothing is better: not in utility, or, if it is not feasible, not in the largest risk."""
    feasible: bool
    """Whether every risk is below the threshold. If not, this is the placement with the smallest largest risk."""
    hopeless: bool
    """Proven: no placement keeps the threshold."""
    largest_risk: float
    risk_bound: float
    """No placement has a smaller largest risk; 0 where nobody asked for it."""
    method: str
    nodes: int
    """Of the tree, if there was one."""


def place(instance: Instance, *, seed: int = 0, method: Method = "auto", start: Ints | None = None) -> Solution:
    """The best placement that is found, from scratch or with a `start` (brokers by item) among the beginnings."""
    ways = instance.item_count * math.log(max(instance.broker_count, 1))
    if method == "exact" or (method == "auto" and ways <= math.log(WAYS_MAX)):
        return _exact(instance)
    return _searched(instance, seed, start)


def _exact(instance: Instance) -> Solution:
    items, targets = np.arange(instance.item_count), np.ones(instance.broker_count, dtype=np.bool_)
    even = Loads(instance)
    put_safest(even, items, targets)  # what counts among placements that are equally good
    proof = Tree(Loads(instance), items, targets).solve(even.owner)
    least: Proof | None = None
    if instance.threshold is not None or proof.owner is None:
        least = Tree(Loads(instance), items, targets, least_risk=True).solve(even.owner)
    chosen = proof if proof.owner is not None else least
    if chosen is None or chosen.owner is None:
        remedy = "no placement has so few topics on every broker; allow more, or split large items"
        raise ConfigError("topics_max", instance.topics_max, remedy)
    feasible = proof.owner is not None
    trees = [proof] if least is None else [proof, least]
    bound = UtilityBound(utility=instance.model.total, feasible=True, risk=0.0)
    if not (feasible and all(one.proven for one in trees)):
        bound = bound_of(instance)
    known = UtilityBound(
        utility=max(0.0, instance.model.total - proof.bound) if feasible else bound.utility,
        feasible=feasible or not proof.proven,
        risk=max(bound.risk, least.bound if least is not None else 0.0),
    )
    return _solution(instance, chosen.owner, known, feasible=feasible, proof=chosen)


def _searched(instance: Instance, seed: int, start: Ints | None) -> Solution:
    bound = bound_of(instance)
    loads = search(instance, seed, start)
    feasible = instance.threshold is None or bool((loads.risks() < instance.threshold).all())
    if not feasible:
        loads = least_risky(instance, seed, loads.owner)
        feasible = instance.threshold is not None and bool((loads.risks() < instance.threshold).all())
    return _solution(instance, loads.owner, bound, feasible=feasible)


def _solution(
    instance: Instance, owner: Ints, bound: UtilityBound, *, feasible: bool, proof: Proof | None = None
) -> Solution:
    loads = Loads(instance, owner)
    utility = loads.utility()
    best = max(bound.utility, utility)
    none = np.full(instance.item_count, NOBODY, dtype=np.int64)
    return Solution(
        owner=owner,
        mirror=choose_mirrors(instance, owner) if instance.mirrors else none,
        utility=utility,
        bound=best,
        gap=(best - utility) / best if best > 0 else 0.0,
        proven=proof is not None and proof.proven,
        feasible=feasible,
        hopeless=not feasible and not bound.feasible,
        largest_risk=float(loads.risks().max()),
        risk_bound=bound.risk,
        method="exact" if proof is not None else "search",
        nodes=proof.nodes if proof is not None else 0,
    )
