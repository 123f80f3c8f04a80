"""Entries by pattern; tests/property compares all of it with the obvious."""

from __future__ import annotations

import pytest

from causeway.topics.index import TopicIndex


def index_of(*patterns: str) -> TopicIndex:
    """Each pattern is its own entry."""
    index = TopicIndex()
    for pattern in patterns:
        index.add(pattern, pattern)
    return index


@pytest.mark.parametrize(
    ("pattern", "topic", "expected"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a", False),
        ("a/b", "a/b/c", False),
        ("*", "a", True),
        ("*", "a/b", False),
        ("a/*/c", "a/b/c", True),
        ("a/*", "a", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/#", "ab", False),
        ("#", "a/b", True),
        ("*/#", "a", True),
        ("#/k=1/#/t=1/#", "k=1/t=1", True),
        ("#/k=1/#/t=1/#", "a/k=1/b/c/t=1/d", True),
        ("#/k=1/#/t=1/#", "t=1/k=1", False),
        ("k=*", "k=1", True),
        ("k=*", "kk=1", False),
        ("k=*", "k", False),
        ("#/#/a", "a", True),
    ],
)
def test_a_pattern_matches(pattern: str, topic: str, expected: bool) -> None:
    index = index_of(pattern)
    assert index.match(topic) == [pattern] * expected
    assert index.wants(topic) is expected


def test_an_entry_with_several_patterns_is_found_once() -> None:
    index = TopicIndex()
    for pattern in ("a/b", "a/*", "a/#", "#", "#/b"):
        assert index.add(pattern, "board")
    assert not index.add("a/b", "board")
    assert index.match("a/b") == ["board"]
    assert len(index) == 5


def test_removing_says_whether_it_was_there() -> None:
    index = index_of("a/b", "a/*/c")
    assert not index.remove("a", "a")
    assert not index.remove("a/*", "a/*")
    assert not index.remove("a/b", "other")
    assert not index.remove("x/y", "x/y")
    assert index.remove("a/b", "a/b")
    assert not index.remove("a/b", "a/b")
    assert index.patterns() == ["a/*/c"]


def test_equal_histories_give_equal_results() -> None:
    patterns = ["#", "a/#", "a/*", "*/b", "a/b", "#/b"]
    assert index_of(*patterns).match("a/b") == index_of(*patterns).match("a/b")
    assert sorted(index_of(*patterns).match("a/b")) == sorted(patterns)


def test_many_ways_through_open_patterns_stay_cheap() -> None:
    """Without remembering where it is already, a walk would take a step for each way: millions of them here."""
    index = index_of("/".join(["#", "a"] * 16 + ["b"]))
    assert not index.wants("/".join("a" * 255))


def test_nodes_that_end_nothing_are_gone() -> None:
    index = index_of("a/b/c/d", "a/b")
    index.remove("a/b/c/d", "a/b/c/d")
    node = index._root.child("a")
    assert node is not None
    leaf = node.child("b")
    assert leaf is not None
    assert leaf.levels is None


def test_a_pattern_is_led_to_each_node_once() -> None:
    """Twice per level would be 2 ** 33 times for the widest pattern that a stranger may send."""
    pattern = "k=*/t=*/k=*"
    assert len(index_of(pattern)._walk(pattern)[0]) == 1
