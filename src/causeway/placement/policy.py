"""Who owns and who mirrors every item, by name; and what has to change to get from one such policy to another.

Must not know: how a policy was found.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

from causeway.core.placing import NOBODY
from causeway.errors import ConfigError
from causeway.placement.arrays import Ints
from causeway.placement.instance import Instance


class PlacementPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Where items live."""

    owners: dict[str, str]
    """Item -> broker."""
    mirrors: dict[str, str]
    """Item -> another broker; items without a mirror are not in it."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to do."""

    item: str
    what: Literal["owner", "mirror"]
    source: str
    """Empty: it had none."""
    target: str
    """Empty: it has none any more."""


def policy_of(instance: Instance, owner: Ints, mirror: Ints) -> PlacementPolicy:
    """A policy by names."""
    items, names = instance.model.items, instance.names
    return PlacementPolicy(
        owners={item: names[broker] for item, broker in zip(items, owner.tolist(), strict=True) if broker != NOBODY},
        mirrors={item: names[broker] for item, broker in zip(items, mirror.tolist(), strict=True) if broker != NOBODY},
    )


def numbers_of(instance: Instance, policy: PlacementPolicy) -> tuple[Ints, Ints]:
    """A policy as numbers, -1 for items that it does not name and brokers that are not there any more."""
    for item in (*policy.owners, *policy.mirrors):
        if item not in instance.model.topics:
            raise ConfigError("present", item, "this item has no rates; leave it out, or measure it")
    numbers = {name: number for number, name in enumerate(instance.names)}
    owner = [numbers.get(policy.owners.get(item, ""), NOBODY) for item in instance.model.items]
    mirror = [numbers.get(policy.mirrors.get(item, ""), NOBODY) for item in instance.model.items]
    both = np.array(owner, dtype=np.int64), np.array(mirror, dtype=np.int64)
    both[1][both[0] == both[1]] = NOBODY
    return both


def changes(now: PlacementPolicy, wanted: PlacementPolicy) -> list[Change]:
    """What to do to get from one policy to another: owners first, each in the order of the wanted policy."""
    found = []
    for what, before, after in (("owner", now.owners, wanted.owners), ("mirror", now.mirrors, wanted.mirrors)):
        for item in dict.fromkeys((*after, *before)):
            source, target = before.get(item, ""), after.get(item, "")
            if source != target:
                found.append(
                    Change(item=item, what="owner" if what == "owner" else "mirror", source=source, target=target)
                )
    return found


def nearest(instance: Instance, now: PlacementPolicy, wanted: PlacementPolicy) -> PlacementPolicy:
    """The same policy with brokers of equal capacity exchanged, so that the fewest items move: which of two brokers
    that are alike gets which share is all the same to a solver."""
    have, _mirrors = numbers_of(instance, now)
    want, _mirrors = numbers_of(instance, wanted)
    count = instance.broker_count
    shared = np.zeros((count, count))
    both = (have >= 0) & (want >= 0)
    np.add.at(shared, (want[both], have[both]), 1.0)
    unlike = instance.capacity[:, None] != instance.capacity[None, :]
    # The diagonal counts a little more: what gains nothing stays.
    shares, brokers = linear_sum_assignment(-(shared + 0.5 * np.eye(count)) + np.where(unlike, 1e12, 0.0))
    renamed = {instance.names[share]: instance.names[broker] for share, broker in zip(shares, brokers, strict=True)}
    return PlacementPolicy(
        owners={item: renamed[broker] for item, broker in wanted.owners.items()},
        mirrors={item: renamed[broker] for item, broker in wanted.mirrors.items()},
    )
