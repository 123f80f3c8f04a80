"""The evaluation of GEMOM: a committed report that is what placement does now, and its claims."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from causeway.evaluate import gemom
from causeway.evaluate.burst_brokers import PLACEMENTS
from causeway.evaluate.evaluation import Extent
from causeway.evaluate.gemom_words import row_of
from causeway.evaluate.placement_trials import MEAN_LOAD, ROUND_ROBIN, USE, TrialCase, measure


def test_placement_by_risk_is_never_riskier_than_round_robin(committed: dict[str, Any]) -> None:
    gains = [row for row in committed["instance_gains"] if row["over"] == ROUND_ROBIN]
    assert len(gains) == gemom.QUICK.instances * len(gemom.QUICK.correlations)
    assert min(row["gain"] for row in gains) > 0


def test_bursts_overload_fewest_brokers_when_placed_by_risk(committed: dict[str, Any]) -> None:
    by_risk, *others = committed["bursts"]
    assert [row["placement"] for row in (by_risk, *others)] == list(PLACEMENTS)
    for row in committed["bursts"]:
        assert row["published"] == row["handled"] == row["received"] > 1000
        assert row["overloaded_seconds"] == row["computed_seconds"]
    assert all(by_risk["overloaded_seconds"] < row["overloaded_seconds"] for row in others)


def test_claims_that_do_not_hold_are_those_about_the_papers_numbers(committed: dict[str, Any]) -> None:
    failed = [claim for claim in committed["claims"] if not claim["held"]]
    assert len(failed) == 4
    assert not any(claim["asserted"] for claim in failed)


def test_committed_report_is_what_placement_does_now(committed: dict[str, Any]) -> None:
    """Otherwise: causeway evaluate gemom --quick --seed 0 --out docs/evaluation/gemom."""
    (trial, *_) = measure(TrialCase(0.6, USE, 3)).placements
    recorded = row_of(committed["placement_trials"], correlation=0.6, seed=3, placement=trial.placement)
    numbers = {name: value for name, value in msgspec.structs.asdict(trial).items() if name != "placement"}
    assert {name: recorded[name] for name in numbers} == pytest.approx(numbers, rel=1e-6)


def test_another_seed_gives_numbers_inside_the_stated_range(committed: dict[str, Any]) -> None:
    seeds = range(gemom.QUICK.instances, 2 * gemom.QUICK.instances)
    trials = [trial for seed in seeds for trial in measure(TrialCase(0.6, USE, seed)).placements]
    (row,) = gemom.correlation_table(trials, gemom.gains_of(trials))
    stated = row_of(committed["correlation"], correlation=0.6)
    for other in (ROUND_ROBIN, MEAN_LOAD):
        key = f"over_{other.replace(' ', '_')}"
        assert stated[f"{key}_low"] <= row[key] <= stated[f"{key}_high"]
    for name in ("by_risk", "round_robin", "mean_load"):
        assert abs(row[f"{name}_loss"] - stated[f"{name}_loss"]) <= stated[f"{name}_plus_minus"]


def test_small_plan_gives_a_whole_evaluation_and_hears_of_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = gemom.TrialPlan(instances=2, correlations=(0.0, 0.9), failing=2, uses=(0.5,), bursts=(1, 2))
    monkeypatch.setattr(gemom, "QUICK", tiny)
    told: list[tuple[int, int]] = []
    found = gemom.evaluate(Extent(quick=True, seed=4), lambda done, total: told.append((done, total)))
    assert len(told) == 7
    assert told[-1][0] == told[-1][1]
    assert found.parameters["seed"] == 4
    assert len(found.tables["failure_trials"]) == 2 * 3 * 3
