"""Pairs of a text in tags, and where each mistake is."""

from __future__ import annotations

import pytest

from causeway.errors import TopicError
from causeway.topics.tags import is_tags, read_tags, write_tags


def test_pairs_keep_their_order_and_lose_spaces() -> None:
    found = read_tags("topic", "\troad = a1 ,\n kind=two words", wildcards=False)
    assert list(found.pairs.items()) == [("road", "a1"), ("kind", "two words")]
    assert not found.open
    assert write_tags(found.pairs) == "road=a1, kind=two words"


def test_patterns_have_any_values_and_an_open_end() -> None:
    found = read_tags("pattern", "road=*, kind=speed , # ", wildcards=True)
    assert found.pairs == {"road": "*", "kind": "speed"}
    assert found.open


@pytest.mark.parametrize("text", ["a=b", " a = b ", "a=b,", "a, b=c", "#, a=b", "a=1/2, b=3", "=", "1=2", "a=b=c"])
def test_what_resembles_tags_is_read_as_tags(text: str) -> None:
    assert is_tags(text)


@pytest.mark.parametrize("text", ["", "a", "a,b", "#", "a/b=c", "a/b=c, d=e", "a=b/c=d", "~a=b", "a/b,c"])
def test_anything_else_is_a_path(text: str) -> None:
    assert not is_tags(text)


@pytest.mark.parametrize(
    ("text", "column", "found"),
    [
        ("a=1,", 5, "the end"),
        ("a=1, ,b=2", 6, "an empty pair"),
        ("=1", 1, "no tag"),
        ("é=1", 1, "'é'"),
        ("a b=1", 1, "'a b'"),
        ("a=", 3, "no value"),
        ("a= , b=1", 3, "no value"),
        ("a=1, b=x\x00", 9, r"'\x00'"),
        ("a=x~", 4, "'~'"),
        ("a=1, a=1", 6, "the tag 'a' again"),
        ("a=1, *", 6, "'*'"),
        ("a=#", 3, "'#' as a value"),
        ("#, #, a=1", 1, "'#' before other tags"),
        (", ".join(f"t{number}=1" for number in range(17)), 103, "tag 17"),
    ],
    ids=ascii,
)
def test_the_leftmost_mistake_is_reported(text: str, column: int, found: str) -> None:
    with pytest.raises(TopicError) as caught:
        read_tags("pattern", text, wildcards=True)
    assert str(caught.value).startswith(f"pattern: column {column}: found {found}, expected ")


@pytest.mark.parametrize(("text", "column"), [("a=*", 3), ("a=1*", 4), ("a=1, #", 6), ("#, a=1", 1), ("a=#", 3)])
def test_names_have_no_wildcards(text: str, column: int) -> None:
    with pytest.raises(TopicError, match=f"column {column}: .*wildcards belong in subscriptions"):
        read_tags("topic", text, wildcards=False)
