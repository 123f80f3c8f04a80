"""The evaluation of AAA, section 6: what causal order costs against the number of servers, with and without domains.

Owns: which networks are measured, how their costs grow, and whether that is what the paper says. Must not know: how a
cost is counted, how a figure is drawn.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from causeway.evaluate.aaa_words import conclusions, text
from causeway.evaluate.evaluation import Evaluation, Extent
from causeway.evaluate.fits import another, confidence, logarithm_fit, power_fit
from causeway.evaluate.seat_costs import (
    BROADCAST,
    PING,
    PING_ALL,
    SETTLED,
    TREE_CHILDREN,
    TREE_SEATS,
    UNICAST,
    CostCase,
    SeatCost,
    measure,
    warm_up_for,
)
from causeway.figures import Curve, Figure
from causeway.spread import run_cases

TITLE: Final = "What causal order costs: AAA, section 6"
METRICS: Final = ("cells", "operations", "stamp_bytes", "row_bytes", "hops")

Sizes = tuple[int, ...]


class Plan(msgspec.Struct, frozen=True):
    """Sizes by layout and traffic."""

    seeds: int
    halves: dict[str, int]
    """Messages in each half of a measurement, by traffic. Round trips one at a time are all alike."""
    sizes: dict[tuple[str, str], Sizes]
    once: dict[tuple[str, str], Sizes] = {}
    """Sizes that take so long that one seed must do: they show whether the others' growth goes on."""


QUICK: Final = Plan(
    seeds=3,
    halves={UNICAST: 400, SETTLED: 400, BROADCAST: 36, PING: 10, PING_ALL: 5},
    sizes={
        ("flat", UNICAST): (8, 16, 25, 36),
        ("bus", UNICAST): (16, 36, 100, 324),
        ("daisy", UNICAST): (16, 36, 100),
        ("tree", UNICAST): (33, 105, 321, 969),
        ("flat", BROADCAST): (8, 14, 20),
        **{(layout, BROADCAST): (9, 16, 36) for layout in ("bus", "daisy")},
        ("tree", BROADCAST): (9, 33),
        **{(layout, PING_ALL): (9, 17, 33, 57) for layout in ("flat", "bus")},
        ("flat", SETTLED): (25,),
        **{(layout, SETTLED): (36,) for layout in ("bus", "daisy")},
        ("tree", SETTLED): (33,),
    },
    once={
        **{(layout, PING): (9, 33, 105) for layout in ("flat", "bus", "tree")},
        ("tree", PING_ALL): (9, 33),
    },
)

FULL: Final = Plan(
    seeds=3,
    halves={UNICAST: 1500, SETTLED: 1500, BROADCAST: 100, PING: 10, PING_ALL: 5},
    sizes={
        ("flat", UNICAST): (8, 16, 25, 36, 64),
        ("bus", UNICAST): (16, 36, 64, 100, 150, 324, 625, 1000),
        ("daisy", UNICAST): (16, 36, 64, 100, 150, 324, 1000),
        ("tree", UNICAST): (33, 105, 321, 969),
        ("flat", BROADCAST): (8, 14, 24, 36),
        ("bus", BROADCAST): (9, 16, 36, 64, 100),
        ("daisy", BROADCAST): (9, 16, 36, 64),
        ("tree", BROADCAST): (9, 33, 105),
        **{(layout, PING_ALL): (9, 17, 33, 64) for layout in ("flat", "bus")},
        ("flat", SETTLED): (25,),
        **{(layout, SETTLED): (36,) for layout in ("bus", "daisy")},
        ("tree", SETTLED): (33,),
    },
    once={
        ("flat", UNICAST): (100, 150),
        ("flat", BROADCAST): (64,),
        ("bus", BROADCAST): (150,),
        ("daisy", BROADCAST): (100, 150),
        **{(layout, SETTLED): (100,) for layout in ("bus", "daisy")},
        ("tree", SETTLED): (105,),
        **{(layout, PING): (9, 33, 105, 150) for layout in ("flat", "bus")},
        **{(layout, PING_ALL): (105, 150) for layout in ("flat", "bus")},
        ("tree", PING): (9, 33, 105),
        ("tree", PING_ALL): (9, 33, 105),
    },
)

FITTED_LEAST: Final = 3
"""Sizes: a line through two of them fits whatever they are."""


