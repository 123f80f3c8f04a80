"""Job `sweep`: a grid of simulator runs, parameters x seeds, over executors: one row per run, and resumable.

A parameter is any option of the simulator (`sim.faults.Options`) with the values it is to take; what is not named is
drawn from the seed, or usual with `base=calm`. A run that is done is kept under `OUT/runs`; the same sweep, or a wider
one, asks only for what is missing there. Numbers are those of the code that made them: after a change everything
runs again.

Owns: the grid, the table. Must not know: what a simulation does, how cases are spread.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from causeway.errors import ConfigError
from causeway.figures import Curve, Figure
from causeway.pipeline.executors import Executors
from causeway.pipeline.frame import JobRequest, JobResult, Tick, count_option, write_small_table
from causeway.sim.faults import Options, options_calm, options_swarm
from causeway.sim.soak import run_bounded
from causeway.sim.verdict import SimVerdict
from causeway.sim.workloads.catalogue import CATALOGUE
from causeway.spread import Keeping, run_cases
from causeway.types import SECOND

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN: Final = ("seeds", "base")
"""Options of the job itself; all others are the simulator's."""
BASES: Final = ("swarm", "calm")
SEEDS_USUAL: Final = 10
RUNS_MAX: Final = 100_000
"""Runs of one sweep: the table is made where the sweep was asked for."""
FAILED_SHOWN_MAX: Final = 10

Grid = dict[str, tuple[Any, ...]]
_TIMES: Final = frozenset(name for name, kind in Options.__annotations__.items() if kind == "Duration")
"""Options that are durations: people give seconds."""


class SweepRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as it is kept."""

    values: dict[str, str]
    """Swept options, as they were written."""
    verdict: SimVerdict
    seconds_taken: float


class SweepCase(msgspec.Struct, frozen=True):
    """One run, as it is asked for."""

    values: dict[str, str]
    options: Options


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Every run of the grid that is not there yet; a table of all."""
    grid = read_grid(request.options)
    cases = list_cases(request, grid)
    keeping = Keeping(Executors(spark), Path(request.out, "runs"))
    rows = run_cases(run_case, cases, keeping, lambda done, total: tick("runs", done, total))
    table = write_small_table(table_of(rows, list(grid)), request.out, "sweep")
    return JobResult(
        job="sweep",
        summary=_summary(rows, grid, keeping.skipped),
        tables=(table,),
        figures=sweep_figures(rows, grid),
        holds=all(row.verdict.ok for row in rows),
    )


def run_case(case: SweepCase) -> SweepRun:
    """On an executor: one run."""
    began = time.monotonic()
    verdict = run_bounded(case.options)
    return SweepRun(values=case.values, verdict=verdict, seconds_taken=round(time.monotonic() - began, 3))


# The grid -----------------------------------------------------------------------------------------------------------
def read_grid(options: Mapping[str, str]) -> Grid:
    """Option -> its values, from texts like `5,7`."""
    kinds = {field.name: field.type for field in msgspec.structs.fields(Options)}
    grid: Grid = {}
    for name, text in options.items():
        if name in OWN:
            continue
        if name not in kinds or name == "seed":
            remedy = f"is no option of the simulator; those are: {', '.join(sorted(set(kinds) - {'seed'}))}"
            raise ConfigError(f"set {name}", text, remedy)
        values = tuple(_value(name, one.strip(), kinds[name]) for one in text.split(","))
        if len(dict.fromkeys(map(str, values))) < len(values):
            raise ConfigError(f"set {name}", text, "has a value twice; give each once")
        grid[name] = values
    return grid


def _value(name: str, text: str, kind: Any) -> Any:
    if name == "workloads":  # a mix: names with + between them
        chosen = tuple(text.split("+"))
        for one in chosen:
            if one not in CATALOGUE:
                raise ConfigError("set workloads", one, f"must be of: {', '.join(CATALOGUE)}; join them with +")
        return chosen
    try:
        return round(float(text) * SECOND) if name in _TIMES else msgspec.convert(text, kind, strict=False)
    except (ValueError, OverflowError) as error:
        what = "seconds" if name in _TIMES else getattr(kind, "__name__", str(kind))
        raise ConfigError(f"set {name}", text, f"must be {what}, or several with commas between them") from error


