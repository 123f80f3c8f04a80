"""`causeway evaluate`: repeat what the papers measured. Parse, call, print."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from causeway.cli.options import AsJson
from causeway.cli.output import console, notices, print_json
from causeway.drawing import check_drawing
from causeway.errors import ConfigError
from causeway.evaluate.evaluation import Evaluation, Extent
from causeway.evaluate.suite import ALL, EXPERIMENTS, run_experiment
from causeway.evaluate.writing import has_parquet, index_json, write, write_index
from causeway.extras import ARRAYS, install, require
from causeway.progress import Progress
from causeway.spread import Keeping, Processes, Spread

KEPT = "cases"
"""The folder of finished cases, beside the report."""
EXIT_NOT_HELD = 1


def evaluate(
    experiment: Annotated[
        str,
        typer.Argument(
            help="; ".join(f"{name}: {what}" for name, what in EXPERIMENTS.items()) + f"; {ALL}: each of them."
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Smaller networks: a minute per experiment.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the report, numbers and figures; for 'all' it has one folder per experiment. "
            "Default: evaluation/EXPERIMENT, for 'all' evaluation."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random choices: the same seed gives the same numbers.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(help="Measure in this many local processes, without Spark. With --quick: one per processor."),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(help="Measure on this Spark cluster: local[2], spark://... Without --quick: local[*]."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure again the cases that an earlier run without --quick kept.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a claim that we stand by does not hold.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Repeat a paper's experiment with the product's own code, and say which of its claims hold.

    The command writes report.md, results.json, tables as CSV and Parquet, and figures as PNG and SVG. Without --quick
    it measures cases on Spark and keeps every finished case in the folder, so that the same command continues after an
    interruption. It measures again the cases that were measured with other code. The numbers are the same with and
    without Spark. With --json it prints the content of results.json too.

    Exit codes: 0 measured (whether claims hold or not), 1 with --strict a claim that we stand by did not hold, 2 a flag
    is wrong or something is not installed.
    """
    if experiment not in (*EXPERIMENTS, ALL):
        raise ConfigError("experiment", experiment, f"must be one of: {', '.join((*EXPERIMENTS, ALL))}")
    if jobs is not None and jobs < 1:
        raise ConfigError("jobs", jobs, "must be at least 1")
    if jobs is not None and master is not None:
        raise ConfigError("jobs", jobs, "counts processes of this machine; with --master the cluster decides")
    if quick and fresh:
        raise ConfigError("fresh", fresh, "forgets the cases of a run without --quick; leave one of them out")
    check_drawing("evaluate")
    require("evaluate", *ARRAYS, field="command", value="evaluate")
    if experiment == ALL:
        whole = out or Path("evaluation")
        folders = {name: whole / name for name in EXPERIMENTS}
    else:
        whole = out or Path("evaluation") / experiment
        folders = {experiment: whole}
    with _spread(jobs, master, quick=quick) as spread:
        extent = Extent(quick, seed, spread)
        found, written = _run(folders, extent, fresh=fresh)
    command = extent.command(ALL)
    if experiment == ALL:
        written += write_index(found, whole, command)
    if as_json:
        print_json(index_json(found, command) if experiment == ALL else found[0].as_json())
    else:
        _show(found, written)
    lost = [claim for one in found for claim in one.claims if claim.asserted and not claim.held]
    return EXIT_NOT_HELD if strict and lost else 0


@contextmanager
def _spread(jobs: int | None, master: str | None, *, quick: bool) -> Iterator[Spread]:
    """Who measures. What is quickly done does not wait for Java; who has no Spark is told how to do without."""
    if master is None and (quick or jobs is not None):
        yield Processes(jobs or os.cpu_count() or 1)
        return
    from causeway.pipeline.executors import Executors
    from causeway.pipeline.faults import spark_errors
    from causeway.pipeline.session import SessionFlags, check_spark, session_for

    try:
        check_spark()
    except ConfigError as missing:
        remedy = f"{missing.remedy}; or measure without Spark: --jobs 2"
        raise ConfigError(missing.field, missing.value, remedy) from missing
    with spark_errors(), session_for("evaluate", flags=SessionFlags(master)) as session:
        yield Executors(session)


def _run(folders: dict[str, Path], extent: Extent, *, fresh: bool) -> tuple[list[Evaluation], list[Path]]:
    """One experiment after the other in one display; each is written when it is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    found: list[Evaluation] = []
    written: list[Path] = []
    with Progress(*columns, console=notices(), transient=True) as bar:
        tasks = {name: bar.add_task(name, total=None, start=False) for name in folders}
        for name, folder in folders.items():
            keeping = None if extent.quick else Keeping(extent.spread, folder / KEPT)
            if keeping is not None and fresh:
                keeping.forget()
            bar.start_task(tasks[name])

            def tick(done: int, total: int, name: str = name) -> None:
                bar.update(tasks[name], completed=done, total=total)

            found.append(run_experiment(name, extent._replace(spread=keeping or extent.spread), tick))
            written += write(found[-1], folder)
            if keeping is not None and keeping.skipped:
                notices().print(f"{name}: {keeping.skipped} cases were measured by an earlier run (see --fresh)")
    if not has_parquet():
        notices().print(f"tables are written as CSV only; for Parquet: {install('pipeline')}")
    return found, written


def _show(found: list[Evaluation], written: list[Path]) -> None:
    out = console()
    for one in found:
        table = Table(title=one.title, title_justify="left", show_lines=True)
        for name in ("claim", "held", "found"):
            table.add_column(name)
        for claim in one.claims:
            colour = "green" if claim.held else "red" if claim.asserted else "yellow"
            table.add_row(claim.claim, f"[{colour}]{claim.verdict}[/]", claim.found)
        out.print(table)
    out.print(f"written: {', '.join(str(path) for path in written)}", soft_wrap=True, markup=False)