def plan_cases(plan: Plan, seed: int) -> list[CostCase]:
    """Every measurement of a plan, the longest first."""
    cases: list[CostCase] = []
    for sizes_of, seeds in ((plan.sizes, plan.seeds), (plan.once, 1)):
        for (layout, traffic), sizes in sizes_of.items():
            for seats in sizes:
                half = plan.halves[traffic]
                if traffic == BROADCAST:
                    half = seats * math.ceil(half / seats)
                warm_up = warm_up_for(layout, traffic, seats, half)
                cases += [CostCase(layout, traffic, seats, seed + add, warm_up, half) for add in range(seeds)]
    return sorted(cases, key=lambda case: -case.weight)


def evaluate(extent: Extent, tick: Callable[[int, int], None] = lambda done, total: None) -> Evaluation:
    """Measure everything and compare it with the paper; `tick` hears how much of the work is done."""
    plan = QUICK if extent.quick else FULL
    cases = plan_cases(plan, extent.seed)
    measured = run_cases(measure, cases, extent.spread, tick)
    order = list(LABELS)
    measured.sort(key=lambda cost: (cost.traffic, order.index(cost.layout), cost.seats, cost.seed))
    return evaluated(measured, extent)


def evaluated(measured: Sequence[SeatCost], extent: Extent) -> Evaluation:
    """What measurements say."""
    means = means_of(measured)
    tables = {"measurements": [msgspec.structs.asdict(c) for c in measured], "means": means, "fits": fits_of(measured)}
    return Evaluation(
        "aaa",
        TITLE,
        extent.command("aaa"),
        {
            "seed": extent.seed,
            "quick": extent.quick,
            "tree_domain_seats": TREE_SEATS,
            "tree_children": TREE_CHILDREN,
        },
        conclusions(tables),
        tables,
        figures(means),
        text(tables),
    )


# Means and fits -----------------------------------------------------------------------------------------------------
def means_of(measured: Iterable[SeatCost]) -> list[dict[str, Any]]:
    """For each network and traffic: means over seeds, and from the least to the greatest."""
    groups: dict[tuple[str, str, int], list[SeatCost]] = {}
    for cost in measured:
        groups.setdefault((cost.traffic, cost.layout, cost.seats), []).append(cost)
    means = []
    for (traffic, layout, seats), costs in groups.items():
        first = costs[0]
        row: dict[str, Any] = {
            "traffic": traffic,
            "layout": layout,
            "seats": seats,
            "seeds": len(costs),
            "domains": first.domains,
            "domain_seats": first.domain_seats,
            "depth": first.depth,
            "formula": first.formula,
            "deliveries": first.deliveries,
            "worst_agreement": max(cost.agreement for cost in costs),
        }
        for metric in METRICS:
            values = [getattr(cost, metric) for cost in costs]
            row |= {
                metric: round(statistics.fmean(values), 3),
                f"{metric}_least": min(values),
                f"{metric}_greatest": max(values),
            }
        means.append(row)
    return means


def fits_of(measured: Sequence[SeatCost]) -> list[dict[str, Any]]:
    """For each layout, traffic and metric: how it grows, as a power and as a logarithm, with 95 % over seeds."""
    fits = []
    for traffic, layout in dict.fromkeys((cost.traffic, cost.layout) for cost in measured):
        group = [cost for cost in measured if (cost.traffic, cost.layout) == (traffic, layout)]
        seeds = sorted({cost.seed for cost in group})
        sizes = [n for n in sorted({c.seats for c in group}) if len([c for c in group if c.seats == n]) == len(seeds)]
        for metric in METRICS:
            curves = [
                [getattr(cost, metric) for n in sizes for cost in group if (cost.seats, cost.seed) == (n, seed)]
                for seed in seeds
            ]
            if len(sizes) < FITTED_LEAST or any(value <= 0 for curve in curves for value in curve):
                continue
            powers = [power_fit(sizes, curve) for curve in curves]
            logarithms = [logarithm_fit(sizes, curve) for curve in curves]
            exponent, width = confidence([fit.slope for fit in powers])
            _, wider = another([fit.slope for fit in powers])
            fits.append(
                {
                    "traffic": traffic,
                    "layout": layout,
                    "metric": metric,
                    "from_seats": sizes[0],
                    "to_seats": sizes[-1],
                    "seeds": len(seeds),
                    "exponent": exponent,
                    "plus_minus": width if math.isfinite(width) else None,
                    "another_seed": wider if math.isfinite(wider) else None,
                    "factor": math.exp(statistics.fmean(fit.intercept for fit in powers)),
                    "power_r2": statistics.fmean(fit.r2 for fit in powers),
                    "per_ln_n": statistics.fmean(fit.slope for fit in logarithms),
                    "at_one": statistics.fmean(fit.intercept for fit in logarithms),
                    "logarithm_r2": statistics.fmean(fit.r2 for fit in logarithms),
                }
            )
    return fits


