"""Policies for items that others have computed, from more than a landmark remembers: what is wrong with one.

Owns: when a proposal fits the domain as it is. Must not know: who computes, how a policy is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from causeway.core.placing import PlannedItems


class Asker(NamedTuple):
    """The client that proposed something, and what it calls its question."""

    conn: int
    token: int


def proposal_fault(plan: PlannedItems, items: Sequence[str], seats: Sequence[str]) -> str | None:
    """Why a policy is not one for these items and seats, as they are now."""
    return _difference("items", plan.items, items) or _difference("brokers", plan.brokers, seats)


def _difference(field: str, given: Sequence[str], known: Sequence[str]) -> str | None:
    if len(set(given)) != len(given):
        return f"{field}: something is named twice"
    unknown, left = sorted({*given} - {*known}), sorted({*known} - {*given})
    if unknown:
        return f"{field}: {unknown[0]!r} is none of the domain; compute it anew from what is there"
    if left:
        return f"{field}: {left[0]!r} is missing; compute it anew from what is there"
    return None
