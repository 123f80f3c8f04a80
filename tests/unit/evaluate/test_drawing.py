"""Figures: the same files for the same numbers, and a clear word when they cannot be drawn."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.errors import ConfigError
from causeway.evaluate.drawing import check_drawing, draw
from causeway.evaluate.evaluation import Curve, Figure

FIGURE = Figure(
    "cost",
    "Cost",
    "servers",
    "cells per message",
    (
        Curve("measured", (10, 20, 40), (5, 20, 90), ((4, 6), (18, 22), (80, 99))),
        Curve("other", (10, 20, 40), (5, 7, 9), style=1, hollow=True),
        Curve("said", (10, 40), (10, 160), formula="n²"),
    ),
)


def test_same_figure_gives_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first, second = draw(FIGURE, tmp_path), draw(FIGURE, tmp_path / "again")
    assert [path.name for path in first] == ["cost.png", "cost.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    drawn = first[1].read_text()
    assert "servers" in drawn
    assert "measured" in drawn
    assert "n²" in drawn


def test_curves_may_be_marks_or_lines_alone(tmp_path: Path) -> None:
    drawn = {}
    for name, marked, joined in (("both", True, True), ("line", False, True), ("marks", True, False)):
        curve = Curve("measured", (1, 2, 4), (5, 7, 9), marked=marked, joined=joined)
        drawn[name] = draw(Figure(name, "Cost", "servers", "cells", (curve,)), tmp_path)[1].read_text()
    assert drawn["line"].count("<use") < drawn["both"].count("<use") == drawn["marks"].count("<use")
    assert drawn["marks"].count("<path") < drawn["both"].count("<path")


def test_missing_matplotlib_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'causeway\[evaluate\]'"):
        check_drawing()


@pytest.mark.parametrize(
    "module", ["causeway", "causeway.cli.broker", "causeway.cli.evaluate", "causeway.evaluate.aaa"]
)
def test_nothing_loads_matplotlib_before_it_draws(module: str) -> None:
    code = f"import sys, {module}; print('matplotlib' in sys.modules or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "False"
