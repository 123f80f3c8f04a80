"""`causeway demo`: the main job in small, with its account."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from causeway.cli.options import AsJson
from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, notices, print_json
from causeway.cli.scenario import TRAVELLER, Result, Scenario, Told
from causeway.drivers.aio.loops import new_event_loop
from causeway.errors import ConfigError
from causeway.local import runfile
from causeway.local.cluster import ProcessCluster
from causeway.local.plan import plan
from causeway.progress import Progress
from causeway.testing.ledger import ORDERED, ClassTally, Kind
from causeway.types import MILLISECOND, SECOND


def demo(
    *,
    brokers: Annotated[int, typer.Option(help="Number of brokers.")] = 5,
    seconds: Annotated[float, typer.Option(help="How long the applications send.")] = 10.0,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster running afterwards.")] = False,
    as_json: AsJson = False,
) -> int:
    """Start a cluster, send traffic of every class, kill the busiest broker, and count what arrived.

    One application goes offline and returns. Every message carries its own number, and the demo counts arrivals without
    the client library's help. Exit code 0 only if every guarantee held. With --json it prints one object: "holds",
    "classes" (per class "kind", "sent", "acknowledged", "failed", "delivered", "doubled", "lost", "lost_allowed",
    "disordered"), "applications" (each "application", "gap" and "wait" in ns), "killed" ("name", "deposits",
    "mailboxes"), "offline" in ns, "seconds", "complaints", "url", "data".
    """
    if brokers < 3:
        raise ConfigError("brokers", brokers, "must be at least 3, so that the others can go on when one is killed")
    if not 2 <= seconds <= 3600:
        raise ConfigError("seconds", seconds, "must lie in 2..3600")
    data = Path(tempfile.mkdtemp(prefix="causeway-demo-"))
    cluster = ProcessCluster(data, plan(None, brokers=brokers))
    kept = False
    try:
        with _progress() as told, asyncio.Runner(loop_factory=new_event_loop) as runner:
            result = runner.run(_run(cluster, seconds, told, keep=keep))
        kept = keep
    finally:
        if not kept:
            shutil.rmtree(data, ignore_errors=True)
    if as_json:
        where = {"url": cluster.url, "data": str(data)} if kept else {"url": None, "data": None}
        print_json({**msgspec.to_builtins(result), **where})
    else:
        _show(console(), result)
        if kept:
            _show_kept(notices(), cluster)
    return EXIT_OK if result.holds else EXIT_FAILED


async def _run(cluster: ProcessCluster, seconds: float, told: Told, *, keep: bool) -> Result:
    done = False
    try:
        told(f"starting {len(cluster.names)} brokers", 0.0)
        await cluster.start()
        await cluster.wait_active()
        result = await Scenario(cluster, cluster.data / "applications", seconds, told).run()
        done = True
    finally:
        if keep and done:
            runfile.remember(cluster.data)
        else:
            await cluster.stop()
    return result


@contextlib.contextmanager
def _progress() -> Iterator[Told]:
    """On standard error, also beside JSON."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notices(), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def told(what: str, part: float) -> None:
            if what:
                bar.console.print(f"  {bar.tasks[task].elapsed or 0:5.1f} s  {what}", markup=False, highlight=False)
                bar.update(task, description=what)
            bar.update(task, completed=part)

        yield told


def _show(out: Console, result: Result) -> None:
    out.print(_class_table(result.classes))
    out.print(_service_table(result))
    killed = result.killed
    boxes = ", ".join(name for name in killed.mailboxes if "/" not in name) or "no mailbox"
    out.print(f"killed: {killed.name}, which had taken {killed.deposits} batches and owned {boxes}", soft_wrap=True)
    for complaint in result.complaints:
        out.print(f"[red]{complaint}[/red]")
    if result.holds:
        out.print("[bold green]every guarantee held[/bold green]")
    else:
        out.print("[bold red]a guarantee was broken[/bold red]")


def _class_table(tallies: list[ClassTally]) -> Table:
    table = _new_table("messages")
    table.caption = "unreliable is express without acknowledgement; excused: lost with the killed owner's memory"
    table.caption_justify = "left"
    table.add_column("class", no_wrap=True)
    for heading in ("sent", "acked", "failed", "arrived", "doubled", "lost", "excused", "disorder"):
        table.add_column(heading, justify="right", no_wrap=True)
    for tally in tallies:
        answered, ordered = tally.kind is not Kind.UNRELIABLE, tally.kind in ORDERED
        table.add_row(
            tally.kind.removeprefix("express-"),  # room for the counts in 80 columns
            f"{tally.sent:,}",
            f"{tally.acknowledged:,}" if answered else "-",
            f"{tally.failed:,}",
            f"{tally.delivered:,}",
            _fault(tally.doubled),
            _fault(tally.lost) if answered else "-",
            f"{tally.lost_allowed:,}" if answered else "-",
            _fault(tally.disordered) if ordered else "-",
        )
    return table


def _service_table(result: Result) -> Table:
    table = _new_table("applications")
    table.add_column("application", no_wrap=True)
    table.add_column("without service", justify="right")
    table.add_column("slowest send", justify="right")
    table.add_column("")
    for outage in result.applications:
        name = outage.application
        notes = ["its mailbox's owner was killed"] if name in result.killed.mailboxes else []
        if name == TRAVELLER:
            notes.append(f"offline for {result.offline / SECOND:.1f} s by its own will")
        gap, wait = f"{outage.gap / MILLISECOND:,.0f} ms", f"{outage.wait / MILLISECOND:,.0f} ms"
        table.add_row(name, gap, wait, "; ".join(notes))
    return table


def _new_table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def _show_kept(out: Console, cluster: ProcessCluster) -> None:
    out.print(f"the cluster still runs: {cluster.url}", soft_wrap=True)
    out.print(
        f"its data: {cluster.data}; the killed broker comes back with: causeway up --data {cluster.data}",
        soft_wrap=True,
    )
    out.print("try: causeway status; causeway send billing hello; causeway receive billing; causeway down")


def _fault(count: int) -> str:
    return "[green]0[/green]" if count == 0 else f"[bold red]{count:,}[/bold red]"
