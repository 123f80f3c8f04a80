"""`causeway plan domains`: what goes in, what comes out, and what is said about mistakes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from causeway.cli import plan as command
from causeway.cli.main import main
from causeway.domains.tables import read_seats

ROWS = "from,to,rate\n" + "".join(f"u{a},u{b},{9 if a // 4 == b // 4 else 1}\n" for a in range(12) for b in range(a))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "traffic.csv"
    path.write_text(ROWS)
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert main(["plan", "domains", *map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_table_becomes_domains_with_members_routers_and_cost(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "domains", str(table), "--hop-cost", "10"]) == 0
    out = capsys.readouterr().out
    assert "proposed domains" in out
    assert "d1" in out
    assert "per message" in out


def test_proposal_is_written_and_read_again(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    better = tmp_path / "better.json"
    found = run(capsys, table, "--out", better, "--hop-cost", 10)
    seats = read_seats("present", better.read_text())
    assert {name: list(domains) for name, domains in seats.items()} == found["seats"]
    again = run(capsys, table, "--present", better, "--hop-cost", 10)
    assert again["present_cost"] == pytest.approx(found["cost"])
    assert again["cost"] <= again["present_cost"]


def test_present_and_proposal_stand_beside_each_other(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    present = tmp_path / "seats.json"
    present.write_text(json.dumps({f"u{number}": ["all"] for number in range(12)}))
    found = run(capsys, table, "--present", present, "--hop-cost", 10)
    assert found["present"][0]["name"] == "all"
    assert found["changed"]
    assert found["cost"] < found["present_cost"]
    assert main(["plan", "domains", str(table), "--present", str(present), "--hop-cost", "10"]) == 0
    assert "times less" in capsys.readouterr().out
    assert main(["plan", "domains", str(table), "--present", str(present), "--hop-cost", "1e9"]) == 0
    assert "keep the present split" in capsys.readouterr().out


def test_table_may_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('[{"from": "a", "to": "b", "rate": 2}]'))
    assert run(capsys, "-")["seats"] == {"a": ["main"], "b": ["main"]}


def test_present_of_a_running_network(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def reports_of(addresses: object) -> list[dict[str, Any]]:
        assert addresses == (("h", 1),)
        domains = {"all": [f"u{number}" for number in range(12)]}
        old = {"broker": "u1", "causal": {"version": 1, "domains": {"few": ["u1"]}}}
        return [old, {"broker": "u2", "causal": {"version": 2, "domains": domains}}, {"broker": "other release"}]

    monkeypatch.setattr(command, "reports_of", reports_of)
    assert run(capsys, table, "--url", "causeway://h:1")["present"][0]["name"] == "all"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["seats", "TABLE"], "plan='seats': must be 'domains' or 'placement'"),
        (["domains", "NOWHERE"], "No such file"),
        (["domains", "TABLE", "--present", "NOWHERE"], "No such file"),
        (["domains", "TABLE", "--present", "TABLE"], "JSON object"),
        (["domains", "TABLE", "--present", "x", "--url", "causeway://h:1"], "both give the present split"),
        (["domains", "TABLE", "--domain-size-max", "1"], "domain-size-max=1: must lie in 2..64"),
        (["domains", "TABLE", "--hop-cost", "-1"], "hop-cost=-1.0"),
        (["domains", "TABLE", "--out", "NOWHERE/x"], "give a file that you may write"),
        (["domains", "TABLE", "--present", "OTHER"], "this application of the table is in no domain"),
    ],
)
def test_mistakes_are_one_line_with_a_remedy(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (tmp_path / "other.json").write_text('{"u1": ["d1"]}')
    places = {"TABLE": table, "NOWHERE": tmp_path / "nowhere", "OTHER": tmp_path / "other.json"}
    full = [word.replace(key, str(path)) for word in words for key, path in [_place(word, places)]]
    assert main(["plan", *full]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def _place(word: str, places: dict[str, Path]) -> tuple[str, Path]:
    return next(((key, path) for key, path in places.items() if key in word), ("\0", Path()))


def test_bar_is_shown_only_when_it_takes_long(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "domains", str(table)]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(command, "QUIET_SECONDS", -1.0)
    assert main(["plan", "domains", str(table)]) == 0
