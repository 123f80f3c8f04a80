"""Who should be landmark, who votes, and which spare takes which seat: pure choices from what agents say of themselves.

Owns: the order among candidates. Must not know: messages, rows, time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from causeway.core.messages import AgentCard
from causeway.types import MILLISECOND, BrokerId, Duration

VOTERS_MAX = 15
"""Agents that hold the domain's directory and choose its landmark: the most capable of them. Each change is written on
all, and seven of them may fail at once."""

CHANGE_PERCENT = 125
"""So much more capable another agent must be before a landmark that is well gives its place to it."""

NEAR: Duration = 10 * MILLISECOND
"""A mean round trip of so much halves what a spare is worth for a seat."""


def voters(cards: Iterable[AgentCard], landmark: BrokerId) -> list[AgentCard]:
    """Who holds the directory, the landmark first: the present one unless another is clearly more capable."""
    ranked = sorted(cards, key=lambda card: (-card.capability, card.peer.id))
    present = next((card for card in ranked if card.peer.id == landmark), None)
    if present is not None and 100 * ranked[0].capability < CHANGE_PERCENT * present.capability:
        ranked.remove(present)
        ranked.insert(0, present)
    return ranked[:VOTERS_MAX]


def merit(card: AgentCard, trips: Sequence[Duration]) -> int:
    """What a spare is worth for a seat: its fitness, halved at NEAR from the brokers that it would work with."""
    mean = sum(trips) // len(trips) if trips else 0
    return card.fitness * 1000 * NEAR // (NEAR + mean)


def takers(
    seats: Sequence[str], spares: Sequence[AgentCard], trips: Callable[[AgentCard, str], Sequence[Duration]]
) -> dict[str, AgentCard]:
    """Which spare takes which empty seat: the best match first, each spare once; seats beyond the spares stay empty."""
    pairs = sorted(
        ((seat, card) for seat in seats for card in spares),
        key=lambda pair: (-merit(pair[1], trips(pair[1], pair[0])), pair[0], pair[1].peer.id),
    )
    taken: dict[str, AgentCard] = {}
    used: dict[BrokerId, None] = {}
    for seat, card in pairs:
        if seat not in taken and card.peer.id not in used:
            taken[seat] = card
            used[card.peer.id] = None
    return taken
