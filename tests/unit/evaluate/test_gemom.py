"""The evaluation of GEMOM: a committed report that is what placement does now, and its claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from causeway.evaluate import gemom
from causeway.evaluate.burst_brokers import BurstCase, replayed_bursts
from causeway.evaluate.evaluation import Extent
from causeway.evaluate.gemom_words import _eased, row_of
from causeway.evaluate.placement_trials import BY_ITEM, CORRELATION, EASED, USE, TrialCase, measure
from causeway.placement.comparisons import MEAN_LOAD, PLACEMENTS, ROUND_ROBIN


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


def assert_recorded(found: Sequence[msgspec.Struct], rows: Sequence[dict[str, Any]], *key: str) -> None:
    """Every one of these is in the report, to the digits in which libraries of linear algebra agree."""
    for one in found:
        numbers = msgspec.structs.asdict(one)
        recorded = row_of(rows, **{name: numbers[name] for name in key})
        for name, value in numbers.items():
            same = recorded[name] == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value)
            assert same, f"{name}: {recorded[name]}, not {value}"


def test_committed_report_is_what_placement_does_now(committed: dict[str, Any]) -> None:
    """Otherwise: causeway evaluate gemom --quick --seed 0 --out docs/evaluation/gemom."""
    placed = measure(TrialCase(0.6, USE, 3)).placements
    assert len(placed) == len(PLACEMENTS)
    assert_recorded(placed, committed["placement_trials"], "correlation", "seed", "placement")
    failed = measure(TrialCase(CORRELATION, 0.6, 2, fails=True)).failures
    assert len(failed) == 4 * 3
    assert_recorded(failed, committed["failure_trials"], "use", "seed", "mirrors", "failures")


def test_committed_bursts_overload_brokers_as_they_do_now(committed: dict[str, Any]) -> None:
    (count,) = replayed_bursts(BurstCase(seconds=gemom.QUICK.bursts[1]), (ROUND_ROBIN,))
    recorded = row_of(committed["burst_counts"], placement=ROUND_ROBIN)
    assert {name: getattr(count, name) for name in recorded} == recorded
    seconds = [row["overloaded"] for row in committed["burst_seconds"] if row["placement"] == ROUND_ROBIN]
    assert list(count.overloaded_by_second) == seconds
    assert sum(seconds) > 0


def test_another_seed_gives_numbers_inside_the_stated_range(committed: dict[str, Any]) -> None:
    seeds = range(gemom.QUICK.instances, 2 * gemom.QUICK.instances)
    trials = [trial for seed in seeds for trial in measure(TrialCase(0.6, USE, seed)).placements]
    gains = gemom.gains_of(trials)
    (row,) = gemom.correlation_table(trials, gains)
    stated = row_of(committed["correlation"], correlation=0.6)
    for other in (ROUND_ROBIN, MEAN_LOAD):
        key = f"over_{other.replace(' ', '_')}"
        assert stated[f"{key}_low"] <= row[key] <= stated[f"{key}_high"]
        assert row[key] > 0.5
        assert min(gain["gain"] for gain in gains if gain["over"] == other) > 0
    for name in ("by_risk", "round_robin", "mean_load"):
        assert abs(row[f"{name}_loss"] - stated[f"{name}_loss"]) <= stated[f"{name}_plus_minus"]
    assert row["by_risk_loss"] < row["mean_load_loss"] < row["round_robin_loss"]


def test_easing_that_does_nothing_is_no_gain(committed: dict[str, Any]) -> None:
    rows = [dict(row) for row in committed["mirrors"]]
    assert _eased(rows).held
    for row in rows:
        if row["mirrors"] == EASED:
            same = row_of(rows, use=row["use"], failures=row["failures"], mirrors=BY_ITEM)
            row["largest_risk"] = same["largest_risk"]
    assert not _eased(rows).held


def test_what_easing_costs_without_a_failure_and_after_two_is_said_where_it_costs(committed: dict[str, Any]) -> None:
    rows = [dict(row) for row in committed["mirrors"]]
    found = _eased(rows).found
    for failures, words in ((0, "with all brokers up"), (2, "with two broken")):
        risks = {
            way: {
                row["use"]: row["largest_risk"] for row in rows if (row["mirrors"], row["failures"]) == (way, failures)
            }
            for way in (BY_ITEM, EASED)
        }
        use = max(risks[EASED], key=lambda use: risks[EASED][use] - risks[BY_ITEM][use])
        assert f"{words} {risks[EASED][use]:.2g} instead of {risks[BY_ITEM][use]:.2g} at {use:.0%} use" in found
    for row in rows:
        if row["mirrors"] == EASED and row["failures"] != 1:
            row["largest_risk"] = 0.0
    assert "Otherwise" not in _eased(rows).found


def test_small_plan_gives_a_whole_evaluation_and_hears_of_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = gemom.TrialPlan(instances=2, correlations=(0.0, 0.9), failing=2, uses=(0.5,), bursts=(1, 2))
    monkeypatch.setattr(gemom, "QUICK", tiny)
    told: list[tuple[int, int]] = []
    found = gemom.evaluate(Extent(quick=True, seed=4), lambda done, total: told.append((done, total)))
    assert len(told) == 7
    assert told[-1][0] == told[-1][1]
    assert found.parameters["seed"] == 4
    assert len(found.tables["failure_trials"]) == 2 * 4 * 3