def list_cases(request: JobRequest, grid: Grid) -> list[SweepCase]:
    """Every combination of values with every seed."""
    seeds = count_option(request, "seeds", SEEDS_USUAL, 1, RUNS_MAX)
    base = request.options.get("base", BASES[0])
    if base not in BASES:
        raise ConfigError("set base", base, f"must be one of: {', '.join(BASES)}")
    combinations = list(itertools.product(*grid.values()))
    if len(combinations) * seeds > RUNS_MAX:
        raise ConfigError("set seeds", seeds, f"makes {len(combinations) * seeds} runs, at most {RUNS_MAX}")
    cases = []
    for values in combinations:
        given = dict(zip(grid, values, strict=True))
        written = {name: _written(name, value) for name, value in given.items()}
        for seed in range(request.seed, request.seed + seeds):
            usual = options_swarm(seed) if base == "swarm" else options_calm(seed)
            cases.append(SweepCase(written, msgspec.structs.replace(usual, **given)))
    return cases


def _written(name: str, value: Any) -> str:
    """A value as people gave it."""
    if isinstance(value, tuple):
        return "+".join(value)
    return f"{value / SECOND:g}" if name in _TIMES else str(value)


# What goes out ------------------------------------------------------------------------------------------------------
def table_of(rows: Sequence[SweepRun], swept: Sequence[str]) -> pa.Table:
    """A row per run: the swept options in columns of their own, before what came out."""
    counts = pa.map_(pa.string(), pa.int64())
    verdicts = [row.verdict for row in rows]
    columns: dict[str, Any] = {f"set_{name}": pa.array([row.values[name] for row in rows]) for name in swept}
    columns |= {
        "seed": pa.array([one.seed for one in verdicts], pa.int64()),
        "ending": pa.array([one.ending for one in verdicts]),
        "evidence": pa.array([one.evidence for one in verdicts]),
        "digest": pa.array([one.digest for one in verdicts]),
        "events": pa.array([one.events for one in verdicts], pa.int64()),
        "turns": pa.array([one.turns for one in verdicts], pa.int64()),
        "virtual_seconds": pa.array([one.virtual_seconds for one in verdicts], pa.float64()),
        "seconds_taken": pa.array([row.seconds_taken for row in rows], pa.float64()),
        "observations": pa.array([list(one.observations.items()) for one in verdicts], counts),
        "faults": pa.array([list(one.faults.items()) for one in verdicts], counts),
        "options": pa.array([msgspec.json.encode(one.options).decode() for one in verdicts]),
    }
    return pa.table(columns)


def _summary(rows: Sequence[SweepRun], grid: Grid, resumed: int) -> dict[str, Any]:
    endings: dict[str, int] = {}
    for row in rows:
        endings[row.verdict.ending] = endings.get(row.verdict.ending, 0) + 1
    failed = [row for row in rows if not row.verdict.ok]
    return {
        "runs": len(rows),
        "resumed": resumed,
        "grid": {name: [_written(name, value) for value in values] for name, values in grid.items()},
        "endings": endings,
        "events": sum(row.verdict.events for row in rows),
        "seconds_of_runs": round(sum(row.seconds_taken for row in rows), 1),
        "failed": [f"seed {row.verdict.seed} {row.values}: {row.verdict.ending}" for row in failed[:FAILED_SHOWN_MAX]],
        "failed_more": max(0, len(failed) - FAILED_SHOWN_MAX),
    }


def sweep_figures(rows: Sequence[SweepRun], grid: Grid) -> tuple[Figure, ...]:
    """Virtual seconds until all was well again, over the first option that was swept; the range is over all else."""
    name = next((name for name, values in grid.items() if len(values) > 1), "")
    if not name:
        return ()
    points: dict[str, list[float]] = {}
    for row in rows:
        points.setdefault(row.values[name], []).append(row.verdict.virtual_seconds)
    try:
        places = {value: float(value) for value in points}
    except ValueError:
        places = {value: float(at) for at, value in enumerate(points, 1)}
    ordered = sorted(points, key=places.__getitem__)
    curve = Curve(
        "mean, and range of all runs",
        tuple(places[value] for value in ordered),
        tuple(sum(points[value]) / len(points[value]) for value in ordered),
        tuple((min(points[value]), max(points[value])) for value in ordered),
    )
    title = "Virtual seconds until everything has converged"
    return (
        Figure(
            name="sweep", title=title, x_label=name, y_label="virtual seconds of a run", curves=(curve,), scale="linear"
        ),
    )
