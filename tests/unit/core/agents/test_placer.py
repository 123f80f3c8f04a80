"""When a landmark has its items placed anew, and from which figures."""

from __future__ import annotations

import pytest

from causeway.core.agents.holdings import HoldingsKnown
from causeway.core.agents.placer import EMPTY_WINDOWS, PATIENCE_WINDOWS, WINDOWS_BETWEEN, WINDOWS_MIN, Placer
from causeway.core.agents.rows import Roll
from causeway.core.messages import Holding, Holdings, ItemRates, SeatHolder
from causeway.core.placing import NOBODY, PlannedItems, PlanRequest
from causeway.topics import ALL_ITEMS
from causeway.types import SECOND, key_of
from tests.unit.core.agents.domain import card_of, id_of

A, B = ALL_ITEMS[:2]


class Hill:
    """Three seats, b1 to b3; b1 owns item A with a copy at b2, b2 owns B with copies at b4 (a spare) and b3."""

    def __init__(self) -> None:
        self.now = 100 * SECOND
        self.placer = Placer(SECOND)
        self.placer.start(self.now)
        self.roll, self.holdings = Roll(), HoldingsKnown()
        for name in ("b1", "b2", "b3", "b4"):
            self.roll.agents[id_of(name)] = card_of(name, spare=name == "b4", capacity=100)
            if name != "b4":
                self.roll.seats[name] = SeatHolder(name, id_of(name), 1)
        self.hold(A, "b1", "b2")
        self.hold(B, "b2", "b4", "b3")
        self.failed: set[bytes] = set()

    def hold(self, item: str, *members: str) -> None:
        holders = tuple(map(id_of, members))
        held = Holding(key_of(item), item, 2, holders[0], holders)
        self.holdings.report(Holdings("d", holders[0], 1, (held,)))

    def pass_windows(self, count: int = 1, a: int = 10, b: int = 20) -> list[PlanRequest]:
        """What is asked for while so much is published."""
        found = []
        for _ in range(count):
            self.placer.report(ItemRates("d", id_of("b1"), SECOND, ((A, a), (B, b))))
            self.now += SECOND
            request = self.placer.look(self.now, self.roll, self.holdings, self.failed.__contains__)
            if request is not None:
                found.append(request)
        return found

    def adopt(self, request: PlanRequest, mirrors: tuple[int, ...] = (1, 0)) -> None:
        plan = PlannedItems(
            items=request.items, brokers=request.brokers, owners=(0, 1), mirrors=mirrors, version="v", feasible=True
        )
        self.roll.policy, self.roll.policy_version = plan, 3
        self.placer.answered()


def test_first_plan_is_asked_for_when_there_are_samples_enough() -> None:
    hill = Hill()
    assert not hill.pass_windows(WINDOWS_MIN - 1)
    (request,) = hill.pass_windows(1)
    assert request == PlanRequest(
        items=(A, B),
        brokers=("b1", "b2", "b3"),
        capacities=(100, 100, 100),
        samples=((10, 20),) * WINDOWS_MIN,
        owners=(0, 1),
        mirrors=(1, 2),
    )


def test_nothing_is_asked_for_before_the_window_ends() -> None:
    hill = Hill()
    assert hill.placer.look(hill.now + SECOND - 1, hill.roll, hill.holdings, hill.failed.__contains__) is None
    assert len(hill.placer.load) == 0


def test_plan_that_never_comes_is_asked_for_again() -> None:
    hill = Hill()
    assert len(hill.pass_windows(WINDOWS_MIN)) == 1
    assert not hill.pass_windows(PATIENCE_WINDOWS - 1)
    assert len(hill.pass_windows(1)) == 1


def test_same_load_is_not_planned_again() -> None:
    hill = Hill()
    (request,) = hill.pass_windows(WINDOWS_MIN)
    hill.adopt(request)
    assert not hill.pass_windows(5 * WINDOWS_BETWEEN)


@pytest.mark.parametrize("what", ["load", "capacity", "seat", "item"])
def test_what_has_changed_is_planned_again_after_a_while(what: str) -> None:
    hill = Hill()
    (request,) = hill.pass_windows(WINDOWS_MIN)
    hill.adopt(request)
    rate = 10
    if what == "load":
        rate = 100
    elif what == "capacity":
        hill.roll.agents[id_of("b3")] = card_of("b3", capacity=300)
    elif what == "seat":
        hill.roll.seats["b4"] = SeatHolder("b4", id_of("b4"), 9)
    else:
        hill.hold(ALL_ITEMS[5], "b3", "b1")
    assert not hill.pass_windows(WINDOWS_BETWEEN - 1, a=rate)
    assert len(hill.pass_windows(WINDOWS_BETWEEN, a=rate)) == 1


def test_seat_that_stays_empty_is_planned_without_and_again_with_when_it_is_filled() -> None:
    hill = Hill()
    (request,) = hill.pass_windows(WINDOWS_MIN)
    hill.adopt(request)
    hill.pass_windows(WINDOWS_BETWEEN)
    hill.failed.add(id_of("b3"))
    assert not hill.pass_windows(EMPTY_WINDOWS - 1)
    (request,) = hill.pass_windows(1)
    assert (request.brokers, request.mirrors) == (("b1", "b2"), (1, NOBODY))
    hill.adopt(request)
    assert not hill.pass_windows(2 * WINDOWS_BETWEEN), "once"
    hill.failed.clear()
    (request,) = hill.pass_windows(1)
    assert request.brokers == ("b1", "b2", "b3")


def test_nothing_is_planned_while_a_seat_is_empty_or_nothing_is_published() -> None:
    hill = Hill()
    hill.failed.add(id_of("b3"))
    assert not hill.pass_windows(EMPTY_WINDOWS - 1)
    hill.failed.clear()
    assert len(hill.pass_windows(1)) == 1
    quiet = Hill()
    assert not quiet.pass_windows(3 * WINDOWS_MIN, a=0, b=0)


def test_mirror_that_the_policy_named_stays_the_mirror() -> None:
    hill = Hill()
    hill.hold(A, "b1", "b2", "b3")
    (request,) = hill.pass_windows(WINDOWS_MIN)
    assert request.mirrors[0] == 1
    hill.adopt(request, mirrors=(2, NOBODY))
    (request,) = hill.pass_windows(2 * WINDOWS_BETWEEN, a=500)
    assert request.mirrors == (2, 2)


def test_seat_that_is_at_home_elsewhere_is_given_nothing() -> None:
    hill = Hill()
    hill.roll.seats["b2"] = SeatHolder("b2", id_of("b2"), 1, home=False)
    (request,) = hill.pass_windows(WINDOWS_MIN)
    assert (request.items, request.brokers) == ((A, B), ("b1", "b3"))
    assert (request.owners, request.mirrors) == ((0, NOBODY), (NOBODY, 1))
