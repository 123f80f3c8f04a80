"""The evaluation of GEMOM, section IV: placement by risk beside round robin, on the paper's example and on random ones.

Owns: which instances are looked at, and the tables and figures of the report. Must not know: how items are placed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from causeway.evaluate.burst_brokers import BurstCase, BurstCount, replayed_bursts
from causeway.evaluate.evaluation import Evaluation, Extent
from causeway.evaluate.fits import another
from causeway.evaluate.gemom_bursts import burst_figure, burst_tables
from causeway.evaluate.gemom_words import conclusions, text
from causeway.evaluate.paper_placement import example
from causeway.evaluate.placement_trials import (
    BROKERS,
    BY_ITEM,
    CORRELATION,
    EASED,
    GROUPS,
    ITEMS,
    NONE,
    USE,
    WHOLE,
    FailureTrial,
    PlacementTrial,
    TrialCase,
    Trials,
    measure,
)
from causeway.figures import Curve, Figure
from causeway.placement.comparisons import BY_RISK, MEAN_LOAD, PLACEMENTS, ROUND_ROBIN
from causeway.spread import run_cases

TITLE: Final = "What placement by risk gains: GEMOM, section IV"


class TrialPlan(msgspec.Struct, frozen=True):
    """How many random instances, and which."""

    instances: int
    """For each correlation."""
    correlations: tuple[float, ...]
    failing: int
    """For each use."""
    uses: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8)
    bursts: tuple[int, int] = (1, 40)
    """Seeds, and seconds of each."""


QUICK: Final = TrialPlan(instances=10, correlations=(0.0, 0.3, 0.6, 0.9), failing=6)
FULL: Final = TrialPlan(instances=60, correlations=(0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9), failing=30, bursts=(6, 120))

Case = TrialCase | BurstCase
Found = Trials | list[BurstCount]


def plan_cases(plan: TrialPlan, seed: int) -> list[Case]:
    """Every instance of a plan, the longest first."""
    seeds, seconds = plan.bursts
    return [
        *(BurstCase(seed=seed + n, seconds=seconds) for n in range(seeds)),
        *(TrialCase(CORRELATION, use, seed + n, fails=True) for use in plan.uses for n in range(plan.failing)),
        *(TrialCase(each, USE, seed + n) for each in plan.correlations for n in range(plan.instances)),
    ]


def measure_either(case: Case) -> Found:
    """One case."""
    return replayed_bursts(case) if isinstance(case, BurstCase) else measure(case)


def evaluate(extent: Extent, tick: Callable[[int, int], None] = lambda done, total: None) -> Evaluation:
    """Compute everything and put it beside the paper; `tick` hears how much of the work is done."""
    cases = plan_cases(QUICK if extent.quick else FULL, extent.seed)
    found = run_cases(measure_either, cases, extent.spread, tick)
    trials = [one for one in found if isinstance(one, Trials)]
    placed = [trial for one in trials for trial in one.placements]
    failed = [trial for one in trials for trial in one.failures]
    return evaluated(placed, failed, [count for one in found if isinstance(one, list) for count in one], extent)


def evaluated(
    placed: Sequence[PlacementTrial], failed: Sequence[FailureTrial], bursts: Sequence[BurstCount], extent: Extent
) -> Evaluation:
    """What instances and bursts say."""
    gains = gains_of(placed)
    tables = {
        **example(),
        "correlation": correlation_table(placed, gains),
        "mirrors": mirror_table(failed),
        **burst_tables(bursts),
        "instance_gains": gains,
        "placement_trials": [msgspec.structs.asdict(trial) for trial in placed],
        "failure_trials": [msgspec.structs.asdict(trial) for trial in failed],
    }
    return Evaluation(
        "gemom",
        TITLE,
        extent.command("gemom"),
        {
            "seed": extent.seed,
            "quick": extent.quick,
            "items": ITEMS,
            "brokers": BROKERS,
            "groups": GROUPS,
            "use": USE,
            "correlation": CORRELATION,
        },
        conclusions(tables),
        tables,
        figures(tables),
        text(tables),
    )


# Tables -------------------------------------------------------------------------------------------------------------
def gains_of(placed: Sequence[PlacementTrial]) -> list[dict[str, Any]]:
    """Equation (5) for whole placements: what part of another one's loss and largest risk is saved, by instance."""
    by_instance: dict[tuple[float, int], dict[str, PlacementTrial]] = {}
    for trial in placed:
        by_instance.setdefault((trial.correlation, trial.seed), {})[trial.placement] = trial
    return [
        {
            "correlation": correlation,
            "seed": seed,
            "over": other,
            "gain": round(1 - trials[BY_RISK].loss / trials[other].loss, 6),
            "risk_gain": round(1 - trials[BY_RISK].largest_risk / trials[other].largest_risk, 6),
        }
        for (correlation, seed), trials in by_instance.items()
        for other in (ROUND_ROBIN, MEAN_LOAD)
    ]


