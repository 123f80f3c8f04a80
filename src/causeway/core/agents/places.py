"""The policy for a domain's items in an agent's hands: who should hold an item, looked up in the moment of failure.

Owns: the lookup. Must not know: who holds which seat, how a policy comes about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from causeway.core.placing import NOBODY, PlannedItems

BROKEN_MAX: Final = 2
"""Failures at once that a policy answers for; of more, those who are left of the owner and the mirror count."""


class ItemPlaces:
    """The latest policy that we have heard of."""

    def __init__(self) -> None:
        self.version = 0
        self.plan: PlannedItems | None = None
        self._numbers: dict[str, int] = {}
        self._cases: dict[tuple[int, ...], dict[int, tuple[int, int]]] = {}

    def learn(self, version: int, plan: PlannedItems) -> bool:
        """Whether it is later than what we had."""
        if version <= self.version:
            return False
        self.version, self.plan = version, plan
        self._numbers = {item: number for number, item in enumerate(plan.items)}
        self._cases = {
            case.broken: {item: (owner, mirror) for item, owner, mirror in case.changed} for case in plan.cases
        }
        return True

    def statistics(self) -> dict[str, object]:
        """The policy, for people: risks in millionths."""
        plan = self.plan
        if plan is None:
            return {}
        names = {NOBODY: "", **dict(enumerate(plan.brokers))}
        after = plan.risks_after or (plan.risks,)
        return {
            "version": self.version,
            "items": [
                {"item": item, "owner": names[owner], "mirror": names[mirror]}
                for item, owner, mirror in zip(plan.items, plan.owners, plan.mirrors, strict=True)
            ],
            "risks": [
                {"seat": seat, "now": plan.risks[at], "after_one": max(row[at] for row in after)}
                for at, seat in enumerate(plan.brokers)
            ],
            "risk_before": plan.present_risk,
            "feasible": plan.feasible,
            "spared": [names[at] for at in plan.spared.brokers],
        }

    def seats_of(self, item: str, is_broken: Callable[[str], bool]) -> list[str]:
        """The seats that should hold an item while some are broken, the owner's first; none if no policy says."""
        plan, number = self.plan, self._numbers.get(item)
        if plan is None or number is None:
            return []
        broken = tuple(at for at, seat in enumerate(plan.brokers) if is_broken(seat))
        usual = (plan.owners[number], plan.mirrors[number])
        places = self._cases.get(broken, {}).get(number, usual) if len(broken) <= BROKEN_MAX else usual
        return [plan.brokers[at] for at in dict.fromkeys(places) if at != NOBODY and at not in broken]
