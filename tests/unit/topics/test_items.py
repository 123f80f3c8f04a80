"""Items: where topics are, for ever. A change here would send topics elsewhere than older brokers look."""

from __future__ import annotations

import pytest

from causeway.names import RESERVED_PREFIX
from causeway.topics.critical import WAYS
from causeway.topics.items import (
    ALL_ITEMS,
    ITEM_COUNT,
    ITEM_PREFIX,
    is_item,
    is_ordinary_item,
    item_of,
    items_of,
    ordinary_items,
)


@pytest.mark.parametrize(("first", "number"), [("roads", 4), ("weather", 13), ("kind=speed", 34)])
def test_topics_stay_where_they_are(first: str, number: int) -> None:
    assert item_of(first) == item_of(f"{first}/a1/speed") == f"causeway/topics/{number:02d}"


def test_topics_spread_over_all_items() -> None:
    assert sorted({item_of(f"first{number}") for number in range(1000)}) == list(ALL_ITEMS)
    assert len(ALL_ITEMS) == ITEM_COUNT == 64


@pytest.mark.parametrize("pattern", ["roads", "roads/*", "roads/#", "roads/*/#"])
def test_a_pattern_with_a_first_level_concerns_one_item(pattern: str) -> None:
    assert items_of(pattern) == (item_of("roads"),)


@pytest.mark.parametrize("pattern", ["#", "*", "*/a", "k=*/a", "#/k=1/#"])
def test_a_pattern_that_begins_with_a_wildcard_concerns_all(pattern: str) -> None:
    assert ordinary_items(pattern) == ALL_ITEMS
    assert items_of(pattern)[: len(ALL_ITEMS)] == ALL_ITEMS


def test_items_are_mailboxes_that_nobody_can_name() -> None:
    assert ITEM_PREFIX.startswith(RESERVED_PREFIX)
    assert all(is_item(item) for item in ALL_ITEMS)
    assert not any(is_item(name) for name in ("roads", ITEM_PREFIX, f"{ITEM_PREFIX}64", f"{ITEM_PREFIX}0"))


def test_policy_places_items_but_not_those_of_critical_topics_whose_ways_must_stay_apart() -> None:
    assert all(is_ordinary_item(item) for item in ALL_ITEMS)
    assert not any(is_ordinary_item(item) for way in WAYS for item in way)
    assert not is_ordinary_item("orders")
