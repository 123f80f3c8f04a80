"""`causeway join`: which broker is asked, and what is said of its answer."""

from __future__ import annotations

import io
import json
import sys

import pytest

from causeway.cli.main import main
from causeway.errors import Code, DeadlineExceeded, Refused, TransportError
from causeway.local import everybody, probe
from causeway.types import Peer, key_of

URL = "causeway://down:1,up:2,other:3"


class ScriptedProbe:
    """A broker at `up` that joins all domains but one."""

    asked: list[str] = []

    def __init__(self, host: str, port: int, seconds_max: float = 1.0) -> None:
        self.host = host
        self.peer = Peer(key_of(host), host, host, port, 1)
        self.others: tuple[Peer, ...] = ()

    async def __aenter__(self) -> ScriptedProbe:
        if self.host == "down":
            raise TransportError("broker down:1: refused")
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def status(self) -> dict[str, object]:
        return {"causal": {"version": 1, "domains": {"north": ["up"], "west": ["b2"], "south": ["b2"], "slow": ["b3"]}}}

    async def join(self, domain: str) -> tuple[str, ...]:
        self.asked.append(f"{self.host} {domain}")
        if domain == "south":
            raise Refused(Code.CYCLE, "leave out 'south', or there would be a cycle: up [north] b2 [south] up")
        if domain == "slow":
            raise DeadlineExceeded("broker up:2 gave no answer to JoinDomain; is it overloaded?")
        return ("north", domain)


@pytest.fixture(autouse=True)
def probes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    ScriptedProbe.asked = []
    for module in (probe, everybody):
        monkeypatch.setattr(module, "Probe", ScriptedProbe)
    return ScriptedProbe.asked


def test_first_broker_that_answers_joins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", "west", "--url", URL, "--json"]) == 0
    joined = {"event": "joined", "broker": "up", "domain": "west", "domains": ["north", "west"]}
    assert json.loads(capsys.readouterr().out) == joined
    assert ScriptedProbe.asked == ["up west"]


def test_people_hear_that_it_is_a_router(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", "west", "--url", URL]) == 0
    assert "up is a router between north, west" in capsys.readouterr().err


def test_refusal_names_the_cycle_and_is_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", "south", "--url", URL, "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["code"] == "cycle"
    assert "up [north] b2 [south] up" in err
    assert ScriptedProbe.asked == ["up south"], "no other broker is asked: this one was meant"


def test_silence_is_final_too_or_another_broker_would_join(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", "slow", "--url", URL]) != 0
    assert "gave no answer" in capsys.readouterr().err
    assert ScriptedProbe.asked == ["up slow"]


def test_nobody_there_is_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", "west", "--url", "causeway://down:1"]) == 1
    assert "no broker answered" in capsys.readouterr().err


def test_absurd_domain_is_exit_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", "a/b", "--url", URL]) == 2
    assert "domain='a/b'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("domain", "said"), [("wset", "did you mean west?"), ("qq", "there are: north, slow, south, west")]
)
def test_domain_that_nobody_is_in_needs_a_yes(domain: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", domain, "--url", URL]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "--yes" in shown
    assert ScriptedProbe.asked == []
    assert main(["join", domain, "--url", URL, "--yes"]) == 0
    assert ScriptedProbe.asked == [f"up {domain}"]


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 130)])
def test_people_are_asked_before_they_begin_a_domain(answer: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.StringIO(answer)
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)
    assert main(["join", "wset", "--url", URL]) == code
    assert ScriptedProbe.asked == (["up wset"] if code == 0 else [])