# Figures ------------------------------------------------------------------------------------------------------------
LABELS: Final = {
    "flat": "one domain",
    "bus": "bus, √n domains",
    "daisy": "daisy, √n domains",
    "tree": f"tree, s={TREE_SEATS}, k={TREE_CHILDREN}",
}


def figures(means: Sequence[dict[str, Any]]) -> tuple[Figure, ...]:
    """All figures of the report."""
    servers = "servers n (seats)"
    return (
        Figure(
            "unicast_cells",
            "Remote unicast, random pairs: cells in stamps (Fig. 8, 11)",
            servers,
            "cells per message, all hops",
            (*curves(means, UNICAST, "cells"), *_formulas(means)),
        ),
        Figure(
            "unicast_operations",
            "Remote unicast, random pairs: work of the clocks (Fig. 12)",
            servers,
            "clock operations per message (cells)",
            curves(means, UNICAST, "operations"),
        ),
        Figure(
            "unicast_bytes",
            "Remote unicast, random pairs: bytes of stamps and of rows",
            servers,
            "bytes per message",
            (
                *curves(means, UNICAST, "stamp_bytes", ("flat", "bus", "tree"), "stamps, {}"),
                *curves(means, UNICAST, "row_bytes", ("flat", "bus", "tree"), "rows, {}", hollow=True),
            ),
        ),
        Figure(
            "broadcast_cells",
            "Broadcast, everybody in turn: cells in stamps (Fig. 9)",
            servers,
            "cells per broadcast, all stamps",
            curves(means, BROADCAST, "cells"),
        ),
        Figure(
            "ping_pong_operations",
            "The paper's ping-pong: what a round trip costs our clocks (Fig. 8, 9)",
            servers,
            "clock operations per round trip (cells)",
            (
                *curves(means, PING, "operations", ("flat", "bus", "tree"), "one answers, {}"),
                *curves(means, PING_ALL, "operations", ("flat", "bus", "tree"), "all answer, {}", hollow=True),
                _whole_matrix(means),
            ),
        ),
    )


def curves(
    means: Sequence[dict[str, Any]],
    traffic: str,
    metric: str,
    layouts: Sequence[str] = tuple(LABELS),
    label: str = "{}",
    *,
    hollow: bool = False,
) -> tuple[Curve, ...]:
    """One curve per layout that was measured."""
    found = []
    for layout in layouts:
        rows = [row for row in means if (row["traffic"], row["layout"]) == (traffic, layout)]
        if rows:
            found.append(
                Curve(
                    label.format(LABELS[layout]),
                    tuple(row["seats"] for row in rows),
                    tuple(row[metric] for row in rows),
                    tuple((row[f"{metric}_least"], row[f"{metric}_greatest"]) for row in rows),
                    style=list(LABELS).index(layout),
                    hollow=hollow,
                )
            )
    return tuple(found)


def _formulas(means: Sequence[dict[str, Any]]) -> tuple[Curve, ...]:
    """The paper's cost of the farthest message, for each layout it speaks of."""
    found = []
    for layout, label in (("flat", "n²"), ("bus", "3s²"), ("tree", "(2d+1)s²")):
        rows = [row for row in means if (row["traffic"], row["layout"]) == (UNICAST, layout)]
        xs, ys = tuple(row["seats"] for row in rows), tuple(row["formula"] for row in rows)
        found.append(Curve(layout, xs, ys, formula=label))
    return tuple(found)


def _whole_matrix(means: Sequence[dict[str, Any]]) -> Curve:
    """What the paper's servers save for the two messages of a round trip: their matrix, twice at each end."""
    sizes = sorted({row["seats"] for row in means if row["traffic"] == PING})
    return Curve("matrix", tuple(sizes), tuple(4 * n * n for n in sizes), formula="4n²")
