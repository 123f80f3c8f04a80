"""How fit a broker is to take over a seat: U = exp(min(x, 0)) for each resource, and their weighted mean. Pure.

Owns: the equations (1) to (5) of QpidR, section 4.2.1, as they must have been meant. Must not know: how anything is
measured, or what a score is used for.

The paper's x is `available - needed`. Subtracted as they stand, bytes would drown cores: a megabyte too little would be
e^-1000000, half a core too little e^-0.5. So the shortfall is taken relative to what is there,

    x = (available - needed) / available        where less than the need is there, else 0

which has no unit and falls to minus infinity: half of the need is e^-1 = 0.37, a third e^-2 = 0.14, nothing is 0.
Relative to the need it would be the same for small shortfalls, but end at -1: a spare with no disk left would still be
given 0.37 for its disk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from causeway.probes.needs import Need, check_needs


class ProbeAnswer(msgspec.Struct, frozen=True):
    """What one probe said."""

    available: float | None = None
    """In the probe's unit; None when the machine has no such resource, or nobody can measure it: it counts as met."""
    failure: str = ""
    """Why there is no answer: the probe counts 0."""
    note: str = ""
    """Why nothing was measured, or what the number stands for."""


class ScorePart(msgspec.Struct, frozen=True):
    """What one resource contributes."""

    probe: str
    available: float | None
    need: float
    weight: float
    """Of all weights, which sum to 1."""
    value: float
    """0 to 1: how far the need is met."""


class Score(msgspec.Struct, frozen=True):
    """How fit a broker is, and why."""

    value: float
    """0 to 1; 1 when every need that has a weight is met."""
    parts: tuple[ScorePart, ...]
    reasons: dict[str, str]
    """By probe: why it failed, or why nothing was measured."""


def satisfaction(available: float | None, needed: float) -> float:
    """U: 1 when the need is met (or the resource is absent), falling to 0 as the shortfall grows."""
    if available is None or available >= needed:
        return 1.0
    if available <= 0:
        return 0.0
    return math.exp(1.0 - needed / available)


def normalised(needs: Sequence[Need]) -> list[float]:
    """Their weights, scaled to a sum of 1. Raises ConfigError where that cannot be done."""
    check_needs(needs)
    # Through the greatest one, because the sum of very great weights is infinite.
    greatest = max(one.weight for one in needs)
    shares = [one.weight / greatest for one in needs]
    total = math.fsum(shares)
    return [share / total for share in shares]


def rate(needs: Sequence[Need], measured: Mapping[str, ProbeAnswer]) -> Score:
    """The score of a machine of which this was measured; a probe that says nothing or nonsense counts 0."""
    parts: list[ScorePart] = []
    reasons: dict[str, str] = {}
    for one, weight in zip(needs, normalised(needs), strict=True):
        found = measured.get(one.probe) or ProbeAnswer(failure="not measured yet")
        failure, available = found.failure, found.available
        if available is not None and math.isnan(available):
            failure, available = failure or "it measured no number (NaN)", None
        value = 0.0 if failure else satisfaction(available, one.need)
        parts.append(ScorePart(one.probe, available, one.need, weight, value))
        if failure or found.note:
            reasons[one.probe] = failure or found.note
    # From what is missing, so that nothing missing is exactly 1 however the weights were rounded.
    missing = math.fsum(part.weight * (1.0 - part.value) for part in parts)
    return Score(min(1.0, max(0.0, 1.0 - missing)), tuple(parts), reasons)
