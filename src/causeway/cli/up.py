"""`causeway up`: start a local cluster of real broker processes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from causeway.cli.domains import domain_table, seated
from causeway.cli.options import AsJson, Settings, data_flag, read_text
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.client.url import PORT_DEFAULT
from causeway.domains.graph import DomainGraph
from causeway.domains.tables import read_seats
from causeway.errors import ConfigError
from causeway.lake.locations import locate
from causeway.local import runfile
from causeway.local.cluster import Exited, ProcessCluster
from causeway.local.plan import plan
from causeway.local.runfile import RunFile
from causeway.local.seating import Seating
from causeway.local.settings import split_settings
from causeway.progress import Progress

_WATCH_SECONDS = 0.5

Port = Annotated[
    int | None,
    typer.Option(help=f"Port of a new cluster's first broker; the others follow. Default {PORT_DEFAULT}; 0: any."),
]


def up(
    *,
    brokers: Annotated[
        int | None, typer.Option(help="How many brokers; default 3, or as many as the data directory holds.")
    ] = None,
    spares: Annotated[
        int | None,
        typer.Option(help="How many more that hold no seat and take that of a broker which fails; default none."),
    ] = None,
    durability: Annotated[
        str | None, typer.Option(help="disk (default): acknowledged is on stable storage. memory: in memory.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(envvar="CAUSEWAY_DATA", help="Where the cluster lives; one directory per cluster.")
    ] = None,
    copies: Annotated[int | None, typer.Option(help="K: brokers that hold a mailbox; default 3.")] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="How domains (of causal order) are laid out: flat, bus, daisy or tree; default one domain."),
    ] = None,
    domains: Annotated[
        int | None,
        typer.Option(help="How many domains; default about the square root of the brokers. Without --layout: a bus."),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="The name of the one domain that all are in; default main.")
    ] = None,
    seats: Annotated[
        Path | None, typer.Option(help="A file with every broker's domains by name, as 'plan domains --out' writes it.")
    ] = None,
    port: Port = None,
    lake: Annotated[
        str, typer.Option(metavar="PLACE", help="Where all brokers write a trace lake; as --set lake=PLACE.")
    ] = "",
    settings: Settings = None,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return once the cluster serves.")] = False,
    as_json: AsJson = False,
) -> int:
    """Start a local cluster; afterwards send, receive, browse, status, story and down find it by themselves.

    Started again on the same data, after down or after a crash, it resumes with everything that was acknowledged.
    What was --set is remembered for every broker; --set FIELD= takes the default again.
    Brokers keep the domains they were first started with; those that come later find a place in them. Spares stand by
    in all domains, and stay spares when they are started again.
    With --json it prints {"event": "up", "url", "data", "durability", "copies", "brokers", "unseated"}, each broker
    with "name", "host", "port", "pid", "domains" and "spare"; "unseated" says why a broker is not in its domains.
    In the foreground also {"event": "exited", "name", "code"} per broker that ends, and {"event": "down",
    "killed"} last.
    """
    where = (data or runfile.default_data_dir()).absolute()
    runfile.prepare_data_dir(where)
    changes = split_settings(settings or ())
    if lake:
        changes["lake"] = locate(lake).absolute()
    named = read_seats("seats", read_text("seats", str(seats))) if seats is not None else None
    seating = Seating(layout=layout, domains=domains, domain=domain, seats=named)

    def planned(found: RunFile | None) -> RunFile:
        return plan(
            found,
            brokers=brokers,
            spares=spares,
            durability=durability,
            copies=copies,
            port=PORT_DEFAULT if port is None and found is None else port,
            settings=changes,
            seating=seating,
        )

    return asyncio.run(_up(where, planned, detach=detach, as_json=as_json))


async def _up(data: Path, planned: Callable[[RunFile | None], RunFile], *, detach: bool, as_json: bool) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    with runfile.lock(data), runfile.beginning(data):
        cluster = ProcessCluster(data, planned(runfile.load(data)))
        if len(cluster.running()) == len(cluster.names):
            raise ConfigError("data", str(data), "its cluster is already up; see 'causeway status', 'causeway down'")
        cluster.check_ports()
        earlier = {entry.name for entry in cluster.running()}
        starting = asyncio.create_task(_start(cluster, as_json=as_json))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await starting
        except BaseException:
            # Leave nothing half started behind, but what ran before keeps running.
            await cluster.kill(*(name for name in cluster.names if name not in earlier))
            raise
        finally:
            stopping.cancel()
        runfile.remember(data)
    if not stop.is_set():
        unseated = await cluster.wait_seated()
        _announce(cluster, unseated, detached=detach, as_json=as_json)
        if detach:
            return EXIT_OK
        await _watch(cluster, stop, as_json=as_json)
    killed = await cluster.stop()
    if as_json:
        print_json({"event": "down", "killed": killed})
    else:
        notices().print("cluster stopped; 'causeway up' on the same data resumes it")
    return EXIT_OK


async def _start(cluster: ProcessCluster, *, as_json: bool) -> None:
    if as_json or not notices().is_terminal:
        with Progress(console=notices(), transient=True) as bar:
            task = bar.add_task("starting brokers", total=len(cluster.names))
            await cluster.start()
            await cluster.wait_active(seen=lambda reports: bar.update(task, completed=len(reports)))
        return
    with Live(progress_table(cluster, {}), console=notices(), transient=True, refresh_per_second=8) as live:
        await cluster.start()
        await cluster.wait_active(seen=lambda reports: live.update(progress_table(cluster, reports)))


async def _watch(cluster: ProcessCluster, stop: asyncio.Event, *, as_json: bool) -> None:
    """Until told to stop, say which brokers end; nobody restarts them unasked."""
    told: set[str] = set()
    while not stop.is_set():
        for ended in cluster.exited():
            if ended.name not in told:
                told.add(ended.name)
                _report_exit(ended, as_json=as_json)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _WATCH_SECONDS)


def progress_table(cluster: ProcessCluster, reports: dict[str, dict[str, Any]]) -> Table:
    """Who has started, who has joined."""
    table = Table(title="starting brokers", title_justify="left")
    for column in ("broker", "address", "pid", "state", "peers"):
        table.add_column(column)
    for entry in cluster.run.brokers:
        report = reports.get(entry.name)
        state = "starting" if report is None else "[green]active" if report.get("active") else "[yellow]joining"
        pid = str(entry.process.pid) if entry.process else ""
        peers = str(len(report.get("peers", []))) if report else ""
        table.add_row(entry.name, f"{entry.host}:{entry.port}" if entry.port else entry.host, pid, state, peers)
    return table


def places(run: RunFile) -> Table | str:
    """Who sits where, spares left out; one domain needs no table."""
    graph = DomainGraph({entry.name: tuple(entry.domains) for entry in run.seated})
    if len(graph.domains) < 2:
        return "".join(f"all of them in the domain {escape(domain)}" for domain in graph.domains)
    return domain_table("domains", seated(graph))


def _announce(cluster: ProcessCluster, unseated: dict[str, str], *, detached: bool, as_json: bool) -> None:
    run = cluster.run
    brokers = [
        {
            "name": entry.name,
            "host": entry.host,
            "port": entry.port,
            "pid": entry.process.pid if entry.process else None,
            "domains": entry.domains,
            "spare": entry.spare,
        }
        for entry in run.brokers
    ]
    if as_json:
        described = {"url": run.url, "data": str(cluster.data), "durability": run.durability, "copies": run.copies}
        print_json({"event": "up", **described, "brokers": brokers, "unseated": unseated})
        return
    out: Console = notices()
    out.print(f"[green]{len(brokers)} brokers serve[/green] {run.url}", soft_wrap=True)
    out.print(f"data {cluster.data}, durability {run.durability}, {run.copies} copies", soft_wrap=True)
    out.print(places(run))
    if run.spares:
        out.print(f"spares: {escape(', '.join(entry.name for entry in run.spares))}", soft_wrap=True)
    for name, why in unseated.items():
        out.print(f"[yellow]{escape(name)} is not in its domains[/yellow]: {escape(why)}", soft_wrap=True)
    flag = escape(data_flag(cluster.data))
    tries = "; ".join(f"causeway {command}{flag}" for command in ("send billing hello", "receive billing", "status"))
    out.print(f"try: {tries}", soft_wrap=True)
    out.print(f"stop it with 'causeway down{flag}'" if detached else "Ctrl-C stops it", soft_wrap=True)


def _report_exit(ended: Exited, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "exited", "name": ended.name, "code": ended.code})
    else:
        notices().print(f"[red]{ended.name} ended[/red] (code {ended.code}); 'causeway up' starts it, unless it left")
