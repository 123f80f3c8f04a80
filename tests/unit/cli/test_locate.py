"""The sentence that explains a choice, and what the command shows of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from causeway import Placed
from causeway.cli import locate as locate_module
from causeway.cli.locate import Finding, explain
from causeway.cli.main import main
from causeway.core.locating import rank
from causeway.core.messages import Candidate
from causeway.types import MICROSECOND, MILLISECOND, Peer, key_of


def broker(name: str, **facts: object) -> Candidate:
    usual: dict[str, object] = {
        "alive": True,
        "ready": True,
        "round_trip": 300 * MICROSECOND,
        "measured": True,
        "nearby": 0,
        "distance": 0,
        "connections": 12,
        "limit": 10_000,
        "capability": 1000,
        "started": 1,
    }
    return Candidate(Peer(key_of(name), name, "127.0.0.1", 7400, 1), **{**usual, **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ({"connections": 40}, "because it has less to do (892 against 714 of 1000)"),
        ({"limit": 15}, "because it has more room (998 against 200 of 1000)"),
        ({"round_trip": 9 * MILLISECOND}, "because it is nearer (970 against 526 of 1000)"),
        ({"capability": 100}, "because it has less to do (892 against 454 of 1000)"),
        ({"started": 0}, "because it started later, all else being equal"),
        ({}, "by its name only"),
    ],
    ids=["connections", "room", "distance", "capability", "age", "nothing"],
)
def test_explanation_names_what_decided(second: dict[str, object], reason: str) -> None:
    why = explain(rank([broker("b-2", **second), broker("b-1")]))
    assert why == f"b-1: 0.3 ms away, 12 of 10000 connections, capability 1000; before b-2 {reason}"


def test_explanation_says_when_there_was_no_other_choice() -> None:
    why = explain(rank([broker("a"), broker("b", alive=False)]))
    assert why.endswith("no other broker takes clients now")


def test_explanation_says_why_nobody_was_chosen() -> None:
    why = explain(rank([broker("a", alive=False), broker("b", ready=False), broker("c", connections=10_000)]))
    assert why == "no broker takes a client now: a dead, b joining, c full"
    assert explain([]) == "no broker takes a client now: none is known"


def test_estimated_distance_is_told_as_such() -> None:
    assert "0.3 ms away by its address" in explain(rank([broker("a", measured=False)]))


Told = Callable[..., None]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Let a broker of this test's choice answer."""

    def tell(*candidates: Candidate, skipped: dict[str, str] | None = None) -> None:
        async def ask(addresses: object) -> Finding:
            return Finding(asked="127.0.0.1:7400", candidates=rank(candidates), skipped=skipped or {})

        monkeypatch.setattr(locate_module, "_ask", ask)

    return tell


def test_json_has_every_term_of_every_candidate(told: Told, capsys: pytest.CaptureFixture[str]) -> None:
    told(broker("a", connections=100), broker("b"), broker("dead", alive=False, distance=-1))
    assert main(["locate", "causeway://127.0.0.1:7400", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["asked"], found["chosen"], found["skipped"]) == ("127.0.0.1:7400", "b", {})
    assert [one["broker"] for one in found["candidates"]] == ["b", "a", "dead"]
    first, second, dead = found["candidates"]
    assert first == {
        "broker": "b",
        "address": "127.0.0.1:7400",
        "alive": True,
        "ready": True,
        "round_trip_us": 300,
        "measured": True,
        "distance_us": 0,
        "nearby": "host",
        "connections": 12,
        "limit": 10_000,
        "capability": 1000,
        "room": 998,
        "ease": 892,
        "nearness": 970,
        "score": 998 * 892 * 970 // 1000,
    }
    assert second["ease"] == 500
    assert (dead["score"], dead["alive"], dead["distance_us"]) == (0, False, None)


def test_table_shows_states_and_the_seeds_that_were_passed_over(
    told: Told, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told(
        broker("broker-1"),
        broker("broker-2", connections=10_000),
        broker("broker-3", ready=False),
        broker("broker-4", alive=False, measured=False),
        skipped={"127.0.0.1:1": "nobody [there]"},
    )
    assert main(["locate", "--url", "causeway://127.0.0.1:7400"]) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown, "it fits 80 columns"
    for words in ("12/10000", "yes", "full", "joins", "no", "~0.3 ms", "passed over 127.0.0.1:1: nobody [there]"):
        assert words in shown
    assert "broker-1: 0.3 ms away, 12 of 10000 connections" in shown


def test_no_choice_is_exit_code_one(told: Told, capsys: pytest.CaptureFixture[str]) -> None:
    told(broker("a", alive=False))
    assert main(["locate", "causeway://127.0.0.1:7400", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["chosen"] is None


def test_seeds_that_all_stay_silent_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["locate", "causeway://127.0.0.1:1,127.0.0.1:2"]) == 1
    error = capsys.readouterr().err
    assert "127.0.0.1:1" in error
    assert "127.0.0.1:2" in error


class FakeBus:
    """Knows where one topic is."""

    async def __aenter__(self) -> FakeBus:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def where(self, topic: str) -> Placed:
        assert topic == "roads/a1"
        return Placed("b-1", "127.0.0.1:7400", "b-2", "127.0.0.1:7401", 7, "north")


def test_topic_is_shown_with_its_owner_mirror_epoch_and_domain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(locate_module, "connect", lambda *_, **__: FakeBus())
    monkeypatch.setattr(locate_module, "reach", lambda url, _data: url)
    asked = ["locate", "causeway://127.0.0.1:7400", "--topic", "road=a1", "--naming", "roads/{road}"]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("roads/a1 is held by b-1 (127.0.0.1:7400) in domain north; its mirror is b-2")
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["topic"], found["mirror_address"], found["epoch"]) == ("roads/a1", "127.0.0.1:7401", 7)
