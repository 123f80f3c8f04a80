"""`causeway status`: brokers, ring and mailboxes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from causeway.cli.landmarks import domain_view
from causeway.cli.options import AsJson, Data, Url
from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, notices, print_json
from causeway.cli.view import BrokerLine, ClusterView, broker_line, merge
from causeway.client.url import parse_url
from causeway.local import runfile
from causeway.local.everybody import ask_everybody
from causeway.local.runfile import RunFile

EXPOSED_SHOWN_MAX = 10
BROKEN_SHOWN_MAX = 10


def status(*, url: Url = None, data: Data = None, as_json: AsJson = False) -> int:
    """Show every broker, who owns which mailbox in which epoch, and how much waits in it.

    Exit code 0 when every broker is active, all are of one cluster, every mailbox is served, none is lost, no domain
    lacks the majority of its agents, and nothing would stop with the next broker that fails, else 1. With --json it
    prints one object: "data" (its directory; null with --url), "url", "others" (directories of other clusters of yours
    that run), "brokers" (each "name", "address", "state", "id", "pid", "cluster", "connections", "connections_max",
    "peers", "bypassed" (brokers that it reaches only, or sooner, over a third one, and which), "leaves", "owned",
    "copies", "deposits", "outbox_bytes", "refusal", "error"), "mailboxes" (each "name",
    "owner", "epoch", "members", "incomplete", "serving", "blocked", "exposed", "stored", "volatile", "consumers",
    "unsettled", "starved"),
    "root" ("epoch", "owner", "members"), "agents" (each "domain", "landmark", "term", "seats", "spares", "failed",
    "flapping", "lost", "bottlenecks", "blocked"), "split" (empty, or which brokers are of which cluster if there are
    several), "broken_links" (pairs of brokers whose messages to
    each other go over others), "exposed" (what may stop with the next broker that fails), "healthy".
    """
    where, run = (None, None) if url is not None else runfile.find(data)
    shown_url = url if run is None else run.url
    view = asyncio.run(_gather(url, run))
    others = [str(one) for one in runfile.running() if where is not None and one != where.resolve()]
    if as_json:
        print_json(
            {
                "data": where and str(where),
                "url": shown_url,
                "others": others,
                "brokers": view.brokers,
                "mailboxes": view.mailboxes,
                "root": view.root,
                "agents": view.agents,
                "split": view.split,
                "broken_links": view.broken_links,
                "exposed": view.exposed,
                "healthy": view.healthy,
            }
        )
    else:
        out = console()
        notices().print(escape(f"{shown_url}" if where is None else f"cluster in {where}, {shown_url}"), soft_wrap=True)
        if others:
            notices().print(escape(f"also running, see them with --data: {', '.join(others)}"), soft_wrap=True)
        out.print(_broker_table(view))
        out.print(_mailbox_table(view))
        for domain in view.agents:
            out.print(domain_view(domain))
            if domain.blocked:
                named = f"[red]the landmark of {escape(domain.domain)} can give away no seat[/]"
                out.print(f"{named}: {escape(domain.blocked)}", soft_wrap=True)
        if view.exposed:
            shown = ", ".join(view.exposed[:EXPOSED_SHOWN_MAX])
            more = f" and {len(view.exposed) - EXPOSED_SHOWN_MAX} more" if len(view.exposed) > EXPOSED_SHOWN_MAX else ""
            named = f"[yellow]these would stop with the next broker that fails[/]: {escape(shown)}{more}"
            out.print(f"{named}; wait until they have other voters and all their copies", soft_wrap=True)
        if view.broken_links:
            shown = ", ".join(view.broken_links[:BROKEN_SHOWN_MAX])
            hidden = len(view.broken_links) - BROKEN_SHOWN_MAX
            more = f" and {hidden} more" if hidden > 0 else ""
            named = f"[yellow]links that are broken or slow[/]: {escape(shown)}{more}"
            out.print(f"{named}; messages go over other brokers until they are mended", soft_wrap=True)
        if view.split:
            remedy = (
                "read what the mailboxes of one hold, then start its brokers with empty data and --seed of the other"
            )
            out.print(f"[red]{escape(view.split)}[/]; {remedy}", soft_wrap=True)
        for line in view.brokers:
            if line.refusal:
                named = f"[red]{escape(line.name)} is not seated as configured[/]"
                out.print(f"{named}: {escape(line.refusal)}", soft_wrap=True)
    return EXIT_OK if view.healthy else EXIT_FAILED


async def _gather(url: str | None, run: RunFile | None) -> ClusterView:
    if run is None:
        return await survey(parse_url(url or ""))
    pids = {(entry.host, entry.port): entry.process.pid for entry in run.brokers if entry.process and entry.running}
    names = {(entry.host, entry.port): entry.name for entry in run.brokers}
    view = await survey(run.addresses)
    for line in view.brokers:
        host, _colon, port = line.address.rpartition(":")
        line.pid = pids.get((host, int(port)))
        line.name = names.get((host, int(port)), line.name)
    return view


async def survey(addresses: Sequence[tuple[str, int]]) -> ClusterView:
    """All brokers that can be found from these, put together."""
    answers = await ask_everybody(addresses)
    shown = {address: f"{address[0]}:{address[1]}" for address in (*answers.reports, *answers.errors)}
    lines = [broker_line(report, address=shown[address]) for address, report in answers.reports.items()]
    for address, error in answers.errors.items():
        lines.append(BrokerLine(name=shown[address], address=shown[address], state="down", error=error))
    return merge(lines, list(answers.reports.values()))


def _broker_table(view: ClusterView) -> Table:
    holders = ", ".join(str(member) for member in view.root.get("members", []))
    if holders:
        caption = f"in ring order; the directory (epoch {view.root['epoch']}) is held by {holders}"
    elif all(line.state == "down" for line in view.brokers):
        caption = "no broker answers; 'causeway up' starts the cluster"
    else:
        caption = "in ring order; no broker that answers holds the directory"
    table = _new_table("brokers")
    table.padding = 0
    table.caption, table.caption_justify = caption, "left"
    for column in ("broker", "address", "state", "key"):
        table.add_column(column, no_wrap=True)
    for column in ("pid", "clients", "peers", "owns", "copies", "taken"):
        table.add_column(column, justify="right", no_wrap=True)
    colours = {"active": "green", "joining": "yellow", "down": "red"}
    for line in view.brokers:
        state = f"[{colours[line.state]}]{line.state}[/]"
        counts = [line.connections, line.peers, line.owned, line.copies, line.deposits]
        shown = [str(count) if line.state != "down" else "" for count in counts]
        table.add_row(line.name, line.address, state, line.id[:6], str(line.pid or ""), *shown)
    return table


def _mailbox_table(view: ClusterView) -> Table:
    table = _new_table("mailboxes")
    table.add_column("mailbox", overflow="fold")
    table.add_column("owner", no_wrap=True)
    table.add_column("epoch", justify="right")
    table.add_column("copies on")
    for column in ("stored", "memory", "readers", "in hand"):
        table.add_column(column, justify="right")
    for line in view.mailboxes:
        owner = f"[green]{line.owner}[/]" if line.serving else f"[red]{line.owner}: {line.blocked or 'not served'}[/]"
        copies = [f"{name} (catching up)" if name in line.incomplete else name for name in line.members]
        others = ", ".join(copy for copy in copies if copy != line.owner)
        counts = (line.stored, line.volatile, line.consumers, line.unsettled)
        table.add_row(line.name, owner, str(line.epoch), others, *(str(count) for count in counts))
    return table


def _new_table(title: str) -> Table:
    """Narrow enough for 80 columns."""
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
