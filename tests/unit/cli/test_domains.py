"""The tree of domains as `causeway domains` shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from causeway.cli import domains as domains_module
from causeway.cli.domains import latest
from causeway.cli.main import main

OLD = {"broker": "b1", "causal": {"seat": "b1", "refusal": "", "version": 1, "domains": {"north": ["b1"]}}}
NEW = {
    "broker": "b2",
    "causal": {"seat": "b2", "refusal": "", "version": 3, "domains": {"south": ["b2", "b3"], "north": ["b1", "b2"]}},
}
REFUSED = {"broker": "b4", "causal": {"refusal": "leave out 'south'", "version": 0, "domains": {}}}
OTHER_RELEASE = {"broker": "b5"}


def test_latest_map_counts_and_names_the_routers() -> None:
    found = latest([OLD, NEW, OTHER_RELEASE])
    assert found.version == 3
    assert [(line.name, line.seats, line.routers) for line in found.domains] == [
        ("north", ["b1", "b2"], ["b2"]),
        ("south", ["b2", "b3"], ["b2"]),
    ]
    assert found.routers == {"b2": ["north", "south"]}
    assert found.refusals == {}


def shown(monkeypatch: pytest.MonkeyPatch, *reports: dict[str, Any], arguments: Sequence[str] = ()) -> int:
    async def reports_of(addresses: object) -> list[dict[str, Any]]:
        return list(reports)

    monkeypatch.setattr(domains_module, "reports_of", reports_of)
    return main(["domains", "--url", "causeway://h:1", *arguments])


def test_json_is_one_object_and_a_refusal_is_exit_code_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(monkeypatch, OLD, NEW, REFUSED, arguments=["--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert sorted(found) == ["domains", "holders", "refusals", "routers", "version"]
    assert found["refusals"] == {"b4": "leave out 'south'"}


def test_people_see_domains_seats_and_routers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(monkeypatch, NEW) == 0
    out = capsys.readouterr().out
    assert "b2 joins north, south" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["north", "b2", "b1"] in rows
    assert ["south", "b2", "b3"] in rows


def test_router_that_left_is_named_with_the_broker_that_holds_its_seat(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = {"causal": {**NEW["causal"], "left": ["b2"]}}  # type: ignore[dict-item]
    holder = {"broker": "b3", "causal": {"seats": [{"seat": "b2"}, {"seat": "b3"}]}}
    assert shown(monkeypatch, {"broker": "b1", **gone}, holder) == 0
    assert "b2 has left; b3 holds its seat for what was sent there" in capsys.readouterr().out
    assert shown(monkeypatch, {"broker": "b1", **gone}) == 0
    assert "b2 has left; nobody who answered holds its seat" in capsys.readouterr().out


def test_people_hear_how_to_begin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(monkeypatch, OTHER_RELEASE) == 0
    assert "--domain" in capsys.readouterr().out


def test_nobody_there_is_an_error_that_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["domains", "--url", "causeway://127.0.0.1:1"]) == 1
    assert "no broker answered (nobody listens at 127.0.0.1:1); " in capsys.readouterr().err
