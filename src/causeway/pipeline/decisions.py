"""Whether a policy that was computed is proposed to the brokers, and why.

A policy is proposed if it keeps the threshold and is no riskier than what is in force. Anything else needs somebody who
names the domain. Owns: these rules. Must not know: how risks were computed, how a policy is proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

ADOPT: Final = "adopt"
KEEP: Final = "keep"
"""What is in force is what would be proposed."""
REFUSE: Final = "refuse"

SAME: Final = 1e-6
"""Risks that differ by less are the same: landmarks count in parts per million."""


class PolicyDecision(msgspec.Struct, frozen=True):
    """What is to be done with a policy."""

    action: str
    """`ADOPT`, `KEEP` or `REFUSE`."""
    why: str


def decide(
    present: Sequence[float], proposed: Sequence[float], threshold: float, *, changes: int, forced: bool = False
) -> PolicyDecision:
    """What to do with a policy.

    Risks are the largest of any broker, by number of failed brokers, with none failed first; there are no present ones
    if something has no owner. `changes` are the items that would have another owner or mirror.
    """
    objection = _objection(present, proposed, threshold)
    if not changes:
        return PolicyDecision(KEEP, "every item is where the policy wants it")
    if objection and not forced:
        return PolicyDecision(REFUSE, objection)
    if objection:
        return PolicyDecision(ADOPT, f"forced, although {objection}")
    if not present:
        return PolicyDecision(ADOPT, "items have no owner yet")
    return PolicyDecision(ADOPT, f"it is feasible; the largest risk goes from {present[0]:.6f} to {proposed[0]:.6f}")


def _objection(present: Sequence[float], proposed: Sequence[float], threshold: float) -> str:
    if proposed[0] >= threshold:
        return f"it is infeasible: a broker's risk would be {proposed[0]:.6f}, not below the threshold of {threshold:g}"
    for failures, (now, then) in enumerate(zip(present, proposed, strict=False)):
        if abs(then - now) > SAME:  # the first number of failures with a difference decides
            state = f"with {failures} failed" if failures else "with all brokers up"
            return f"it is riskier than what is in force: {then:.6f}, not {now:.6f}, {state}" if then > now else ""
    return ""
