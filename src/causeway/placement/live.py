"""Placement for a running cluster: from the rates that were measured to owners, mirrors and a case base.

Whoever is asked at run time has to answer whatever was measured: no items, one broker, one window, nothing but zeros,
capacities that nobody knows. So a rate counts as half a message per second at least, which is what a whole number
leaves open, and varies at least as a Poisson count of that mean does: idle items are spread, and a rate that was the
same in all windows is not taken for one that never varies.

With a present placement items move only where that gains more than a move costs (replan.py). Only if the threshold is
not kept by that is a placement from scratch looked at, and taken if it keeps it, or is clearly less risky.

Must not know: who measures, who carries a plan out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np

from causeway.core.placing import NOBODY, FailureCase, ItemPlace, PlannedItems, PlanRequest, Spared
from causeway.errors import ConfigError
from causeway.placement.arrays import Floats, Ints
from causeway.placement.cases import CaseBase, build_cases
from causeway.placement.easing import ease_failures
from causeway.placement.instance import BrokerCapacity, Instance
from causeway.placement.limits import CAPACITY_NOMINAL
from causeway.placement.loads import Loads
from causeway.placement.mirrors import risks_after
from causeway.placement.policy import PlacementPolicy, nearest, numbers_of, policy_of
from causeway.placement.rates import LoadModel, from_samples, peak_samples
from causeway.placement.replan import fewest_brokers, replan
from causeway.placement.solve import place

RATE_LEAST: Final = 0.5
"""Messages per second that an item counts at least: 0 is what less than that was rounded to."""
CLEARLY: Final = 0.9
"""If no placement keeps the threshold, one from scratch must bring the largest risk down to this part of what it would
be, or everything would move for an accident of the last windows."""
PER_MILLION: Final = 1_000_000

CaseBuilder = Callable[[Instance, PlacementPolicy], CaseBase]
"""What to do in every state with one or two failures."""


def plan_live(request: PlanRequest) -> PlannedItems:
    """The placement to aim at, and what to do in every state with one or two failures."""
    _check(request)
    if not request.items or not request.brokers:
        nobody = (NOBODY,) * len(request.items)
        return PlannedItems(
            items=request.items,
            brokers=request.brokers,
            owners=nobody,
            mirrors=nobody,
            version=_version("", nobody, nobody),
            feasible=True,
            risks=(0,) * len(request.brokers),
        )
    return planned(request, instance_of(request))


def planned(request: PlanRequest, instance: Instance, build: CaseBuilder = build_cases) -> PlannedItems:
    """The same from a model that somebody else has estimated: `request` says what is placed where at present."""
    present = np.array(request.owners, dtype=np.int64), np.array(request.mirrors, dtype=np.int64)
    policy = _policy(instance, present_of(request, instance), request.seed)
    owner, mirror = numbers_of(instance, policy)
    owners, mirrors = tuple(owner.tolist()), tuple(mirror.tolist())
    base = build(instance, policy)
    risks = Loads(instance, owner).risks()
    return PlannedItems(
        items=request.items,
        brokers=request.brokers,
        owners=owners,
        mirrors=mirrors,
        version=_version(base.version, owners, mirrors),
        feasible=bool((risks < request.threshold / 1000).all()),
        risks=_per_million(risks),
        risks_after=tuple(_per_million(row) for row in _after(instance, owner, mirror)),
        present_risk=max(_per_million(Loads(instance, present[0]).risks())),
        present_risk_after=max(_per_million(_after(instance, *present).max(axis=0, initial=0.0))),
        cases=tuple(
            FailureCase(tuple(broken), tuple(tuple(change) for change in differing))
            for broken, differing in base.to_builtins()["cases"]
            if broken
        ),
        spared=_spared(instance, policy),
    )


def instance_of(request: PlanRequest) -> Instance:
    """What is to be solved: the peak of what was measured, and capacities for those that nobody knows."""
    return instance_with(request, _model(request))


def instance_with(request: PlanRequest, model: LoadModel) -> Instance:
    """The same with a model of what `request` places."""
    threshold = request.threshold / 1000
    return Instance(model, _capacities(request), threshold=threshold, mirrors=len(request.brokers) > 1)


def present_of(request: PlanRequest, instance: Instance) -> PlacementPolicy:
    """How items are placed at present."""
    return policy_of(instance, np.array(request.owners, dtype=np.int64), np.array(request.mirrors, dtype=np.int64))


# The question -------------------------------------------------------------------------------------------------------
def _check(request: PlanRequest) -> None:
    """Everything has as many entries as it must, and names nobody who is not there."""
    items, brokers = len(request.items), len(request.brokers)
    if len(request.capacities) != brokers:
        raise ConfigError("capacities", len(request.capacities), f"must be one per broker, {brokers} of them")
    for number, row in enumerate(request.samples):
        if len(row) != items:
            raise ConfigError(f"samples, row {number}", len(row), f"must be one rate per item, {items} of them")
    for field, places in (("owners", request.owners), ("mirrors", request.mirrors)):
        if len(places) != items:
            raise ConfigError(field, len(places), f"must be one per item, {items} of them; {NOBODY} for none")
        for broker in places:
            if not NOBODY <= broker < brokers:
                raise ConfigError(field, broker, f"must be the place of a broker, below {brokers}, or {NOBODY}")
    if not 1 <= request.threshold <= 1000:
        raise ConfigError("threshold", request.threshold, "must be 1 to 1000 thousandths")


def _model(request: PlanRequest) -> LoadModel:
    rows = np.array(request.samples or ((0,) * len(request.items),), dtype=np.float64)
    peak = peak_samples(rows)
    if len(peak) < 2:
        peak = np.repeat(peak, 2, axis=0)
    return at_least(from_samples(peak, request.items))


def at_least(found: LoadModel) -> LoadModel:
    """The model with the rates and variances that even an idle item has."""
    means = np.maximum(found.means, RATE_LEAST)
    missing = np.maximum(means - np.diag(found.covariance), 0.0)
    return LoadModel(found.topics, means, found.covariance + np.diag(missing), found.samples)


def _capacities(request: PlanRequest) -> list[BrokerCapacity]:
    known = [capacity for capacity in request.capacities if capacity > 0]
    usual = sum(known) / len(known) if known else CAPACITY_NOMINAL
    return [
        BrokerCapacity(name, float(capacity) if capacity > 0 else usual)
        for name, capacity in zip(request.brokers, request.capacities, strict=True)
    ]


# The answer ---------------------------------------------------------------------------------------------------------
def _policy(instance: Instance, present: PlacementPolicy, seed: int) -> PlacementPolicy:
    if not present.owners:
        return _from_scratch(instance, seed)
    near = replan(instance, present)
    risk = _largest_risk(instance, near)
    assert instance.threshold is not None
    if risk < instance.threshold:
        return near
    other = nearest(instance, present, _from_scratch(instance, seed))
    return other if _largest_risk(instance, other) < max(instance.threshold, CLEARLY * risk) else near


def _from_scratch(instance: Instance, seed: int) -> PlacementPolicy:
    found = place(instance, seed=seed)
    return policy_of(instance, *ease_failures(instance, found.owner, found.mirror, seed))


def _largest_risk(instance: Instance, policy: PlacementPolicy) -> float:
    return float(Loads(instance, numbers_of(instance, policy)[0]).risks().max())


def _after(instance: Instance, owner: Ints, mirror: Ints) -> Floats:
    """Risks (columns) after each failure (rows); none if nobody would be left."""
    if instance.broker_count < 2:
        return np.zeros((0, instance.broker_count))
    return risks_after(instance, owner, mirror)


def _spared(instance: Instance, policy: PlacementPolicy) -> Spared:
    saving = fewest_brokers(instance, policy)
    if not saving.off:
        return Spared()
    before = zip(*(places.tolist() for places in numbers_of(instance, policy)), strict=True)
    after = zip(*(places.tolist() for places in numbers_of(instance, saving.policy)), strict=True)
    changed: list[ItemPlace] = [
        (item, *then) for item, (now, then) in enumerate(zip(before, after, strict=True)) if now != then
    ]
    return Spared(tuple(instance.names.index(name) for name in saving.off), tuple(changed))


def _per_million(risks: Floats) -> tuple[int, ...]:
    return tuple(np.rint(risks * PER_MILLION).astype(np.int64).tolist())


def _version(numbers: str, owners: tuple[int, ...], mirrors: tuple[int, ...]) -> str:
    return hashlib.sha256(msgspec.json.encode((numbers, owners, mirrors))).hexdigest()[:32]
