"""`causeway plan placement`: what goes in, what comes out, and what is said about mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from causeway.cli.main import main

EXAMPLE = str(Path(__file__).resolve().parents[3] / "examples" / "placement.json")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["plan", "placement", EXAMPLE, *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_example_becomes_tables_and_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "placement", EXAMPLE, "--threshold", "0.02"]) == 0
    out = capsys.readouterr().out
    for said in ("placement", "brokers", "b2 down", "beside others", "round robin", "changes", "items move", "-707.0"):
        assert said in out


def test_json_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    found = run(capsys, "--seed", "3")
    assert {"items", "brokers", "utility", "bound", "gap", "alternatives", "changes", "repair", "version"} <= set(found)
    assert {"name", "owner", "mirror", "rate", "topics", "deviation"} == set(found["items"][0])
    assert len(found["brokers"][0]["after"]) == 2


def test_options_reach_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    plain = run(capsys, "--no-mirrors", "--topics-max", "2", "--move-cost", "0")
    assert {item["mirror"] for item in plain["items"]} == {""}
    assert {broker["topics"] for broker in plain["brokers"]} == {2}
    hopeless = run(capsys, "--threshold", "0.007")
    assert (hopeless["feasible"], hopeless["hopeless"]) == (False, True)
    assert main(["plan", "placement", EXAMPLE, "--threshold", "0.007"]) == 0
    assert "no placement keeps every risk below 0.007" in capsys.readouterr().out
    assert main(["plan", "placement", EXAMPLE, "--move-cost", "1e6"]) == 0
    assert "keep the present placement" in capsys.readouterr().out


def test_many_brokers_are_shown_by_their_worst_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.csv"
    topics = [f"t{number}" for number in range(50)]
    lines = [f"broker,b{number},100" for number in range(10)]
    rates = [f"sample,{','.join(str(5 + (number * row) % 7) for number in range(50))}" for row in range(20)]
    path.write_text("\n".join([*lines, "topics," + ",".join(topics), *rates]))
    assert main(["plan", "placement", str(path)]) == 0
    out = capsys.readouterr().out
    assert "worst" in out
    assert "10 more, all of them with --json" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["placement", EXAMPLE, "--hop-cost", "3"], "hop-cost=3.0: is for 'plan domains'"),
        (["placement", EXAMPLE, "--threshold", "2"], "threshold=2.0: must be a probability"),
        (["placement", EXAMPLE, "--topics-max", "1"], "topics_max=1"),
        (["placement", EXAMPLE, "--move-cost", "-1"], "move_cost=-1.0"),
        (["placement", "nowhere.json"], "No such file"),
        (["domains", EXAMPLE, "--threshold", "0.1"], "threshold=0.1: is for 'plan placement'"),
        (["seats", EXAMPLE], "plan='seats': must be 'domains' or 'placement' or 'costs'"),
    ],
)
def test_mistakes_are_one_line_with_a_remedy(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["plan", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
