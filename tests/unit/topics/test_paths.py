"""Canonical forms as a broker checks them: what comes may be hostile."""

from __future__ import annotations

import pytest

from causeway.errors import ConfigError, TopicError
from causeway.topics.paths import Use, check_path, check_pattern_path, check_topic_path, is_wild


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "roads/a1/speed",
        "é/类型",
        "a b/c",
        "kind=speed/road=a1",
        "x,y/c++",
        "+49/a>b/>>/a.b>",
        "~app:00ff/1",
        "/".join("x" * 16),
        "x" * 255,
    ],
)
def test_sound_topics_are_returned(path: str) -> None:
    assert check_topic_path("topic", path) == path
    assert check_path("topic", path, Use.TOPIC) == path
    assert check_pattern_path("pattern", path) == path


@pytest.mark.parametrize(
    ("path", "column"),
    [
        ("", 1),
        ("/", 1),
        ("a/", 3),
        ("a//b", 3),
        ("a/*", 3),
        ("a/b#", 4),
        ("a\x00", 2),
        ("a/b\n", 4),
        ("a/\u2028", 3),
        ("\ud800", 1),
        ("a~", 2),
        ("a/~b", 3),
        ("~~", 2),
        (" a", 1),
        ("a /b", 2),
        ("a/b ", 4),
        ("+", 1),
        ("a/+/b", 3),
        (">", 1),
        ("a/>", 3),
        ("a.b.>", 5),
        ("a.>/b", 3),
        ("$share/g/roads", 1),
        ("$SYS/brokers", 1),
        ("/".join("x" * 17), 33),
        ("x" * 256, 256),
        ("é" * 128, 128),
    ],
    ids=ascii,
)
def test_unsound_topics_are_refused_with_their_column(path: str, column: int) -> None:
    with pytest.raises(TopicError, match=rf"^dest: column {column}: found ") as caught:
        check_topic_path("dest", path)
    assert caught.value.column == column
    assert isinstance(caught.value, ConfigError)


@pytest.mark.parametrize(("pattern", "remedy"), [("$share/g/roads/#", "shared=True"), ("$SYS/#", "status")])
def test_what_mqtt_means_by_its_first_levels_is_said_in_our_words(pattern: str, remedy: str) -> None:
    with pytest.raises(TopicError, match=remedy):
        check_path("pattern", pattern, Use.WRITTEN_PATTERN)


@pytest.mark.parametrize("topic", ["roads/+/x", "roads/>"])
def test_wildcard_of_others_in_a_topic_does_not_invite_to_write_ours(topic: str) -> None:
    with pytest.raises(TopicError, match="expected a topic without one"):
        check_topic_path("topic", topic)


@pytest.mark.parametrize(
    "path", ["#", "*", "*/#", "a/*/#", "#/a", "#/k=1/#/r=*/#", "k=*/x", "~a/#", "/".join("*" * 33), f"{'x' * 508}/#"]
)
def test_canonical_patterns_have_wildcards_everywhere(path: str) -> None:
    assert check_pattern_path("pattern", path) == path


@pytest.mark.parametrize(
    ("path", "column"),
    [
        ("", 1),
        ("#/#", 1),
        ("a/#/*", 3),
        ("a*", 2),
        ("*=*", 1),
        ("1=*", 3),
        ("k=*x", 3),
        ("k=#", 3),
        ("#/", 3),
        ("a/b~", 4),
        ("a/+/b", 3),
        ("*/>", 3),
        ("a.*.>", 3),
        ("/".join("x" * 34), 67),
        ("x" * 511, 511),
    ],
)
def test_unsound_patterns_are_refused_with_their_column(path: str, column: int) -> None:
    with pytest.raises(TopicError) as caught:
        check_pattern_path("pattern", path)
    assert caught.value.column == column


def test_written_patterns_may_have_all_levels_and_an_open_end() -> None:
    widest = "/".join("x" * 16) + "/#"
    assert check_path("pattern", widest, Use.WRITTEN_PATTERN) == widest
    with pytest.raises(TopicError, match="at most 16 levels"):
        check_path("pattern", "/".join("*" * 17), Use.WRITTEN_PATTERN)


def test_errors_stay_short_whatever_was_sent() -> None:
    with pytest.raises(TopicError) as caught:
        check_pattern_path("pattern", "x" * 400 + "*")
    assert len(str(caught.value)) < 200


def test_wild_levels() -> None:
    assert [level for level in ("*", "#", "k=*", "k=1", "a") if is_wild(level)] == ["*", "#", "k=*"]
