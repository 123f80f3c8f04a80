"""When a landmark has the places of its items computed anew, and from which figures.

Owns: the samples, and what the present policy was computed from. Must not know: how it is computed (the driver does,
beside everything else), how a policy is written and told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from causeway.core.agents.holdings import HoldingsKnown
from causeway.core.agents.load import ItemLoad
from causeway.core.agents.rows import Roll
from causeway.core.messages import Holding, ItemRates
from causeway.core.placing import NOBODY, PlannedItems, PlanRequest
from causeway.types import BrokerId, Duration, Instant

WINDOWS_MIN: Final = 3
"""Samples before the first plan: what is joint in fewer is chance."""

WINDOWS_BETWEEN: Final = 6
"""Windows from one plan to the next, also if the load never rests: each may move items."""

PATIENCE_WINDOWS: Final = 12
"""So long a plan is waited for before it is asked for again: whoever computes it may have failed."""

EMPTY_WINDOWS: Final = 6
"""So long a seat stays empty before items are planned for those that are left: until then the cases of the present
policy serve, and a spare or the broker itself may come."""

MOVED_PERCENT: Final = 20
"""The load has changed when so much of it is elsewhere than it was, and a capacity when it differs by so much."""


class Placer:
    """One domain's items, while we are its landmark."""

    def __init__(self, every: Duration) -> None:
        self._every = every
        self.load = ItemLoad()
        self.due: Instant = 0
        """When the present window ends."""
        self._wait = 0
        """Windows until the next plan may be asked for."""
        self._adopted = False
        """The present policy was computed elsewhere: what we measure next is what it was computed from."""
        self._empty = 0
        """Windows for which there has been an empty seat."""
        self._rates: dict[str, int] = {}
        self._capacities: dict[str, int] = {}
        """What the last plan was computed from: mean rates by item, capacities by seat."""

    def start(self, now: Instant) -> None:
        """The first window begins."""
        self.due = now + self._every

    def report(self, head: ItemRates) -> None:
        """What an owner has counted."""
        self.load.report(head.counts, head.span)

    def look(
        self, now: Instant, roll: Roll, holdings: HoldingsKnown, has_failed: Callable[[BrokerId], bool]
    ) -> PlanRequest | None:
        """Close the window if it is over; what is to be planned then, if anything."""
        if now < self.due:
            return None
        self.due = now + self._every
        self.load.close_window()
        self._wait -= 1
        self._empty = self._empty + 1 if any(has_failed(seat.holder) for seat in roll.seats.values()) else 0
        if self._wait > 0 or len(self.load) < WINDOWS_MIN or 0 < self._empty < EMPTY_WINDOWS:
            return None
        request = self._request(roll, holdings, has_failed)
        if not request.items or not any(map(any, request.samples)):
            return None
        rates = dict(zip(request.items, self.load.means(request.items), strict=True))
        capacities = dict(zip(request.brokers, request.capacities, strict=True))
        if self._adopted:
            self._adopted = False
            self._rates, self._capacities = rates, capacities
            return None
        if (
            roll.policy is not None
            and (roll.policy.items, roll.policy.brokers) == (request.items, request.brokers)
            and not _differ(self._rates, rates)
            and not _differ(self._capacities, capacities)
        ):
            return None
        self._rates, self._capacities = rates, capacities
        self._wait = PATIENCE_WINDOWS
        return request

    def answered(self) -> None:
        """The plan is there."""
        self._wait = WINDOWS_BETWEEN

    def adopted(self) -> None:
        """A policy came from elsewhere: it is kept until the load is not what it is now."""
        self._adopted = True
        self._wait = WINDOWS_BETWEEN

    def items(self, roll: Roll, holdings: HoldingsKnown) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What there is to place, and on which seats."""
        return tuple(one.name for one in _held(roll, holdings)), tuple(_holders(roll, lambda broker: False).values())

    def statistics(self, roll: Roll, holdings: HoldingsKnown) -> dict[str, object]:
        """What a plan would be computed from now: `causeway plan placement` does."""
        request = self._request(roll, holdings, lambda broker: False)
        names = {NOBODY: "", **dict(enumerate(request.brokers))}
        return {
            "brokers": dict(zip(request.brokers, request.capacities, strict=True)),
            "items": list(request.items),
            "owners": [names[at] for at in request.owners],
            "mirrors": [names[at] for at in request.mirrors],
            "samples": request.samples,
            "threshold": request.threshold / 1000,
        }

    def _request(self, roll: Roll, holdings: HoldingsKnown, has_failed: Callable[[BrokerId], bool]) -> PlanRequest:
        holders, held = _holders(roll, has_failed), _held(roll, holdings)
        seats = tuple(holders.values())
        items = tuple(one.name for one in held)
        numbers = {"": NOBODY, **{seat: at for at, seat in enumerate(seats)}}
        present = [_present(one, roll.policy, holders) for one in held]
        return PlanRequest(
            items=items,
            brokers=seats,
            capacities=tuple(roll.agents[holder].capacity for holder in holders),
            samples=self.load.samples(items),
            owners=tuple(numbers[owner] for owner, _ in present),
            mirrors=tuple(numbers[mirror] for _, mirror in present),
        )


def _holders(roll: Roll, has_failed: Callable[[BrokerId], bool]) -> dict[BrokerId, str]:
    """The seats that are given items, by who holds them."""
    return {
        seat.holder: seat.seat
        for seat in sorted(roll.seats.values(), key=lambda seat: seat.seat)
        if seat.home and seat.holder in roll.agents and not has_failed(seat.holder)
    }


def _held(roll: Roll, holdings: HoldingsKnown) -> list[Holding]:
    """The items that belong to the domain."""
    return [one for one in holdings.items() if one.owner in roll.agents]


def _differ(was: dict[str, int], now: dict[str, int]) -> bool:
    """Whether so much is elsewhere than it was that it matters."""
    moved = sum(abs(value - was.get(name, 0)) for name, value in now.items())
    return not was or 100 * moved >= MOVED_PERCENT * max(1, sum(was.values()))


def _present(held: Holding, policy: PlannedItems | None, holders: dict[BrokerId, str]) -> tuple[str, str]:
    """The seats of an item's owner and of its mirror, or none; of several copies the one that a policy named counts."""
    copies = [holders[member] for member in held.members if member != held.owner and member in holders]
    named = ""
    if policy is not None and held.name in policy.items:
        at = policy.mirrors[policy.items.index(held.name)]
        named = policy.brokers[at] if at != NOBODY else ""
    mirror = named if named in copies else next(iter(copies), "")
    return holders.get(held.owner, ""), mirror
