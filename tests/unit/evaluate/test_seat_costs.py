"""What is counted, on networks small enough to count by hand."""

from __future__ import annotations

import gc
import weakref

import pytest

from causeway.evaluate.seat_costs import (
    BROADCAST,
    PING,
    PING_ALL,
    UNICAST,
    CostCase,
    SeatCost,
    lay_out,
    measure,
    warm_up_for,
)


def cost(layout: str, traffic: str, seats: int, half: int = 10) -> SeatCost:
    return measure(CostCase(layout, traffic, seats, 3, warm_up_for(layout, traffic, seats, half), half))


def test_ping_pong_of_two_costs_the_same_among_any_number() -> None:
    few, many = cost("flat", PING, 4), cost("flat", PING, 40)
    assert (few.hops, few.cells, few.deliveries, few.agreement) == (2, 0, 2, 0)
    assert few.operations == many.operations


def test_ping_pong_with_all_tells_everybody_of_every_answer() -> None:
    found = cost("flat", PING_ALL, 6)
    assert found.hops == 5 + 5
    assert found.deliveries == 6 + 5
    # A question to each of 5 names the 4 others' answers and the 4 other questions, less what that one said itself.
    assert found.cells == 5 * (4 + 4)


@pytest.mark.parametrize(("layout", "seats", "hops"), [("flat", 9, 8), ("bus", 9, 8), ("tree", 33, 32)])
def test_broadcast_reaches_every_seat_by_one_stamp(layout: str, seats: int, hops: int) -> None:
    found = cost(layout, BROADCAST, seats)
    assert (found.hops, found.deliveries) == (hops, seats)


@pytest.mark.parametrize(
    ("layout", "seats", "depth", "formula"),
    [("flat", 10, 0, 100), ("bus", 16, 1, 48), ("daisy", 16, 2, 125), ("tree", 33, 1, 243), ("tree", 9, 0, 81)],
)
def test_formula_is_that_of_the_paper(layout: str, seats: int, depth: int, formula: int) -> None:
    found = cost(layout, UNICAST, seats)
    assert (found.depth, found.formula) == (depth, formula)
    assert found.deliveries == 1
    assert 1 <= found.hops <= 2 * depth + 1


def test_tree_of_another_size_than_its_formula_gives_is_refused() -> None:
    with pytest.raises(AssertionError, match="105 seats, not 50"):
        lay_out("tree", 50)


class Cycle:
    """Rubbish that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


def test_measuring_does_not_look_through_what_was_there_before() -> None:
    """In a large process that took longer than the case itself."""
    gc.disable()
    try:
        earlier = weakref.ref(Cycle())
        cost("flat", PING, 4)
        assert earlier() is not None
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
    gc.collect()
    assert earlier() is None
