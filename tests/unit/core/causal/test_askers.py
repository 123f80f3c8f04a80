"""Who waits to hear a seat: by name, forgotten with its connection."""

from __future__ import annotations

from causeway.core.causal.askers import Askers


def test_those_who_wait_are_told_once_in_order() -> None:
    askers = Askers()
    assert not askers
    askers.add("app", (2, 1))
    askers.add("app", (4, 9))
    askers.add("app", (2, 1))
    assert "app" in askers
    assert (askers.count(2), askers.count(4), askers.count(6)) == (1, 1, 0)
    assert askers.take("app") == [(2, 1), (4, 9)]
    assert askers.take("app") == []
    assert not askers
    assert askers.count(2) == 0


def test_connection_that_ended_waits_for_nothing() -> None:
    askers = Askers()
    askers.add("app", (2, 1))
    askers.add("app", (2, 2))
    askers.add("other", (2, 3))
    askers.add("other", (4, 1))
    askers.forget(2)
    askers.forget(6)
    assert askers.names() == ["other"]
    assert askers.take("other") == [(4, 1)]
