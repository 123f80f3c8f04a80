"""The committed reports: each is what its own numbers say with the words of today, and the index what all of them say.

Otherwise: causeway evaluate all --quick --seed 0 --out docs/evaluation.
"""

from __future__ import annotations

import importlib
import json
import re

import pytest

from causeway.evaluate.evaluation import Evaluation
from causeway.evaluate.suite import EXPERIMENTS
from causeway.evaluate.writing import as_index, as_report
from tests.unit.evaluate.committed import FOLDER, results_of


def said_by(name: str) -> Evaluation:
    """Claims and words, made again from the numbers that are committed."""
    module, found = importlib.import_module(f"causeway.evaluate.{name}"), results_of(name)
    rest = ("experiment", "command", "parameters", "claims")
    tables = {table: rows for table, rows in found.items() if table not in rest}
    claims, words = module.conclusions(tables), module.text(tables)
    return Evaluation(name, module.TITLE, found["command"], found["parameters"], claims, tables, (), words)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_committed_report_is_what_its_numbers_say(name: str) -> None:
    said = said_by(name)
    assert json.loads(json.dumps(said.as_json())) == results_of(name)
    assert as_report(said) == (FOLDER / name / "report.md").read_text()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_committed_report_shows_every_figure_and_no_other(name: str) -> None:
    report = (FOLDER / name / "report.md").read_text()
    shown = re.findall(r"^!\[.*\]\((.*)\.png\)$", report, re.MULTILINE)
    assert sorted(shown) == sorted(path.stem for path in (FOLDER / name).glob("*.png"))


def test_committed_index_is_what_the_reports_say() -> None:
    command = json.loads((FOLDER / "results.json").read_text())["command"]
    assert as_index([said_by(name) for name in EXPERIMENTS], command) == (FOLDER / "report.md").read_text()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_claim_that_we_stand_by_holds(name: str) -> None:
    claims = results_of(name)["claims"]
    assert [claim["claim"] for claim in claims if claim["asserted"] and not claim["held"]] == []
