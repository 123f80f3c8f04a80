"""`causeway sim`: the whole product in virtual time, with faults drawn from a seed. Parse, call, print."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn

from causeway.cli.options import AsJson
from causeway.cli.output import console, notices, print_json
from causeway.errors import ConfigError
from causeway.extras import ARRAYS, require
from causeway.progress import Progress
from causeway.sim.faults import Options, options_swarm
from causeway.sim.run import SimRun
from causeway.sim.verdict import SimVerdict
from causeway.types import SECOND, Instant


def sim(
    seed: Annotated[int, typer.Option(help="Seed of all random choices: the same seed gives the same run.")] = 0,
    brokers: Annotated[int | None, typer.Option(help="Brokers at the start. Default: by the seed.")] = None,
    clients: Annotated[int | None, typer.Option(help="Applications per workload. Default: by the seed.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Virtual seconds with faults. Default: by the seed.")] = None,
    as_json: AsJson = False,
    trace_digest: Annotated[
        bool, typer.Option(help="Print the digest of all events at the end; --json always has it.")
    ] = False,
    log: Annotated[Path | None, typer.Option(help="Write one line per event to this file.")] = None,
    lake: Annotated[
        str, typer.Option(metavar="PLACE", help="Write a trace lake to this folder, which must be empty.")
    ] = "",
) -> int:
    """Run brokers and applications in virtual time under faults; then heal, and check that the cluster converges.

    Exit codes: 0 all guarantees held, 2 a flag is wrong, 3 a checker complained, 4 the cluster did not converge, 5 the
    code crashed. With --json it prints one object: "ending", "code", "evidence", "digest", counts, and all "options".
    """
    for field, value, least in (("brokers", brokers, 1), ("clients", clients, 1), ("seconds", seconds, 0)):
        if value is not None and value < least:
            raise ConfigError(field, value, f"must be at least {least}")
    # Landmarks place items: without, the same seed would do something else here than there.
    require("placement", *ARRAYS, field="command", value="sim")
    options = options_swarm(seed, brokers=brokers, clients=clients, seconds=seconds)
    if not as_json:
        console().print("\n".join(options.lines()), soft_wrap=True, markup=False)
    verdict = _run(options, log, lake or None)
    if as_json:
        print_json(verdict)
    else:
        _show(verdict, trace_digest=trace_digest)
    return verdict.code


def _run(options: Options, log: Path | None, lake: str | None) -> SimVerdict:
    with contextlib.ExitStack() as stack:
        write = None
        if log is not None:
            file = stack.enter_context(log.open("w"))
            write = functools.partial(print, file=file)
        tick = ticker(stack.enter_context(progress(notices())), options)
        return SimRun(options, log=write, tick=tick, lake=lake).run()


def progress(out: Console) -> Progress:
    """A bar that is gone when the run is over."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[now]:.1f} virtual seconds"))
    return Progress(*columns, console=out, transient=True)


def ticker(bar: Progress, options: Options) -> Callable[[Instant], None]:
    """What moves the bar: it is full with the last fault, because nobody knows how long convergence takes."""
    task = bar.add_task("faults", total=options.safety, now=0.0)

    def tick(now: Instant) -> None:
        phase = "faults" if now < options.safety else "converging"
        bar.update(task, description=phase, completed=min(now, options.safety), now=now / SECOND)

    return tick


def _show(verdict: SimVerdict, *, trace_digest: bool) -> None:
    out = console()
    for title, counts in (("seen", verdict.observations), ("faults", verdict.faults)):
        shown = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        out.print(f"{title}: {shown or 'nothing'}", soft_wrap=True, markup=False)
    out.print(f"{verdict.events} events in {verdict.turns} turns, {verdict.virtual_seconds:.1f} virtual seconds")
    if verdict.ok:
        out.print("ok: nothing acknowledged was lost, doubled or out of order, and all brokers agree", soft_wrap=True)
    else:
        out.print(verdict.failure_line(), soft_wrap=True, markup=False)
    if trace_digest:
        out.print(f"digest={verdict.digest}", soft_wrap=True)
