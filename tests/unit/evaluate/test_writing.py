"""An evaluation as files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from causeway.evaluate import writing
from causeway.evaluate.evaluation import Conclusion, Evaluation
from causeway.evaluate.writing import Digits, as_markdown, as_report, labels, shown, write, write_index
from causeway.figures import Curve, Figure

FOUND = Evaluation(
    "small",
    "A small one",
    "causeway evaluate small --seed 0",
    {"seed": 0},
    (
        Conclusion("it grows", "by 2", True),
        Conclusion("it shrinks", "it does not", False),
        Conclusion("it floats", "it never did", False, asserted=False),
        Conclusion("goal: it is small", "it is large", False, ours=True),
    ),
    {"means": [{"seats": 10, "cells": 1234.5}, {"seats": 20, "cells": 0.01234}]},
    (Figure("cost", "Cost", "seats", "cells", (Curve("all", (10, 20), (1, 2)),)),),
    "Words.",
)


def test_all_files_are_written_and_say_the_same(tmp_path: Path) -> None:
    names = [path.name for path in write(FOUND, tmp_path / "new")]
    assert names == ["results.json", "means.csv", "means.parquet", "cost.png", "cost.svg", "report.md"]
    assert pq.read_table(tmp_path / "new" / "means.parquet").to_pylist() == FOUND.tables["means"]
    results = json.loads((tmp_path / "new" / "results.json").read_text())
    assert results["means"] == FOUND.tables["means"]
    assert [claim["held"] for claim in results["claims"]] == [True, False, False, False]
    with (tmp_path / "new" / "means.csv").open() as file:
        assert list(csv.DictReader(file)) == [
            {"seats": "10", "cells": "1234.5"},
            {"seats": "20", "cells": "0.01234"},
        ]
    report = (tmp_path / "new" / "report.md").read_text()
    assert FOUND.command in report
    assert "`--out docs/evaluation/small`" in report
    papers, ours = report.split("| goals of our own, and past the paper |")
    assert "| it shrinks | NO | it does not |" in papers
    assert "| it floats | no, as known | it never did |" in papers
    assert "| goal: it is small | NO | it is large |" in ours


def test_claims_stand_beside_the_figure_they_are_about() -> None:
    claims = (
        Conclusion("it grows (Fig. 6b)", "by 2", True),
        Conclusion("it costs less (Table III)", "it does not", False),
        Conclusion("it floats (Table I)", "it never did", False, asserted=False),
        Conclusion("it is quick", "so it is", True),
    )
    words = "## What is measured\n\nA.\n\n## Fig. 6: growth\n\nB.\n\n## An example (Tables I to III)\n\nC."
    report = as_report(msgspec.structs.replace(FOUND, claims=claims, text=words))
    _, measured, grown, example = report.split("\n## ")
    assert ">" not in measured
    assert grown.startswith("Fig. 6: growth\n\n> it grows (Fig. 6b): **it held**; by 2.\n\nB.")
    assert "> it costs less (Table III): **IT DID NOT HOLD**; it does not.\n" in example
    assert example.endswith("> it floats (Table I): **it did not hold, as is known**; it never did.\n\nC.\n")


def test_figures_and_tables_are_found_by_their_numbers() -> None:
    assert labels("Fig. 8, 11 and 12") == {("Fig", "8"), ("Fig", "11"), ("Fig", "12")}
    assert labels("Figure 8: a time line") == labels("arrive (Fig. 8)") == labels("Fig. 8a") == {("Fig", "8")}
    assert labels("Table 4: latency") == {("Tab", "4")}
    assert labels("tables of figures, 12 of them") == set()


def test_without_pyarrow_tables_are_csv_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "has_parquet", lambda: False)
    assert [path.name for path in write(FOUND, tmp_path)][:3] == ["results.json", "means.csv", "cost.png"]


def test_index_links_every_report_and_names_claims_that_did_not_hold(tmp_path: Path) -> None:
    report, results = write_index([FOUND], tmp_path, "causeway evaluate all --seed 0")
    words = report.read_text()
    assert "| [A small one](small/report.md) | 3 | 1 | 1 | 0 | 1 |" in words
    assert "| small | it shrinks | NO | it does not |" in words
    assert "| small | it floats | no, as known | it never did |" in words
    assert words.index("claim of a paper that") < words.index("goal of our own that") < words.index("it is small")
    assert "it grows" not in words
    assert json.loads(results.read_text())["experiments"]["small"][0]["claim"] == "it grows"


def test_numbers_of_a_table_stand_right_and_are_short() -> None:
    lines = as_markdown([{"layout": "bus", "cells": 1234.5}, {"layout": "tree", "cells": 0.01234}]).splitlines()
    assert lines[1] == "|---|---:|"
    assert lines[2:] == ["| bus | 1,234 |", "| tree | 0.0123 |"]
    assert shown(1_000_000) == "1,000,000"


def test_numbers_of_a_paper_are_shown_as_it_prints_them() -> None:
    lines = as_markdown([{"paper": Digits("23.97")}, {"paper": Digits("8.50")}]).splitlines()
    assert lines[1:] == ["|---:|", "| 23.97 |", "| 8.50 |"]