def correlation_table(placed: Sequence[PlacementTrial], gains: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How much is lost by each placement, and gained over the others, against the correlation inside groups."""
    rows = []
    for correlation in sorted({trial.correlation for trial in placed}):
        row: dict[str, Any] = {"correlation": correlation}
        for name in PLACEMENTS:
            trials = [t for t in placed if (t.correlation, t.placement) == (correlation, name)]
            key = name.replace(" ", "_")
            row["instances"] = len(trials)
            mean, width = another([100 * trial.loss for trial in trials], len(trials))
            row |= {f"{key}_loss": round(mean, 4), f"{key}_plus_minus": round(width, 4)}
            row[f"{key}_largest_risk"] = round(statistics.fmean(trial.largest_risk for trial in trials), 5)
        for other in (ROUND_ROBIN, MEAN_LOAD):
            values = [gain["gain"] for gain in gains if (gain["correlation"], gain["over"]) == (correlation, other)]
            low, middle, high = spread_of(values)
            key = other.replace(" ", "_")
            row |= {f"over_{key}": middle, f"over_{key}_low": low, f"over_{key}_high": high}
        rows.append(row)
    return rows


def spread_of(values: Sequence[float]) -> tuple[float, float, float]:
    """Tenth percentile, median, ninetieth percentile."""
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    return round(tenths[0], 4), round(statistics.median(values), 4), round(tenths[-1], 4)


def mirror_table(failed: Sequence[FailureTrial]) -> list[dict[str, Any]]:
    """What is lost and how large the largest risk is after failures, by use and way to mirror."""
    groups: dict[tuple[float, str, int], list[FailureTrial]] = {}
    for trial in failed:
        groups.setdefault((trial.use, trial.mirrors, trial.failures), []).append(trial)
    rows = []
    for (use, mirrors, failures), trials in sorted(groups.items(), key=lambda pair: _mirror_order(pair[0])):
        low, _middle, high = spread_of([trial.largest_risk for trial in trials])
        rows.append(
            {
                "use": use,
                "mirrors": mirrors,
                "failures": failures,
                "instances": len(trials),
                "loss": round(100 * statistics.fmean(trial.loss for trial in trials), 5),
                "largest_risk": statistics.fmean(trial.largest_risk for trial in trials),
                "largest_risk_low": low,
                "largest_risk_high": high,
                "worst_risk": statistics.fmean(trial.worst_risk for trial in trials),
            }
        )
    return rows


def _mirror_order(key: tuple[float, str, int]) -> tuple[float, int, int]:
    return key[0], key[2], (BY_ITEM, EASED, WHOLE, NONE).index(key[1])


# Figures ------------------------------------------------------------------------------------------------------------
def figures(tables: dict[str, list[dict[str, Any]]]) -> tuple[Figure, ...]:
    """All figures of the report."""
    return (
        _gain_at_brokers(tables["gains"]),
        _gain(tables["correlation"]),
        _loss(tables["correlation"]),
        _failures(tables["mirrors"]),
        _failure_losses(tables["mirrors"]),
        burst_figure(tables["burst_seconds"]),
    )


def _gain_at_brokers(rows: Sequence[dict[str, Any]]) -> Figure:
    labels = {
        "printed": "from the paper's printed Table III",
        "recomputed": "its placement, from Tables I and II",
        "ours": "ours, from Tables I and II",
    }
    return Figure(
        "gain_at_brokers",
        "The paper's example: gain over its round robin (Fig. 2)",
        "broker",
        "normalised gain, equation (5)",
        tuple(
            Curve(
                label,
                tuple(row["broker"] for row in rows if row["of"] == who),
                tuple(row["gain"] for row in rows if row["of"] == who),
                style=style,
                hollow=who == "printed",
                joined=False,
            )
            for style, (who, label) in enumerate(labels.items())
        ),
        scale="linear",
    )


def _gain(rows: Sequence[dict[str, Any]]) -> Figure:
    xs = tuple(row["correlation"] for row in rows)

    def curve(other: str, style: int) -> Curve:
        key = f"over_{other.replace(' ', '_')}"
        ranges = tuple((row[f"{key}_low"], row[f"{key}_high"]) for row in rows)
        return Curve(f"over {other}: median, 10 to 90 %", xs, tuple(row[key] for row in rows), ranges, style=style)

    return Figure(
        "gain_by_correlation",
        f"Placement by risk, {ITEMS} items on {BROKERS} brokers, {USE:.0%} used: gain",
        "correlation of items of one group",
        "part of the loss that is saved",
        (curve(ROUND_ROBIN, 0), curve(MEAN_LOAD, 1)),
        scale="linear",
        bars="10 to 90 % of the instances",
    )


def _loss(rows: Sequence[dict[str, Any]]) -> Figure:
    xs = tuple(row["correlation"] for row in rows)

    def curve(name: str, style: int) -> Curve:
        key = name.replace(" ", "_")
        ends = [(row[f"{key}_loss"], row[f"{key}_plus_minus"]) for row in rows]
        ranges = tuple((mean - width, mean + width) for mean, width in ends)
        return Curve(name, xs, tuple(mean for mean, _width in ends), ranges, style=style)

    return Figure(
        "loss_by_correlation",
        f"{ITEMS} items on {BROKERS} brokers, {USE:.0%} used: mean loss",
        "correlation of items of one group",
        "expected loss, % of all rates",
        (curve(ROUND_ROBIN, 0), curve(MEAN_LOAD, 1), curve(BY_RISK, 2)),
        scale="linear",
        bars="95 % range of the mean of as many other instances",
    )


def _by_use(rows: Sequence[dict[str, Any]], mirrors: str, failures: int, metric: str) -> Curve:
    """One way to mirror against the use of all brokers."""
    chosen = [row for row in rows if (row["mirrors"], row["failures"]) == (mirrors, failures)]
    return Curve(
        f"{'one fails' if failures == 1 else 'two fail'}: {mirrors}",
        tuple(round(100 * row["use"]) for row in chosen),
        tuple(row[metric] for row in chosen),
        style=(WHOLE, BY_ITEM, EASED, NONE).index(mirrors),
        hollow=failures == 2,
    )


def _failures(rows: Sequence[dict[str, Any]]) -> Figure:
    none = _by_use(rows, NONE, 1, "largest_risk")
    return Figure(
        "risk_after_failures",
        f"Mirrors on {BROKERS} brokers: the largest risk after failures",
        "use of all brokers, %",
        "largest overload probability, mean",
        (
            *(_by_use(rows, mirrors, n, "largest_risk") for n in (1, 2) for mirrors in (WHOLE, BY_ITEM, EASED)),
            msgspec.structs.replace(none, formula=NONE),
        ),
        scale="linear",
        y_scale="log",
    )


def _failure_losses(rows: Sequence[dict[str, Any]]) -> Figure:
    return Figure(
        "loss_after_failures",
        f"Mirrors on {BROKERS} brokers: what is lost after failures",
        "use of all brokers, %",
        "expected loss, % of all rates, mean",
        tuple(_by_use(rows, mirrors, failures, "loss") for failures in (1, 2) for mirrors in (WHOLE, BY_ITEM, NONE)),
        scale="linear",
    )
