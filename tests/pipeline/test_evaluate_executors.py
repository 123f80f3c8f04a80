"""Experiments whose cases are measured on the executors of a Spark session."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from causeway.evaluate import aaa, gemom
from causeway.evaluate.evaluation import Extent
from causeway.evaluate.seat_costs import BROADCAST, PING, PING_ALL, UNICAST
from causeway.pipeline.executors import Executors
from causeway.spread import Keeping

SEATS = aaa.Plan(
    seeds=1,
    halves={UNICAST: 30, BROADCAST: 10, PING: 2, PING_ALL: 2},
    sizes={
        ("flat", UNICAST): (4, 6, 8),
        ("bus", UNICAST): (8, 9, 16),
        ("daisy", UNICAST): (9, 16),
        ("tree", UNICAST): (9, 33, 105),
        ("flat", BROADCAST): (4, 5, 6),
        ("bus", BROADCAST): (9, 12, 16),
        ("daisy", BROADCAST): (9, 12, 16),
    },
    once={("flat", PING): (4, 8), ("flat", PING_ALL): (4, 6, 8)},
)


def test_sweep_of_an_experiment_finds_what_this_process_finds(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aaa, "QUICK", SEATS)
    here = aaa.evaluate(Extent(quick=True, seed=1))
    ticks: list[tuple[int, int]] = []
    there = aaa.evaluate(
        Extent(quick=True, seed=1, spread=Executors(spark)), lambda done, total: ticks.append((done, total))
    )
    assert len(ticks) == len(aaa.plan_cases(SEATS, 1)) == 25
    assert ticks[-1][0] == ticks[-1][1]
    assert there.as_json() == here.as_json()
    assert there.text == here.text


def test_sweep_goes_on_where_it_was(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = gemom.TrialPlan(instances=2, correlations=(0.9,), failing=2, uses=(0.5,), bursts=(1, 2))
    monkeypatch.setattr(gemom, "FULL", plan)
    first = Keeping(Executors(spark), tmp_path)
    found = gemom.evaluate(Extent(spread=first))
    (lost, *_) = sorted(tmp_path.glob("*.json"))
    lost.unlink()
    again = Keeping(Executors(spark), tmp_path)
    assert gemom.evaluate(Extent(spread=again)).as_json() == found.as_json()
    assert (first.skipped, again.skipped) == (0, len(gemom.plan_cases(plan, 0)) - 1)


def test_what_a_case_raises_names_its_cause(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="invalid literal for int"):
        list(Executors(spark).run(int, ["1", "x"]))
