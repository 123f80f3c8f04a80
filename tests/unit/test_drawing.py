"""Figures: the same files for the same numbers, and a clear word when they cannot be drawn."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from causeway.drawing import check_drawing, draw
from causeway.errors import ConfigError
from causeway.figures import Curve, Figure

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


@pytest.mark.parametrize("extra", ["evaluate", "pipeline"])
def test_missing_matplotlib_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=rf"pip install 'causeway-mq\[{extra}\]'"):
        check_drawing(extra)


def test_bars_are_explained_under_the_axes_where_there_are_some(tmp_path: Path) -> None:
    curve = Curve("measured", (1, 2, 4), (5, 7, 9), ((4, 6), (6, 8), (8, 10)))
    with_bars = Figure("with", "Cost", "servers", "cells", (curve,), bars="ten seeds")
    bare = msgspec.structs.replace(with_bars, name="bare", curves=(msgspec.structs.replace(curve, ranges=()),))
    assert "(bars: ten seeds, behind marks where short)" in draw(with_bars, tmp_path)[1].read_text()
    assert "bars" not in draw(bare, tmp_path)[1].read_text()


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_curves_that_lie_on_one_another_stand_side_by_side_with_their_bars(tmp_path: Path, scale: str) -> None:
    curves = tuple(Curve(name, (1, 2), (5, 7), ((4, 6), (6, 8)), style=at) for at, name in enumerate("ab"))
    drawn = draw(Figure("two", "Cost", "servers", "cells", curves, scale=scale), tmp_path)[1].read_text()
    lines = re.findall(r'd="M ([\d.]+) ([\d.]+) \nL ([\d.]+) ([\d.]+) \n" clip-path', drawn)
    bars = {x for x, _, end, _ in lines if x == end}
    joined = [(x, end) for x, y, end, high in lines if x != end and y != high]
    assert len(joined) == len({x for x, _ in joined}) == 2
    assert {x for ends in joined for x in ends} <= bars


@pytest.mark.parametrize(
    "module", ["causeway", "causeway.cli.broker", "causeway.cli.evaluate", "causeway.evaluate.aaa"]
)
def test_nothing_loads_matplotlib_before_it_draws(module: str) -> None:
    code = f"import sys, {module}; print('matplotlib' in sys.modules or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "False"


def test_labels_of_ticks_do_not_touch_and_powers_of_two_all_have_theirs() -> None:
    from causeway.drawing import _spaced

    assert _spaced([200, 500, 1000, 2000, 5000, 10_000, 100_000]) == [200, 500, 1000, 2000, 5000, 10_000, 100_000]
    assert 500 not in _spaced([2, 100, 400, 500, 100_000])
    powers = [2**number for number in range(4, 15)]
    assert _spaced(powers) == powers
