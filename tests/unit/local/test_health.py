"""What several brokers' reports mean together."""

from __future__ import annotations

from typing import Any

from causeway.local.health import not_handed_over, settled, without_seats


def _report(name: str, *groups: dict[str, Any]) -> dict[str, Any]:
    return {"broker": name, "active": True, "groups": list(groups)}


def _group(name: str, members: str, *, epoch: int = 1, incomplete: str = "") -> dict[str, Any]:
    return {"name": name, "epoch": epoch, "members": list(members), "incomplete": list(incomplete)}


def _root(members: str, *, epoch: int = 1, incomplete: str = "") -> dict[str, Any]:
    return _group("causeway/root", members, epoch=epoch, incomplete=incomplete)


def test_cluster_is_settled_once_all_are_active_and_the_directory_lies_on_all_of_them() -> None:
    young = {name: _report(name, _root("a")) for name in "ab"}
    copying = {name: _report(name, _root("ab", epoch=2, incomplete="b")) for name in "ab"}
    done = {"a": _report("a", _root("ab", epoch=3)), "b": _report("b", _root("a"))}
    assert [settled(reports, 2, 5) for reports in (young, copying, done)] == [False, False, True]
    assert not settled(done, 3, 5)
    assert settled({**done, "c": _report("c")}, 3, 2), "the directory has as many copies as it was told to have"
    assert not settled({**done, "c": _report("c") | {"active": False}}, 3, 5)
    assert not settled({"a": _report("a")}, 1, 5)
    assert settled({**done, "c": _report("c")}, 3, 5, spares=1), "a spare holds nothing"


def test_everything_is_handed_over_once_the_latest_epochs_do_without_the_broker() -> None:
    before = _report("a", _group("box", "ab"), _root("abc"))
    early = {"b": _report("b", _group("box", "ab"), _root("abc")), "c": _report("c", _root("bc", epoch=2))}
    assert not_handed_over("a", before, early) == ["box"]
    done = {"b": _report("b", _group("box", "ab")), "c": _report("c", _group("box", "bc", epoch=2), _root("bc"))}
    assert not_handed_over("a", before, done) == []


def test_group_whose_copies_are_being_filled_was_not_handed_over() -> None:
    before = _report("a", _group("box", "ab"))
    others = _group("other", "bc", incomplete="c")
    filling = {"b": _report("b", _group("box", "bc", epoch=2, incomplete="c"), others)}
    assert not_handed_over("a", before, filling) == ["box"]
    done = {"c": _report("c", _group("box", "bc", epoch=3)), **filling}
    assert not_handed_over("a", before, done) == [], "the latest epoch counts, and the broker never held the other"


def test_group_that_nobody_else_knows_was_not_handed_over() -> None:
    before = _report("a", _group("alone", "a"), _group("ended", "ab"))
    assert not_handed_over("a", before, {"b": _report("b")}) == ["alone"]


def test_brokers_are_seated_when_they_say_so_for_every_domain() -> None:
    wanted = {"a": ["north"], "r": ["north", "south"], "x": ["south"], "y": []}
    reports = {
        "a": {"causal": {"domains": {"north": ["a", "r"]}}},
        "r": {"causal": {"domains": {"north": ["a", "r"]}}},
        "x": {"causal": {"refusal": "cycle", "domains": {}}},
    }
    assert without_seats(wanted, reports) == {"r": "", "x": "cycle"}
    assert without_seats(wanted, {}) == {"a": "", "r": "", "x": ""}
