"""One picture out of many brokers' reports."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from causeway.cli import status as status_module
from causeway.cli.view import BrokerLine, ClusterView, broker_line, busiest, merge, owned_by
from causeway.types import shard_name


def _report(
    name: str, *, key: str = "00", deposits: int = 0, groups: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {
        "broker": name,
        "id": key,
        "active": True,
        "peers": ["x", "y"],
        "leaves": 2,
        "groups": groups or [],
        "mailboxes": [{"name": "billing", "stored": 7, "volatile": 1, "consumers": 2, "unsettled": 3, "starved": True}],
        "outbox": {"batches": 1, "bytes": 99},
        "deposits": deposits,
        "root": {"epoch": 1, "owner": "a", "members": ["a"]},
    }


def _group(owner: str, epoch: int, *, serving: bool) -> dict[str, Any]:
    return {"name": "billing", "epoch": epoch, "owner": owner, "members": ["a", "b"], "serving": serving}


def test_merge_takes_a_mailbox_from_its_owner() -> None:
    reports = [
        _report("b", groups=[_group("a", 4, serving=False)]),
        _report("a", groups=[_group("a", 4, serving=True)]),
    ]
    [line] = merge([], reports).mailboxes
    assert (line.owner, line.epoch, line.serving) == ("a", 4, True)
    assert (line.stored, line.volatile, line.consumers, line.unsettled, line.starved) == (7, 1, 2, 3, True)


def test_merge_believes_the_later_epoch_over_a_fenced_owner() -> None:
    reports = [
        _report("a", groups=[_group("a", 4, serving=True)]),
        _report("b", groups=[_group("b", 5, serving=True)]),
    ]
    [line] = merge([], reports).mailboxes
    assert (line.owner, line.epoch) == ("b", 5)


def test_merge_sorts_brokers_by_their_place_on_the_ring_and_the_dead_last() -> None:
    lines = [
        BrokerLine(name="dead", address="h:1", state="down", error="gone"),
        broker_line(_report("far", key="ff"), address="h:2"),
        broker_line(_report("near", key="01"), address="h:3"),
    ]
    assert [line.name for line in merge(lines, []).brokers] == ["near", "far", "dead"]


def test_merge_shows_the_latest_root() -> None:
    newer = _report("b") | {"root": {"epoch": 3, "owner": "b", "members": ["b"]}}
    assert merge([], [_report("a"), newer, _report("c")]).root["epoch"] == 3


def test_view_is_healthy_only_when_all_are_active_and_all_is_served() -> None:
    active = broker_line(_report("a"), address="h:1")
    joining = broker_line(_report("b") | {"active": False}, address="h:2")
    served, unserved = (_report("a", groups=[_group("a", 1, serving=serving)]) for serving in (True, False))
    assert merge([active], [served]).healthy
    assert not merge([active], [unserved]).healthy
    assert not merge([active, joining], [served]).healthy


@pytest.mark.parametrize(("said", "healthy"), [({}, True), ({"blocked": "2 of 3"}, False), ({"lost": ["box"]}, False)])
def test_view_is_healthy_only_when_landmarks_can_decide_and_miss_nothing(
    said: dict[str, object], *, healthy: bool
) -> None:
    domain = {"domain": "d", "term": 1, "version": 1, "failed": [], "lost": [], "blocked": None, **said}
    served = _report("a", groups=[_group("a", 1, serving=True)]) | {"agents": [domain]}
    assert merge([broker_line(_report("a"), address="h:1")], [served]).healthy is healthy


def test_view_is_not_healthy_while_the_next_failure_would_stop_something_also_of_the_brokers_own() -> None:
    lines = [broker_line(_report("a"), address="h:1")]
    sound = _group("a", 4, serving=True)
    assert merge(lines, [_report("a", groups=[sound])]).healthy
    for name in ("billing", "causeway/root"):
        exposed = {**sound, "name": name, "exposed": True}
        view = merge(lines, [_report("a", groups=[exposed])])
        assert (view.exposed, view.healthy) == ([name], False)
    stale = {**sound, "exposed": True, "epoch": 3}
    assert merge(lines, [_report("a", groups=[stale]), _report("b", groups=[sound])]).healthy, "of a former owner"


def test_brokers_of_two_clusters_are_no_healthy_cluster_and_both_are_named() -> None:
    one, same, two = (
        broker_line(_report(name) | {"cluster": cluster}, address=f"{name}:1")
        for name, cluster in (("a", "c1"), ("b", "c1"), ("c", "c2"))
    )
    unknown = broker_line(_report("d"), address="d:1")
    served = _report("a", groups=[_group("a", 1, serving=True)])
    whole, split = merge([one, same, unknown], [served]), merge([one, same, two], [served])
    assert (whole.healthy, whole.split) == (True, "")
    assert not split.healthy
    assert "c1: a, b; c2: c" in split.split


@pytest.mark.parametrize("as_json", [True, False])
def test_status_of_two_clusters_fails_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    lines = [broker_line(_report(name) | {"cluster": f"of-{name}"}, address=f"{name}:1") for name in "ab"]

    async def survey(addresses: object) -> ClusterView:
        return merge(lines, [_report("a")])

    monkeypatch.setattr(status_module, "survey", survey)
    assert status_module.status(url="causeway://127.0.0.1:1", as_json=as_json) == 1
    said = capsys.readouterr().out
    assert "of-a: a; of-b: b" in said
    if as_json:
        answer = msgspec.json.decode(said)
        assert not answer["healthy"]
        assert "of-a: a; of-b: b" in answer["split"]


def test_broker_line_tolerates_a_report_without_any_keys() -> None:
    line = broker_line({}, address="h:1")
    assert (line.name, line.state, line.peers, line.deposits) == ("h:1", "joining", 0, 0)
    assert merge([line], [{}]).mailboxes == []


def test_broker_line_tells_owned_from_copied() -> None:
    groups = [_group("a", 1, serving=True), _group("b", 1, serving=False), _group("b", 1, serving=False)]
    line = broker_line(_report("a", groups=groups), address="h:1")
    assert (line.owned, line.copies) == (1, 2)


def test_busiest_is_who_took_and_stored_most() -> None:
    owner = _report("c", deposits=1, groups=[_group("c", 1, serving=True) | {"seq": 9}])
    copy = _report("b", deposits=5, groups=[_group("c", 1, serving=False) | {"seq": 9}])
    assert busiest({"a": _report("a", deposits=8), "b": copy, "c": owner}) == "c"
    assert busiest({"a": _report("a", deposits=8), "b": copy}) == "a"


def test_shard_is_listed_by_its_mailboxes_and_by_its_own_name_while_nobody_serves_it() -> None:
    name = shard_name(3, 16)
    copy = _report("b", groups=[_group("a", 4, serving=False) | {"name": name}]) | {"mailboxes": []}
    owner = _report("a", groups=[_group("a", 4, serving=True) | {"name": name}])
    owner["mailboxes"][0]["group"] = name
    [line] = merge([], [copy, owner]).mailboxes
    assert (line.name, line.owner, line.serving, line.stored) == ("billing", "a", True, 7)
    [unserved] = merge([], [copy]).mailboxes
    assert (unserved.name, unserved.serving) == (name, False)


def test_directory_is_not_listed_as_a_mailbox() -> None:
    report = _report("a", groups=[_group("a", 1, serving=True) | {"name": "causeway/root"}])
    assert merge([], [report]).mailboxes == []
    assert broker_line(report, address="h:1").owned == 0
    assert owned_by(report) == []


def test_owned_by_lists_only_own_mailboxes() -> None:
    groups = [_group("a", 1, serving=True), _group("b", 1, serving=False) | {"name": "shipping"}]
    assert owned_by(_report("a", groups=groups)) == ["billing"]
