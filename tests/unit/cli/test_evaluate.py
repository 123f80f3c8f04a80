"""`causeway evaluate`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from causeway.cli import evaluate as cli
from causeway.cli.main import main
from causeway.evaluate import aaa
from causeway.evaluate.evaluation import Conclusion, Evaluation, Extent
from causeway.evaluate.seat_costs import BROADCAST, PING, PING_ALL, UNICAST, CostCase, SeatCost, measure
from causeway.pipeline.executors import Executors
from causeway.pipeline.session import SessionFlags
from causeway.spread import Processes

TINY = aaa.Plan(
    seeds=2,
    halves={UNICAST: 50, BROADCAST: 10, PING: 2, PING_ALL: 2},
    sizes={
        ("flat", UNICAST): (4, 6, 8),
        ("bus", UNICAST): (8, 9, 16),
        ("daisy", UNICAST): (9, 16),
        ("tree", UNICAST): (9, 33, 105),
        ("flat", BROADCAST): (4, 5, 6),
        ("bus", BROADCAST): (9, 12, 16),
        ("daisy", BROADCAST): (9, 12, 16),
        ("tree", BROADCAST): (9, 33),
        ("flat", PING_ALL): (4, 6, 8),
    },
    once={("flat", UNICAST): (12,), ("flat", PING): (4, 8)},
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
    assert main(["evaluate", "aaa", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "it does not" in printed
    assert "evaluation/aaa/report.md" in printed
    assert (tmp_path / "evaluation" / "aaa" / "report.md").exists()


def found_by(name: str, *, held: bool, asserted: bool) -> Evaluation:
    claim = Conclusion(f"{name} grows", "measured", held, asserted)
    return Evaluation(name, f"About {name}", "again", {}, (claim,), {}, (), "Words.")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> list[Extent]:
    """Two experiments, one that lost a claim and one with a claim that never held; and what they were given."""
    given: list[Extent] = []

    def run(name: str, extent: Extent, tick: object) -> Evaluation:
        given.append(extent)
        return found_by(name, held=False, asserted=name == "one")

    monkeypatch.setattr(cli, "EXPERIMENTS", {"one": "first", "two": "second"})
    monkeypatch.setattr(cli, "run_experiment", run)
    return given


def test_all_experiments_are_written_beside_an_index(
    two: list[Extent], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "all", "--quick", "--seed", "3", "--out", str(tmp_path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "results.json").read_text())
    assert printed["command"] == "causeway evaluate all --quick --seed 3"
    assert [extent.seed for extent in two] == [3, 3]
    assert all((tmp_path / name / "report.md").exists() for name in ("one", "two"))
    assert "(two/report.md)" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize(("experiment", "code"), [("all", 1), ("one", 1), ("two", 0)])
def test_strict_fails_for_a_lost_claim_but_not_for_one_that_nobody_stands_by(
    two: list[Extent], tmp_path: Path, experiment: str, code: int
) -> None:
    assert main(["evaluate", experiment, "--quick", "--strict", "--out", str(tmp_path), "--json"]) == code


def test_full_run_goes_on_where_it_was_and_fresh_forgets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(aaa, "FULL", TINY)
    # Figures take most of the time, and `test_report_is_written_and_json_printed` has them.
    monkeypatch.setattr("causeway.evaluate.writing.draw", lambda figure, folder: [])
    command = ["evaluate", "aaa", "--jobs", "1", "--out", str(tmp_path)]
    assert main([*command, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    cases = len(aaa.plan_cases(TINY, 0))
    assert len(list((tmp_path / "cases").iterdir())) == cases
    monkeypatch.setattr(aaa, "measure", measured_already)
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    with pytest.raises(ValueError, match="measured again"):
        main([*command, "--fresh", "--json"])


def test_quick_run_leaves_the_cases_of_a_full_one(two: list[Extent], tmp_path: Path) -> None:
    kept = tmp_path / "cases" / "0.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    assert main(["evaluate", "one", "--quick", "--fresh", "--out", str(tmp_path), "--json"]) == 2
    assert two == []
    assert main(["evaluate", "one", "--quick", "--out", str(tmp_path), "--json"]) == 0
    assert kept.exists()


def test_full_run_is_measured_on_spark_unless_processes_are_asked_for(
    two: list[Extent], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str | None] = []

    @contextmanager
    def session_for(name: str, *, flags: SessionFlags) -> Iterator[SimpleNamespace]:
        asked.append(flags.master)
        yield SimpleNamespace(sparkContext=None)

    monkeypatch.setattr("causeway.pipeline.session.check_spark", lambda: None)
    monkeypatch.setattr("causeway.pipeline.session.session_for", session_for)
    command = ["evaluate", "one", "--out", str(tmp_path), "--json"]
    for more in ([], ["--master", "local[3]"], ["--quick", "--master", "local[4]"], ["--jobs", "2"], ["--quick"]):
        assert main([*command, *more]) == 0
    assert asked == [None, "local[3]", "local[4]"]
    assert [type(extent.spread) for extent in two if extent.quick] == [Executors, Processes]


def test_who_has_no_java_is_told_how_to_measure_without(
    two: list[Extent], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["evaluate", "one", "--out", str(tmp_path), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["field"] == "JAVA_HOME"
    assert "install Java 17" in error["message"]
    assert "--jobs" in error["message"]


def measured_already(case: CostCase) -> SeatCost:
    raise ValueError("measured again")


# It is found under the name of what it stands for.
measured_already.__module__, measured_already.__qualname__ = measure.__module__, measure.__qualname__


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["msmq"], "experiment"),
        (["aaa", "--jobs", "0"], "jobs"),
        (["aaa", "--jobs", "2", "--master", "local[2]"], "jobs"),
        (["aaa", "--quick", "--fresh"], "fresh"),
    ],
    ids=["experiment", "jobs", "master", "fresh"],
)
def test_wrong_argument_is_named(arguments: list[str], field: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["field"] == field
