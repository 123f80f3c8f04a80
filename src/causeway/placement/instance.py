"""What is to be placed where, and what must hold: brokers with their capacities, and the constraints.

The aim is the paper's (section IV): maximise the sum over brokers of R - P * Pr(V > C) with R = P = mean rate of what a
broker has. So the utility of a placement is the sum of all means less the *loss*, the sum of mean times risk.

Constraints: Pr(V > C) < threshold on every broker; no broker owns more topics than `topics_max`; every item has a
mirror on another broker (`mirrors`). After a failure the threshold and `topics_max` are aims, not constraints: a broker
that died must not stop the others from taking over.

Owns: what is allowed. Must not know: how it is solved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec
import numpy as np

from causeway.errors import ConfigError
from causeway.names import check_name
from causeway.placement.arrays import Floats
from causeway.placement.limits import BROKERS_MAX
from causeway.placement.rates import LoadModel


class BrokerCapacity(msgspec.Struct, frozen=True):
    """A broker and what it can take."""

    name: str
    capacity: float
    """Messages per second."""


class Instance:
    """A question for a solver."""

    def __init__(
        self,
        model: LoadModel,
        brokers: Iterable[BrokerCapacity],
        *,
        threshold: float | None = None,
        topics_max: int | None = None,
        mirrors: bool = True,
    ) -> None:
        self.model = model
        self.brokers = _checked_brokers(brokers)
        self.names = tuple(broker.name for broker in self.brokers)
        self.capacity: Floats = np.array([broker.capacity for broker in self.brokers], dtype=np.float64)
        self.threshold = threshold
        self.topics_max = topics_max
        self.mirrors = mirrors
        if threshold is not None and not (math.isfinite(threshold) and 0 < threshold <= 1):
            raise ConfigError("threshold", threshold, "must be a probability above 0, at most 1")
        if mirrors and len(self.brokers) < 2:
            remedy = "a mirror is on another broker than its owner; give two brokers or more, or do without mirrors"
            raise ConfigError("mirrors", len(self.brokers), remedy)
        self._check_topics()

    def _check_topics(self) -> None:
        if self.topics_max is None:
            return
        if self.topics_max < 1:
            raise ConfigError("topics_max", self.topics_max, "must be 1 or more")
        total, room = int(self.model.sizes.sum()), self.topics_max * len(self.brokers)
        if total > room:
            remedy = f"{len(self.brokers)} brokers may have {room} topics then, and there are {total}; allow more"
            raise ConfigError("topics_max", self.topics_max, remedy)
        largest = int(self.model.sizes.argmax())
        if self.model.sizes[largest] > self.topics_max:
            remedy = (
                f"the item {self.model.items[largest]} alone has {self.model.sizes[largest]}; split it, or allow more"
            )
            raise ConfigError("topics_max", self.topics_max, remedy)

    @property
    def item_count(self) -> int:
        """How many are to be placed."""
        return len(self.model.items)

    @property
    def broker_count(self) -> int:
        """On how many brokers."""
        return len(self.brokers)


def _checked_brokers(brokers: Iterable[BrokerCapacity]) -> tuple[BrokerCapacity, ...]:
    found = tuple(brokers)
    if not 1 <= len(found) <= BROKERS_MAX:
        raise ConfigError("brokers", len(found), f"must be 1 to {BROKERS_MAX}")
    seen: dict[str, None] = {}
    for broker in found:
        check_name("brokers", broker.name)
        if broker.name in seen:
            raise ConfigError("brokers", broker.name, "is there twice; give every broker once")
        seen[broker.name] = None
        if not (math.isfinite(broker.capacity) and broker.capacity > 0):
            remedy = "must be messages per second, above 0; leave a broker out that can take nothing"
            raise ConfigError(f"brokers, {broker.name}, capacity", broker.capacity, remedy)
    return found
