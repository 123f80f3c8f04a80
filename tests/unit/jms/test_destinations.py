"""Destinations are what their names say."""

from __future__ import annotations

import pytest

from causeway.jms import InvalidDestinationException, Queue, TemporaryQueue, Topic


def test_destinations_are_equal_by_kind_and_name() -> None:
    ended: list[str] = []
    temporary = TemporaryQueue("a", lambda: ended.append("a"))
    assert Queue("a") == Queue("a") == temporary
    assert hash(Queue("a")) == hash(temporary)
    assert Queue("a") != Topic("a")
    assert Queue("a") != "a"
    assert (str(Queue("a")), repr(Topic("b"))) == ("a", "Topic('b')")
    temporary.delete()
    assert ended == ["a"]


@pytest.mark.parametrize("name", ["", None, 7], ids=repr)
def test_destination_needs_a_name(name: object) -> None:
    with pytest.raises(InvalidDestinationException, match="topic"):
        Topic(name)  # type: ignore[arg-type]
