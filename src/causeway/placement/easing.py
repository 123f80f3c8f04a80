"""Owners chosen with the next failure in mind: what a failure costs is decided by who owns what, not by mirrors alone.

Mirrors are the best for given owners, but owners that are equally good as long as all is well differ by much when one
fails. So an item of the broker whose failure is worst, or of the one that suffers from it, goes elsewhere, or changes
places with another one; mirrors of the brokers concerned are chosen anew, and the step is kept if the largest risk
after any one failure has become smaller. Utility and threshold with all brokers up come first: little of the one may be
lost, and nothing of the other.

Bounded by a count; all chance comes from the seed. Must not know: states with more than one failure.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from causeway.placement.arrays import Floats, Ints
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.mirrors import choose_mirrors, risks_after

TRIES: Final = 60
"""Steps that are looked at; each costs some milliseconds for a hundred items."""
LOST_MOST: Final = 2e-4
"""Part of the total that all steps together may take from the utility."""
BETTER: Final = 0.999
"""What the largest risk has to become, at most, as a part of what it is: less is not worth a step."""
SAFE: Final = 1e-6
"""Risk after a failure at which nothing more is tried."""


def ease_failures(instance: Instance, owner: Ints, mirror: Ints, seed: int) -> tuple[Ints, Ints]:
    """Owners and mirrors with a smaller largest risk after one failure, or those that were given."""
    if not instance.mirrors:
        return owner, mirror
    chance = np.random.default_rng(seed)
    present = Loads(instance, owner)
    least = present.utility() - LOST_MOST * instance.model.total
    most = max(float(present.risks().max()), instance.threshold if instance.threshold is not None else 1.0)
    after = risks_after(instance, owner, mirror)
    given, before = (owner, mirror), float(after.max())
    for _ in range(TRIES):
        if after.max() <= SAFE:
            break
        tried, touched = _step(owner, after, chance)
        loads = Loads(instance, tried)
        crowded = instance.topics_max is not None and int(loads.topics.max()) > instance.topics_max
        if crowded or loads.utility() < least or float(loads.risks().max()) >= most:
            continue
        mirrored = choose_mirrors(instance, tried, only=(mirror, touched))
        then = risks_after(instance, tried, mirrored)
        if then.max() < BETTER * after.max():
            owner, mirror, after = tried, mirrored, then
    # Mirrors that were kept through all steps are those of owners that have changed; a re-plan would move them at once.
    mirror = choose_mirrors(instance, owner)
    return (owner, mirror) if risks_after(instance, owner, mirror).max() < BETTER * before else given


def _step(owner: Ints, after: Floats, chance: np.random.Generator) -> tuple[Ints, list[int]]:
    """A step that might help the worst state; and the brokers whose items need mirrors anew."""
    failed, suffering = (int(broker) for broker in np.unravel_index(int(after.argmax()), after.shape))
    tried = owner.copy()
    source = failed if chance.random() < 0.5 else suffering
    target = int(chance.integers(len(after) - 1))
    target += target >= source
    mine, theirs = np.flatnonzero(owner == source), np.flatnonzero(owner == target)
    if len(mine):
        tried[int(chance.choice(mine))] = target
    if len(theirs) and chance.random() < 0.6:
        tried[int(chance.choice(theirs))] = source
    return tried, sorted({failed, source, target})
