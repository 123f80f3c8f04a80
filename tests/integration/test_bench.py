"""`make bench` measures: every case of Causeway and of the machine's limit gives a figure, in a moment each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import on_spark

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("system", ["relay", "causeway"])
def test_bench_gives_a_figure_for_every_case(system: str) -> None:
    command = [sys.executable, "-m", "bench", "-k", f"/{system}/", "--runs", "1", "--seconds", "0.1", "--pings", "20"]
    ended = subprocess.run([*command, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    results = json.loads(ended.stdout)["results"]
    assert {row["kind"] for row in results} >= {"express", "roundtrip"}
    assert [row for row in results if row.get("rate", 0) <= 0 and row.get("p50_us", 0) <= 0] == []


@pytest.mark.parametrize(("select", "named"), [("", "connector"), ("rates", "rates"), ("audit", "audit")])
def test_jobs_of_the_pipeline_are_measured_by_name(select: str, named: str) -> None:
    assert list(on_spark(select)) == [named]


def test_bench_names_a_selection_that_selects_nothing() -> None:
    command = [sys.executable, "-m", "bench", "-k", "no-such-case"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "no-such-case" in ended.stderr
