"""What waits at a seat, and for what, as `causeway why-held` says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from causeway.cli import why_held as why_held_module
from causeway.cli.main import main
from causeway.cli.why_held import explained, waits
from causeway.types import SECOND

BATCH = {
    "domain": "north",
    "from": "b1",
    "source": "app",
    "first": 17,
    "count": 4,
    "dest": "orders",
    "topic": "",
    "since": 10 * SECOND,
    "waits_for": [{"seat": "b3", "until": 12, "have": 9}],
}
REPORT: dict[str, Any] = {
    "broker": "b9",
    "causal": {
        "seats": [
            {
                "seat": "b2",
                "held": [BATCH, {**BATCH, "count": 1, "dest": "", "topic": "roads/a1"}],
                "held_count": 5,
                "held_bytes": 77,
                "waiting": [{"source": "bob", "first": 3, "why": "a mark of another seat", "since": 9 * SECOND}],
            },
            {"seat": "b9", "held": [], "held_count": 0},
        ]
    },
}


def test_each_batch_says_which_predecessor_is_missing_and_for_how_long() -> None:
    seat, own = waits([REPORT, {"broker": "other release"}], everywhere=True)
    assert explained(seat, 12 * SECOND) == [
        "seat b2 (held by b9): 6 wait",
        "  app 17 to 20 to orders, from b1 in [north]: waits for b3 up to 12 (has 9), for 2.0 s now",
        "  app 17 to roads/a1, from b1 in [north]: waits for b3 up to 12 (has 9), for 2.0 s now",
        "  and 3 more",
        "  bob from 3 on: waits for a mark of another seat, for 3.0 s now",
    ]
    assert explained(own, 12 * SECOND) == ["seat b9: nothing waits"]


def test_batch_of_a_later_map_and_a_mark_say_so() -> None:
    strange = {**BATCH, "dest": "", "count": 1, "waits_for": [{"seat": "?", "until": 0, "have": 0}]}
    report = {"broker": "b2", "causal": {"seats": [{"seat": "b2", "held": [strange], "held_count": 1}]}}
    (seat,) = waits([report], everywhere=True)
    assert (
        "app 17, a mark, from b1 in [north]: waits for a later map of domains than this broker has"
        in explained(seat, 0)[1]
    )


@pytest.mark.parametrize("everywhere", [False, True])
def test_one_broker_is_asked_or_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], everywhere: bool
) -> None:
    async def reports_of(addresses: object) -> list[dict[str, Any]]:
        return [REPORT, {"broker": "b8", "causal": {"seats": [{"seat": "b8"}]}}]

    async def first(addresses: object) -> dict[str, Any]:
        return REPORT

    monkeypatch.setattr(why_held_module, "reports_of", reports_of)
    monkeypatch.setattr(why_held_module, "_first", first)
    arguments = ["why-held", "--url", "causeway://h:1", *(["--all"] if everywhere else [])]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["seats"]
    assert [seat["seat"] for seat in found] == ["b2", *(["b8"] if everywhere else []), "b9"]
    assert main(arguments) == 0
    assert "seat b2 (held by b9): 6 wait" in capsys.readouterr().out


def test_broker_without_a_seat_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def first(addresses: object) -> dict[str, Any]:
        return {"broker": "b1", "causal": {"seats": []}}

    monkeypatch.setattr(why_held_module, "_first", first)
    assert main(["why-held", "--url", "causeway://h:1"]) == 0
    assert "b1 holds no seat; try --all" in capsys.readouterr().out


MAP = {"version": 3, "domains": {"main": ["b1", "b2", "b3"]}}
USED = {"broker": "b1", "causal": {**MAP, "seat": "b1", "seats": [{"seat": "b1"}]}}
UNUSED = {"broker": "b2", "causal": {**MAP, "seat": "b2", "seats": []}}


def test_seat_that_was_never_used_is_named_like_the_others() -> None:
    found = waits([USED, UNUSED, {"broker": "b3", "causal": {**MAP, "seat": "b3", "seats": []}}], everywhere=True)
    assert [line for seat in found for line in explained(seat, 0)] == [
        "seat b1: nothing waits",
        "seat b2: nothing waits, it was never used",
        "seat b3: nothing waits, it was never used",
    ]


def test_broker_that_is_asked_alone_names_its_own_seat_only() -> None:
    (seat,) = waits([UNUSED], everywhere=False)
    assert explained(seat, 0) == ["seat b2: no broker that was asked holds it; --all asks every broker"]


def test_seat_that_was_used_and_is_held_by_nobody_who_answered_is_not_called_unused() -> None:
    found = waits([USED, {**UNUSED, "groups": [{"name": "causeway/seats/b2"}]}], everywhere=True)
    assert [seat.seat for seat in found if not seat.used] == ["b3"]


def test_what_a_full_subscription_or_another_seat_does_not_take_waits() -> None:
    way = {"to": "durable/board", "count": 3, "source": "app", "first": 7, "since": 9 * SECOND}
    seat = {"seat": "b1", "untaken": [way, {**way, "to": "causeway/seats/b2", "since": 11_500_000_000}]}
    (found,) = waits([{"broker": "b1", "causal": {"seats": [seat]}}], everywhere=True)
    assert explained(found, 12 * SECOND) == [
        "seat b1: 3 wait",
        "  3 to durable/board, the first app 7: not taken there (full, blocked or not served), for 3.0 s now",
    ]


def test_seat_that_was_used_and_that_nobody_serves_is_named_with_the_reason() -> None:
    group = {"name": "causeway/seats/b2", "blocked": "1 of 3 copies"}
    found = waits([USED, {**UNUSED, "groups": [group]}], everywhere=True)
    (line,) = explained(next(seat for seat in found if seat.seat == "b2"), 0)
    assert line == "seat b2: no broker serves it, so everything sent to it waits (1 of 3 copies)"
