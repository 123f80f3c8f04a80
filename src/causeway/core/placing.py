"""The question of which broker should own and mirror which item, and its answer, as plain numbers.

A landmark asks and reads; `causeway.placement.live` answers. These values are all that both know of each other, so that
nothing here loads what computes with arrays. Brokers and items are named once in each; everywhere else they
are places in those lists, and -1 is nobody. Rates are whole messages per second, risks parts per million.

Owns: what question and answer say. Must not know: how rates were measured, how the answer is found.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

NOBODY: Final = -1
"""The broker of what is not placed, and the owner or mirror that is not there."""
THRESHOLD_USUAL: Final = 50
"""Thousandths: a broker that is overloaded in one second of twenty, at peak, is one too many."""

ItemPlace: TypeAlias = tuple[int, int, int]
"""Item, owner and mirror."""


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be placed, on whom, and how it is placed at present."""

    items: tuple[str, ...]
    brokers: tuple[str, ...]
    capacities: tuple[int, ...]
    """By broker; 0: not known, then the mean of those that are."""
    samples: tuple[tuple[int, ...], ...]
    """By window, the rate of every item."""
    owners: tuple[int, ...]
    """By item."""
    mirrors: tuple[int, ...]
    threshold: int = THRESHOLD_USUAL
    """Thousandths that every broker's risk should stay below."""
    seed: int = 0


class FailureCase(msgspec.Struct, frozen=True, array_like=True):
    """What changes, against all brokers up, when some are broken."""

    broken: tuple[int, ...]
    changed: tuple[ItemPlace, ...]


class Spared(msgspec.Struct, frozen=True, array_like=True):
    """Brokers that could be switched off at this load, and what changes then."""

    brokers: tuple[int, ...] = ()
    changed: tuple[ItemPlace, ...] = ()


class PlannedItems(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A placement, how risky it is, and what to do in every foreseeable state."""

    items: tuple[str, ...]
    brokers: tuple[str, ...]
    """As in the question."""
    owners: tuple[int, ...]
    """By item."""
    mirrors: tuple[int, ...]
    version: str
    """A hash of the numbers: the same version means the same owners, mirrors and cases."""
    feasible: bool
    """Whether every risk is below the threshold. If not, this is the least risky placement that was found."""
    risks: tuple[int, ...] = ()
    """By broker, with all brokers up."""
    risks_after: tuple[tuple[int, ...], ...] = ()
    """By broker that fails, the risks of all brokers once mirrors have taken over."""
    present_risk: int = 0
    """The largest risk with the present placement. What has no owner counts for nobody."""
    present_risk_after: int = 0
    """The largest one after one failure with the present placement."""
    cases: tuple[FailureCase, ...] = ()
    """All single and double failures that leave a broker; what is not changed in one stays as it is."""
    spared: Spared = Spared()

    @property
    def risk(self) -> int:
        """The largest, with all brokers up."""
        return max(self.risks, default=0)
