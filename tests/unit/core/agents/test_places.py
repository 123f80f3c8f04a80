"""Looking up who should hold an item, in the moment of failure."""

from __future__ import annotations

import pytest

from causeway.core.agents.places import ItemPlaces
from causeway.core.placing import NOBODY, FailureCase, PlannedItems
from causeway.topics import ALL_ITEMS

SEATS = ("a", "b", "c", "d")
PLAN = PlannedItems(
    items=ALL_ITEMS[:2],
    brokers=SEATS,
    owners=(0, 1),
    mirrors=(1, NOBODY),
    cases=(FailureCase((0,), ((0, 1, 2),)), FailureCase((0, 1), ((0, 2, 3), (1, 3, 2)))),
    risks=(0, 0, 0, 0),
    version="v",
    feasible=True,
)


@pytest.mark.parametrize(
    ("item", "broken", "seats"),
    [
        (0, "", ["a", "b"]),
        (1, "", ["b"]),
        (0, "a", ["b", "c"]),
        (1, "a", ["b"]),
        (0, "ab", ["c", "d"]),
        (1, "ab", ["d", "c"]),
        (0, "b", ["a"]),
        (0, "abc", []),
        (0, "acd", ["b"]),
        (7, "", []),
    ],
)
def test_seats_for_an_item_while_some_are_broken(item: int, broken: str, seats: list[str]) -> None:
    places = ItemPlaces()
    assert places.seats_of(ALL_ITEMS[item], lambda seat: seat in broken) == []
    assert places.learn(3, PLAN)
    assert places.seats_of(ALL_ITEMS[item], lambda seat: seat in broken) == seats


def test_only_a_later_policy_is_learned() -> None:
    places = ItemPlaces()
    assert places.learn(3, PLAN)
    assert not places.learn(3, PLAN)
    assert not places.learn(2, PLAN)
    assert places.version == 3
