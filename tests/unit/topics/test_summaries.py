"""What a summary keeps; tests/property shows that it never misses anything."""

from __future__ import annotations

import pytest

from causeway.topics.limits import TOPIC_SUMMARY_COMPARED_MAX
from causeway.topics.summaries import covers, summarise


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("#", "a/b"),
        ("#", "#/k=1/#"),
        ("a/#", "a"),
        ("a/#", "a/*/#"),
        ("a/*", "a/b"),
        ("a/*", "a/k=*"),
        ("k=*", "k=1"),
        ("*/#", "#"),
        ("#/*", "*/#"),
        ("#/k=1/#", "#/k=1/#/t=1/#"),
        ("/".join("x" * 16), "/".join("x" * 16) + "/#"),
    ],
)
def test_covers(general: str, special: str) -> None:
    assert covers(general, special)


@pytest.mark.parametrize(
    ("general", "special"),
    [
        ("a", "#"),
        ("a", "*"),
        ("a/*", "a/#"),
        ("a/*/#", "a/#"),
        ("k=1", "k=*"),
        ("k=*", "*"),
        ("*", "*/*"),
        ("a/#", "#/a"),
    ],
)
def test_does_not_cover(general: str, special: str) -> None:
    assert not covers(general, special)


def test_patterns_that_others_cover_are_left_out() -> None:
    assert summarise(["a/b", "a/*", "b", "a/b/c", "b"], 10) == ("a/*", "a/b/c", "b")


def test_without_patterns_there_is_nothing_to_want() -> None:
    assert summarise([], 4) == ()


def test_the_largest_groups_are_opened_first_and_loners_stay() -> None:
    users = [f"users/{number}/inbox" for number in range(50)]
    assert summarise([*users, "a/b", "b/c/d/e/f"], 4) == ("a/b", "b/c/d/e/f", "users/#")


def test_deeper_levels_are_opened_before_others() -> None:
    patterns = [f"{first}/{second}/{third}" for first in "ab" for second in "cd" for third in "ef"]
    assert summarise(patterns, 4) == ("a/c/#", "a/d/#", "b/c/#", "b/d/#")
    assert summarise(patterns, 3) == ("a/#", "b/c/#", "b/d/#")
    assert summarise(patterns, 2) == ("a/#", "b/#")


@pytest.mark.parametrize("limit", [0, 1])
def test_at_worst_everything_is_wanted(limit: int) -> None:
    assert summarise(["a", "b"], limit) == ("#",)
    assert summarise(["a/#"], limit) == ("a/#",)


def test_very_many_patterns_are_cut_before_they_are_compared() -> None:
    patterns = [f"users/{number}" for number in range(TOPIC_SUMMARY_COMPARED_MAX + 1)]
    assert summarise([*patterns, "a"], 100) == ("a", "users/#")


def test_open_patterns_keep_their_first_tags() -> None:
    patterns = [f"#/kind=speed/#/road=a{number}/#" for number in range(9)]
    assert summarise([*patterns, "a"], 2) == ("#/kind=speed/#", "a")
