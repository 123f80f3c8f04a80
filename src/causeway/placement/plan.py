"""Everything about one placement that people and programs ask for, as plain values: what `causeway plan placement`
shows.

With a present placement two proposals are made, one that starts from it and one from scratch with brokers of equal
capacity exchanged to fit. The one with more utility less the cost of its moves counts; if neither keeps the threshold,
the one with the smaller largest risk.

Must not know: where the description came from.
"""

from __future__ import annotations

import msgspec
import numpy as np

from causeway.placement.arrays import Ints
from causeway.placement.cases import version_of
from causeway.placement.comparisons import MEAN_LOAD, ROUND_ROBIN, by_mean_load, round_robin
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.mirrors import risks_after
from causeway.placement.policy import Change, PlacementPolicy, changes, nearest, numbers_of, policy_of
from causeway.placement.rates import CovarianceRepair
from causeway.placement.replan import MOVE_COST, replan
from causeway.placement.risk import SampledRisk, sampled_overload
from causeway.placement.solve import Solution, place


class PlacedItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a plan."""

    name: str
    topics: int
    rate: float
    deviation: float
    owner: str
    mirror: str
    """Empty: it has none."""


class PlacedBroker(msgspec.Struct, frozen=True, kw_only=True):
    """One broker of a plan."""

    name: str
    capacity: float
    items: int
    topics: int
    rate: float
    """Mean of what it owns, messages per second."""
    deviation: float
    risk: float
    """Probability that it gets more than it can take."""
    sampled: SampledRisk | None
    """The same from the joint samples, if there were any."""
    after: dict[str, float]
    """Its risk after each other broker has failed and mirrors took over."""


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """Another placement, to compare with."""

    name: str
    utility: float
    largest_risk: float
    brokers_over: int
    """Brokers whose risk is not below the threshold."""


class PlacementPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A placement, what it is worth, and what would change."""

    version: str
    threshold: float | None
    items: list[PlacedItem]
    brokers: list[PlacedBroker]
    utility: float
    bound: float
    """No placement that keeps the constraints has more utility."""
    gap: float
    proven: bool
    """Of what is proposed: no placement has more utility, or, if it is not feasible, a smaller largest risk."""
    feasible: bool
    hopeless: bool
    """Proven: no placement keeps the threshold."""
    largest_risk: float
    risk_bound: float
    method: str
    repair: CovarianceRepair
    alternatives: list[Alternative]
    changes: list[Change]
    """Against the present placement; empty without one."""
    move_cost: float


def plan_placement(
    instance: Instance, *, present: PlacementPolicy | None = None, seed: int = 0, move_cost: float = MOVE_COST
) -> PlacementPlan:
    """Propose a placement. It depends on nothing but what it is given."""
    found = place(instance, seed=seed)
    policy, method, alternatives = policy_of(instance, found.owner, found.mirror), found.method, []
    if present is not None:
        alternatives.append(_alternative(instance, "present", numbers_of(instance, present)[0]))
        policy, method = _nearer(instance, found, present, move_cost)
    owner, mirror = numbers_of(instance, policy)
    loads = Loads(instance, owner)
    utility, largest = loads.utility(), float(loads.risks().max())
    bound = max(found.bound, utility)
    alternatives.append(_alternative(instance, ROUND_ROBIN, round_robin(instance)))
    alternatives.append(_alternative(instance, MEAN_LOAD, by_mean_load(instance)))
    return PlacementPlan(
        version=version_of(instance),
        threshold=instance.threshold,
        items=_items(instance, policy),
        brokers=_brokers(instance, loads, mirror),
        utility=utility,
        bound=bound,
        gap=(bound - utility) / bound if bound > 0 else 0.0,
        proven=found.proven and utility >= found.utility * (1 - 1e-9) and largest <= max(found.largest_risk, 1e-300),
        feasible=instance.threshold is None or largest < instance.threshold,
        hopeless=found.hopeless,
        largest_risk=largest,
        risk_bound=found.risk_bound,
        method=method,
        repair=instance.model.repair,
        alternatives=alternatives,
        changes=changes(present, policy) if present is not None else [],
        move_cost=move_cost,
    )


def _nearer(
    instance: Instance, found: Solution, present: PlacementPolicy, move_cost: float
) -> tuple[PlacementPolicy, str]:
    """What is worth most after its moves are paid for."""
    scratch = nearest(instance, present, policy_of(instance, found.owner, found.mirror))
    choices = [(replan(instance, present, move_cost=move_cost), "present"), (scratch, found.method)]
    worth = []
    for policy, _method in choices:
        loads = Loads(instance, numbers_of(instance, policy)[0])
        moved = sum(1 for change in changes(present, policy) if change.what == "owner")
        largest = float(loads.risks().max())
        kept = instance.threshold is None or largest < instance.threshold
        worth.append((kept, loads.utility() - move_cost * moved if kept else -largest))
    return choices[0] if worth[0] >= worth[1] else choices[1]


def _alternative(instance: Instance, name: str, owner: Ints) -> Alternative:
    loads = Loads(instance, owner)
    risks = loads.risks()
    over = 0 if instance.threshold is None else int((risks >= instance.threshold).sum())
    return Alternative(name=name, utility=loads.utility(), largest_risk=float(risks.max()), brokers_over=over)


def _items(instance: Instance, policy: PlacementPolicy) -> list[PlacedItem]:
    model = instance.model
    deviation = np.sqrt(np.maximum(np.diag(model.covariance), 0.0))
    return [
        PlacedItem(
            name=name,
            topics=int(model.sizes[number]),
            rate=float(model.means[number]),
            deviation=float(deviation[number]),
            owner=policy.owners[name],
            mirror=policy.mirrors.get(name, ""),
        )
        for number, name in enumerate(model.items)
    ]


def _brokers(instance: Instance, loads: Loads, mirror: Ints) -> list[PlacedBroker]:
    risks = loads.risks()
    after = risks_after(instance, loads.owner, mirror) if instance.mirrors else None
    samples = instance.model.samples
    sampled: list[SampledRisk | None] = [None] * instance.broker_count
    if samples is not None:
        sampled = [*sampled_overload(samples, loads.owner, instance.capacity)]
    lines = []
    for number, broker in enumerate(instance.brokers):
        others = [other for other in range(instance.broker_count) if other != number]
        lines.append(
            PlacedBroker(
                name=broker.name,
                capacity=broker.capacity,
                items=int((loads.owner == number).sum()),
                topics=int(loads.topics[number]),
                rate=float(loads.mean[number]),
                deviation=float(np.sqrt(max(loads.variance[number], 0.0))),
                risk=float(risks[number]),
                sampled=sampled[number],
                after={} if after is None else {instance.names[one]: float(after[one, number]) for one in others},
            )
        )
    return lines
