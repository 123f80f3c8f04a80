"""Which copy people are offered, and what they are told about it."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.cli.salvage import best_copies
from causeway.errors import ConfigError


def copy(name: str, *, epoch: int = 7, seq: int = 10, blocked: str | None = "too few", **fields: Any) -> dict[str, Any]:
    entry = {"name": name, "epoch": epoch, "seq": seq, "members": ["a", "b", "c"], "incomplete": []}
    return {**entry, "serving": False, "blocked": blocked, **fields}


def report(broker: str, *groups: dict[str, Any]) -> dict[str, Any]:
    return {"broker": broker, "host": "127.0.0.1", "port": 7400, "groups": list(groups)}


def test_complete_copy_is_offered_before_a_longer_one_that_was_still_being_filled() -> None:
    filling = {"incomplete": ["b"]}
    reports = [report("a", copy("box", seq=9, **filling)), report("b", copy("box", seq=12, **filling))]
    [found] = best_copies(reports, ["box"])
    assert (found.broker, found.seq, found.complete, found.missing) == ("a", 9, True, ["c"])
    assert "nothing that was acknowledged" in found.loss


def test_incomplete_copy_is_offered_when_no_other_is_left_and_what_it_lacks_is_said() -> None:
    [found] = best_copies([report("b", copy("box", incomplete=["b"]))], None)
    assert (found.broker, found.complete, found.missing) == ("b", False, ["a", "c"])
    assert "older messages" in found.loss


def test_copy_of_an_earlier_epoch_or_of_who_is_no_member_is_not_offered() -> None:
    reports = [report("a", copy("box", seq=5)), report("b", copy("box", epoch=6, seq=99)), report("z", copy("box"))]
    [found] = best_copies(reports, None)
    assert (found.broker, found.missing) == ("a", ["b", "c"])


def test_directory_comes_first_and_what_is_served_is_left_alone() -> None:
    served = copy("fine", serving=True, blocked=None)
    found = best_copies([report("a", copy("box"), served, copy("causeway/root"))], None)
    assert [one.mailbox for one in found] == ["causeway/root", "box"]


@pytest.mark.parametrize(("name", "remedy"), [("fine", "it is served"), ("nowhere", "no broker that answers")])
def test_mailbox_that_is_served_or_unknown_is_refused_by_name(name: str, remedy: str) -> None:
    with pytest.raises(ConfigError, match=remedy) as raised:
        best_copies([report("a", copy("fine", serving=True, blocked=None))], [name])
    assert name in str(raised.value)
