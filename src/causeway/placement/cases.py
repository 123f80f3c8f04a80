"""The case base: what to do in every foreseeable state, computed ahead, looked up at once, sent as plain values.

A state is the set of broken brokers. Stored are the policy with all brokers up and, for every state, the items that
differ from it: those the broken brokers owned or mirrored. `version` is a hash of the load model, the brokers and the
constraints: two agents with the same version mean the same numbers. Brokers that are switched off at low load
(`replan.fewest_brokers`) are a state like any other; `add` takes such a policy.

Must not know: how cases are distributed.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from causeway.core.placing import NOBODY
from causeway.errors import ConfigError
from causeway.placement.arrays import Ints
from causeway.placement.failures import Failures
from causeway.placement.instance import Instance
from causeway.placement.policy import PlacementPolicy, numbers_of

Difference = dict[str, tuple[str, str]]
"""Item -> owner and mirror (empty: none)."""


class _Stored(msgspec.Struct, frozen=True):
    """The case base as it travels: brokers and items are numbers, places in these lists."""

    version: str
    brokers: list[str]
    items: list[str]
    owners: list[int]
    mirrors: list[int]
    cases: list[tuple[list[int], list[tuple[int, int, int]]]]
    """Broken brokers; and item, owner, mirror of what changes."""


class CaseBase:
    """Policies by state. A mapping would be one too, but 1,275 whole policies of 2,000 items are not small."""

    def __init__(
        self, version: str, brokers: tuple[str, ...], items: tuple[str, ...], owner: Ints, mirror: Ints
    ) -> None:
        self.version = version
        self.brokers, self.items = brokers, items
        self._owner, self._mirror = owner, mirror
        self._cases: dict[frozenset[str], list[tuple[int, int, int]]] = {frozenset(): []}

    def __len__(self) -> int:
        return len(self._cases)

    def __contains__(self, broken: object) -> bool:
        return broken in self._cases

    def difference(self, broken: frozenset[str]) -> Difference:
        """What changes against all up when these brokers are broken."""
        return {self.items[item]: (self._name(owner), self._name(mirror)) for item, owner, mirror in self._case(broken)}

    def policy(self, broken: frozenset[str] = frozenset()) -> PlacementPolicy:
        """The whole policy for a state."""
        case = self._case(broken)
        owner, mirror = self._owner.copy(), self._mirror.copy()
        for item, new_owner, new_mirror in case:
            owner[item], mirror[item] = new_owner, new_mirror
        pairs = zip(self.items, owner.tolist(), mirror.tolist(), strict=True)
        placed = [(item, self._name(one), self._name(two)) for item, one, two in pairs]
        return PlacementPolicy(
            owners={item: one for item, one, _two in placed if one},
            mirrors={item: two for item, _one, two in placed if two},
        )

    def add(self, broken: frozenset[str], differing: list[tuple[int, int, int]]) -> None:
        """Store a state: item, owner and mirror of what differs, as numbers."""
        self._cases[broken] = differing

    def _case(self, broken: frozenset[str]) -> list[tuple[int, int, int]]:
        for broker in sorted(broken):
            if broker not in self.brokers:
                raise ConfigError("broken", broker, f"is none of these brokers: {', '.join(self.brokers)}")
        if broken not in self._cases:
            remedy = "this state was not foreseen; take over by the mirrors and compute it (Failures.after)"
            raise ConfigError("broken", sorted(broken), remedy)
        return self._cases[broken]

    def _name(self, broker: int) -> str:
        return self.brokers[broker] if broker != NOBODY else ""

    # As plain values ------------------------------------------------------------------------------------------------
    def to_builtins(self) -> dict[str, Any]:
        """Dictionaries, lists, strings and numbers."""
        numbers = {name: number for number, name in enumerate(self.brokers)}
        cases = [
            [sorted(numbers[name] for name in broken), [list(change) for change in differing]]
            for broken, differing in self._cases.items()
        ]
        return {
            "version": self.version,
            "brokers": list(self.brokers),
            "items": list(self.items),
            "owners": self._owner.tolist(),
            "mirrors": self._mirror.tolist(),
            "cases": cases,
        }

    @classmethod
    def from_builtins(cls, values: Mapping[str, Any]) -> CaseBase:
        """The case base that `to_builtins` wrote; what was damaged on the way is refused."""
        try:
            stored = msgspec.convert(values, _Stored)
        except msgspec.ValidationError as error:
            raise ConfigError("case base", "", f"is not one ({error})") from error
        count, brokers = len(stored.items), len(stored.brokers)
        if not len(stored.owners) == len(stored.mirrors) == count:
            remedy = f"must have an owner and a mirror for each of {count} items"
            raise ConfigError("case base", len(stored.owners), remedy)
        lines = [line for _numbers, case in stored.cases for line in case]
        places = [*stored.owners, *stored.mirrors, *(number for line in lines for number in line[1:])]
        broken = [number for numbers, _case in stored.cases for number in numbers]
        if any(not NOBODY <= number < brokers for number in places) or any(not 0 <= one < brokers for one in broken):
            raise ConfigError("case base", brokers, "names brokers by numbers that it does not have")
        if any(not 0 <= line[0] < count for line in lines):
            raise ConfigError("case base", count, "names items by numbers that it does not have")
        owner, mirror = np.array(stored.owners, dtype=np.int64), np.array(stored.mirrors, dtype=np.int64)
        base = cls(stored.version, tuple(stored.brokers), tuple(stored.items), owner, mirror)
        for numbers, case in stored.cases:
            base.add(frozenset(stored.brokers[number] for number in numbers), case)
        return base


def version_of(instance: Instance) -> str:
    """A hash of all that policies follow from."""
    model = instance.model
    digest = hashlib.sha256()
    told = (model.topics, [(one.name, one.capacity) for one in instance.brokers])
    rules = (instance.threshold, instance.topics_max, instance.mirrors)
    digest.update(msgspec.json.encode((told, rules)))
    for array in (model.means, model.covariance):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()[:32]


def build_cases(instance: Instance, policy: PlacementPolicy, *, failures_max: int = 2) -> CaseBase:
    """Policies for all brokers up and every set of up to so many failures that leaves a broker."""
    owner, mirror = numbers_of(instance, policy)
    base = CaseBase(version_of(instance), instance.names, instance.model.items, owner, mirror)
    states = Failures(instance, owner, mirror)
    for count in range(1, min(failures_max, instance.broker_count - 1) + 1):
        for broken in itertools.combinations(range(instance.broker_count), count):
            base.add(frozenset(instance.names[broker] for broker in broken), states.after(broken))
    return base
