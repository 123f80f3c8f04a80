"""Every kind comes back as it went; what does not fit, is unknown or needs an opt-in is a typed error."""

from __future__ import annotations

import pickle

import pytest

from causeway import kinds
from causeway.errors import MessageFormatError

CONTENTS = [
    ("text", "größe"),
    ("text", ""),
    ("bytes", b"\x00\xff"),
    ("map", {"a": True, "b": -(1 << 63), "c": 0.1, "d": "x", "e": b"y", "f": None}),
    ("map", {}),
    ("stream", [1, "two", 3.0, False, None, b"six"]),
    ("stream", []),
]


@pytest.mark.parametrize(("kind", "content"), CONTENTS, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(CONTENTS)])
def test_content_comes_back_as_its_kind(kind: str, content: object) -> None:
    found, payload = kinds.encode(content)
    assert found == kind
    back = kinds.decode(kind, payload)
    assert back == content
    assert repr(back) == repr(content), "True is not 1, nor 1 1.0"


def test_object_comes_back_where_both_ends_asked_for_it() -> None:
    kind, payload = kinds.encode({1: {2}}, "object", objects=True)
    assert kinds.decode(kind, payload, objects=True) == {1: {2}}


class Bomb:
    """Says when it is unpickled."""

    exploded: list[str] = []

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return self.exploded.append, ("boom",)


def test_object_is_not_even_looked_at_without_opt_in() -> None:
    with pytest.raises(MessageFormatError, match="objects=True"):
        kinds.encode(1, "object")
    with pytest.raises(MessageFormatError, match="objects=True"):
        kinds.decode("object", pickle.dumps(Bomb()))
    assert Bomb.exploded == []


def test_object_that_cannot_be_read_is_a_typed_error() -> None:
    with pytest.raises(MessageFormatError, match="cannot be read"):
        kinds.decode("object", b"no pickle", objects=True)
    with pytest.raises(MessageFormatError, match="object"):
        kinds.encode(lambda: 1, "object", objects=True)


@pytest.mark.parametrize("kind", ["picture", "", None, 7, b"text"], ids=repr)
def test_unknown_kind_is_a_typed_error_that_names_the_known_ones(kind: object) -> None:
    with pytest.raises(MessageFormatError, match="text, bytes, map, stream, object"):
        kinds.decode(kind, b"")


@pytest.mark.parametrize(
    ("content", "kind", "says"),
    [
        (object(), None, "object"),
        ({1, 2}, None, "set"),
        (b"x", "text", "text"),
        ("x", "map", "map"),
        ({"a": 1}, "stream", "stream"),
        ({1: 2}, None, "name 1"),
        ({"a": [1]}, None, "a: list"),
        ({"a": 1 << 63}, None, "64 bits"),
        ([{}], None, "value 0"),
        ("\ud800", None, "text"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_content_that_does_not_fit_is_refused(content: object, kind: str | None, says: str) -> None:
    with pytest.raises(MessageFormatError, match=says):
        kinds.encode(content, kind)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("text", b"\xff"),
        ("map", b""),
        ("map", b"\x93\x01\x02\x03"),
        ("map", b"\x81\xa1a\x90"),
        ("map", b"\x81\x01\x01"),
        ("stream", b"\x91" * 100_000),
        ("stream", b"\x91\x80"),
    ],
    ids=["no-utf8", "empty", "array", "nested", "int-name", "deep", "map-inside"],
)
def test_hostile_body_is_a_typed_error(kind: str, payload: bytes) -> None:
    with pytest.raises(MessageFormatError, match=kind):
        kinds.decode(kind, payload)
