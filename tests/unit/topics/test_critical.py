"""Critical topics: which these are, where they live, for ever, and what of a pattern concerns them."""

from __future__ import annotations

import pytest

from causeway.topics import items_of, parse_pattern
from causeway.topics.critical import (
    WAYS,
    critical_item,
    critical_items,
    critical_part,
    is_critical,
    is_second_way,
    other_way,
    quiet,
)
from causeway.topics.items import ALL_ITEMS, is_item, item_of
from causeway.types import half_of, key_of


@pytest.mark.parametrize(("topic", "expected"), [("critical", True), ("critical/a", True), ("criticality/a", False)])
def test_the_first_level_decides(topic: str, expected: bool) -> None:
    assert is_critical(topic) == expected
    assert (item_of(topic) in WAYS[0]) == expected


def test_topics_stay_where_they_are() -> None:
    assert item_of("critical/fire/north") == "causeway/topics/critical/11/0"
    assert critical_item("critical/fire/south", 1) == "causeway/topics/critical/11/1"
    assert item_of("critical") == "causeway/topics/critical/05/0"


def test_ways_lie_well_inside_of_their_halves_of_the_ring() -> None:
    for zero, one in zip(*WAYS, strict=True):
        assert other_way(zero) == one
        assert other_way(one) == zero
        assert key_of(one) == bytes([key_of(zero)[0] ^ 0x80]) + key_of(zero)[1:]
        assert 0x20 <= key_of(zero)[0] < 0x60
        assert is_item(zero)
        assert is_second_way(one)
        assert not is_second_way(zero)
    assert other_way(ALL_ITEMS[0]) is None


@pytest.mark.parametrize(
    ("pattern", "part", "count"),
    [
        ("critical", "critical", 1),
        ("critical/#", "critical/#", 16),
        ("critical/*/north", "critical/*/north", 16),
        ("critical/fire/#", "critical/fire/#", 1),
        ("*/fire", "critical/fire", 1),
        ("*", "critical", 1),
        ("#", "critical/#", 16),
        ("kind=speed, #", "critical/#/kind=speed/#", 16),
    ],
)
def test_what_of_a_pattern_is_critical(pattern: str, part: str, count: int) -> None:
    path = parse_pattern(pattern)
    assert critical_part(path) == part
    assert [len(critical_items(part, way)) for way in (0, 1)] == [count, count]
    assert set(items_of(path)) >= set(critical_items(part, 0))


@pytest.mark.parametrize(
    "pattern", ["roads/#", "road=*", "roads", "#/" + "/#/".join(f"t{n}=1" for n in range(16)) + "/#"]
)
def test_patterns_without_critical_topics(pattern: str) -> None:
    assert critical_part(pattern) is None


def test_a_quiet_pattern_matches_no_topic() -> None:
    assert quiet("critical/#") == "~critical/#"


def test_a_twin_lies_opposite() -> None:
    for name in ("sub/app/board", "app/1~0123456789abcdef"):
        assert half_of(key_of(name)) != half_of(key_of(f"twin/{name}"))
        assert key_of(name)[1:] == key_of(f"twin/{name}")[1:]
