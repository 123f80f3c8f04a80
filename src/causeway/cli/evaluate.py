"""`causeway evaluate`: repeat what the papers measured. Parse, call, print."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from causeway.cli.options import AsJson
from causeway.cli.output import console, notices, print_json
from causeway.errors import ConfigError
from causeway.evaluate.drawing import check_drawing
from causeway.evaluate.evaluation import Evaluation, Extent
from causeway.evaluate.writing import write

EXPERIMENTS: Final = {
    "aaa": "what causal order costs against the number of servers (AAA, section 6)",
    "pbm": "delay and traffic of messages over a ring of brokers and over MSMQ (PBM, section 4)",
    "qpidr": "what monitoring and recovering brokers costs, and how long it takes (OIGY/QpidR, section 5)",
}
"""Each is the module of its name in `causeway.evaluate`, with a function `evaluate`."""

Evaluate = Callable[[Extent, Callable[[int, int], None]], Evaluation]


def evaluate(
    experiment: Annotated[
        str, typer.Argument(help="; ".join(f"{name}: {what}" for name, what in EXPERIMENTS.items()) + ".")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Smaller networks, in about a minute.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report, numbers and figures. Default: evaluation/EXPERIMENT.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything is drawn from it: the same seed gives the same numbers.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes to use. Default: one per processor.")] = None,
    as_json: AsJson = False,
) -> int:
    """Repeat a paper's experiment with the product's own code, and say which of its claims hold.

    Writes report.md, results.json, tables as CSV and figures as PNG and SVG. With --json the content of results.json is
    printed too. Exit codes: 0 measured (whether claims hold or not), 2 a flag is wrong or something is not installed.
    """
    if experiment not in EXPERIMENTS:
        raise ConfigError("experiment", experiment, f"must be one of: {', '.join(EXPERIMENTS)}")
    if jobs is not None and jobs < 1:
        raise ConfigError("jobs", jobs, "must be at least 1")
    check_drawing()
    extent = Extent(quick=quick, seed=seed, jobs=jobs or os.cpu_count() or 1)
    run: Evaluate = importlib.import_module(f"causeway.evaluate.{experiment}").evaluate
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notices(), transient=True, disable=as_json) as bar:
        task = bar.add_task(experiment, total=None)
        found = run(extent, lambda done, total: bar.update(task, completed=done, total=total))
    folder = out or Path("evaluation") / experiment
    written = write(found, folder)
    if as_json:
        print_json(found.as_json())
    else:
        _show(found, written)
    return 0


def _show(found: Evaluation, written: list[Path]) -> None:
    table = Table(title=found.title, title_justify="left", show_lines=True)
    for name in ("claim", "held", "found"):
        table.add_column(name)
    for claim in found.claims:
        table.add_row(claim.claim, "[green]yes[/]" if claim.held else "[red]no[/]", claim.found)
    out = console()
    out.print(table)
    out.print(f"written: {', '.join(str(path) for path in written)}", soft_wrap=True, markup=False)
