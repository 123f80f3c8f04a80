"""Random instances of placement: what looking at risk gains, and what mirrors are worth after failures.

Items belong to groups; two items of a group have one correlation, others none. So the correlation is one number, and
with the same seed an instance differs from another one in it alone. Everything is computed by `causeway.placement`;
nothing of a placement is decided here but the mirrors that it is compared with.

Owns: how instances are drawn, and what is told of a placement. Must not know: what is claimed about it.
"""

from __future__ import annotations

import itertools
from typing import Final

import msgspec
import numpy as np

from causeway.placement import BrokerCapacity, Instance, from_moments, place
from causeway.placement.arrays import Ints
from causeway.placement.comparisons import BY_RISK, MEAN_LOAD, ROUND_ROBIN, by_mean_load, round_robin
from causeway.placement.easing import ease_failures
from causeway.placement.failures import Failures
from causeway.placement.loads import Loads

ITEMS: Final = 36
BROKERS: Final = 6
GROUPS: Final = 6
USE: Final = 0.7
"""Of all capacities together, by the means, where the correlation varies."""
CORRELATION: Final = 0.5
"""Inside a group, where the use varies."""
FAILURES_MOST: Final = 2

BY_ITEM, EASED, WHOLE, NONE = "by item", "by item, owners eased", "whole broker", "no mirrors"
"""Mirrors for each item; the same after `ease_failures`; all of a broker on the one other that suits best; and what a
broken broker had is not served."""


class TrialCase(msgspec.Struct, frozen=True):
    """One instance: either its placements are compared, or its brokers fail."""

    correlation: float
    use: float
    seed: int
    fails: bool = False

    @property
    def weight(self) -> float:
        """About how much work it is, in seconds."""
        return 0.5 if self.fails else 0.3


class PlacementTrial(msgspec.Struct, frozen=True):
    """One placement of one instance with all brokers up."""

    correlation: float
    use: float
    seed: int
    placement: str
    loss: float
    """Expected rate of brokers above their capacity, as a part of all: the sum of mean times risk."""
    largest_risk: float


class FailureTrial(msgspec.Struct, frozen=True):
    """One way to mirror one instance, over all sets of so many broken brokers."""

    correlation: float
    use: float
    seed: int
    mirrors: str
    failures: int
    loss: float
    """Mean over the sets, as above; of what nobody serves all is lost."""
    largest_risk: float
    """Of any broker, mean over the sets; that of a broken one is 1 where nobody took over."""
    worst_risk: float
    """Of any broker after any of them."""


class Trials(msgspec.Struct, frozen=True):
    """All that one case gave."""

    placements: tuple[PlacementTrial, ...] = ()
    failures: tuple[FailureTrial, ...] = ()


def draw(case: TrialCase) -> Instance:
    """Means and capacities are those of the seed, whatever the correlation; the use only scales capacities."""
    chance = np.random.default_rng(case.seed)
    means = chance.lognormal(4.5, 0.6, ITEMS)
    deviation = means * chance.uniform(0.2, 0.5, ITEMS)
    group = chance.permutation(np.arange(ITEMS) % GROUPS)
    shares = chance.uniform(0.8, 1.2, BROKERS)
    together = np.where(group[:, None] == group[None, :], case.correlation, 0.0)
    np.fill_diagonal(together, 1.0)
    model = from_moments(means, together * np.outer(deviation, deviation), [f"item{n}" for n in range(ITEMS)])
    capacity = shares * model.total / case.use / shares.sum()
    return Instance(model, [BrokerCapacity(f"b{n}", float(each)) for n, each in enumerate(capacity)])


def measure(case: TrialCase) -> Trials:
    """One case."""
    instance = draw(case)
    solution = place(instance, seed=case.seed)
    if not case.fails:
        owners = {
            BY_RISK: solution.owner,
            ROUND_ROBIN: round_robin(instance),
            MEAN_LOAD: by_mean_load(instance),
        }
        return Trials(placements=tuple(_placed(case, instance, name, owner) for name, owner in owners.items()))
    ways = {
        BY_ITEM: (solution.owner, solution.mirror),
        EASED: ease_failures(instance, solution.owner, solution.mirror, case.seed),
        WHOLE: (solution.owner, whole_broker_mirrors(instance, solution.owner)),
    }
    counts = range(FAILURES_MOST + 1)
    mirrored = [_failed(case, instance, (name, *placed), count) for name, placed in ways.items() for count in counts]
    return Trials(failures=(*mirrored, *(_unserved(case, instance, solution.owner, count) for count in counts)))


def _placed(case: TrialCase, instance: Instance, name: str, owner: Ints) -> PlacementTrial:
    loads = Loads(instance, owner)
    loss, largest = loads.loss() / instance.model.total, float(loads.risks().max())
    return PlacementTrial(case.correlation, case.use, case.seed, name, _short(loss), _short(largest))


def whole_broker_mirrors(instance: Instance, owner: Ints) -> Ints:
    """All items of a broker on one other one, as in a high-availability pair: the one with the least loss then."""
    mirror = np.empty_like(owner)
    for broker in range(instance.broker_count):
        mine = owner == broker
        losses = {
            heir: Loads(instance, np.where(mine, heir, owner)).loss()
            for heir in range(instance.broker_count)
            if heir != broker
        }
        mirror[mine] = min(losses, key=lambda heir: losses[heir])
    return mirror


def _failed(case: TrialCase, instance: Instance, way: tuple[str, Ints, Ints], count: int) -> FailureTrial:
    name, owner, mirror = way
    states = Failures(instance, owner, mirror)
    losses, largest = [], []
    for broken in itertools.combinations(range(instance.broker_count), count):
        then = owner.copy()
        for item, heir, _mirror in states.after(broken):
            then[item] = heir
        loads = Loads(instance, then)
        losses.append(loads.loss() / instance.model.total)
        largest.append(float(loads.risks().max()))
    return _failure(case, name, count, losses, largest)


def _unserved(case: TrialCase, instance: Instance, owner: Ints, count: int) -> FailureTrial:
    """Nobody takes over: what is broken loses all it had, the others what they lose anyway."""
    loads = Loads(instance, owner)
    means = np.bincount(owner, instance.model.means, instance.broker_count)
    risks = loads.risks()
    losses, largest = [], []
    for broken in itertools.combinations(range(instance.broker_count), count):
        then = risks.copy()
        then[list(broken)] = 1.0
        losses.append(float(means @ then) / instance.model.total)
        largest.append(float(then.max()))
    return _failure(case, NONE, count, losses, largest)


def _failure(case: TrialCase, name: str, count: int, losses: list[float], largest: list[float]) -> FailureTrial:
    means = (_short(float(np.mean(losses))), _short(float(np.mean(largest))))
    return FailureTrial(case.correlation, case.use, case.seed, name, count, *means, _short(max(largest)))


def _short(value: float) -> float:
    """Without the digits in which libraries of linear algebra differ."""
    return float(f"{value:.9g}")
