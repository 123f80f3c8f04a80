"""`causeway evaluate`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from causeway.cli.main import main
from causeway.evaluate import aaa
from causeway.evaluate.evaluation import Conclusion, Evaluation
from causeway.evaluate.seat_costs import BROADCAST, PING, PING_ALL, UNICAST

TINY = aaa.Plan(
    seeds=2,
    halves={UNICAST: 50, BROADCAST: 10, PING: 2, PING_ALL: 2},
    sizes={
        ("flat", UNICAST): (4, 8),
        ("bus", UNICAST): (9, 16),
        ("daisy", UNICAST): (9, 16),
        ("tree", UNICAST): (9, 33),
        ("flat", BROADCAST): (4, 6),
        ("bus", BROADCAST): (9, 16),
        ("tree", BROADCAST): (9, 33),
    },
    once={("flat", UNICAST): (12,), ("flat", PING): (4, 8), ("flat", PING_ALL): (4, 8)},
)


def test_report_is_written_and_json_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(aaa, "QUICK", TINY)
    command = ["evaluate", "aaa", "--quick", "--seed", "5", "--jobs", "1", "--out", str(tmp_path), "--json"]
    assert main(command) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "results.json").read_text())
    assert printed["parameters"]["seed"] == 5
    assert {row["seed"] for row in printed["measurements"]} == {5, 6}
    assert (tmp_path / "unicast_cells.svg").exists()
    assert "Beyond the fit" in (tmp_path / "report.md").read_text()


def test_people_see_which_claims_hold_and_where_the_files_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Evaluation("aaa", "A title", "again", {}, (Conclusion("it grows", "it does not", False),), {}, (), "Words.")
    monkeypatch.setattr(aaa, "evaluate", lambda extent, tick: found)
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", "aaa"]) == 0
    printed = capsys.readouterr().out
    assert "it does not" in printed
    assert "evaluation/aaa/report.md" in printed
    assert (tmp_path / "evaluation" / "aaa" / "report.md").exists()


@pytest.mark.parametrize(
    ("arguments", "field"), [(["msmq"], "experiment"), (["aaa", "--jobs", "0"], "jobs")], ids=["experiment", "jobs"]
)
def test_wrong_argument_is_named(arguments: list[str], field: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["field"] == field
