"""`causeway domains`: the tree of domains, who sits where, and who is a router."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from causeway.cli.options import AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, print_json
from causeway.cli.status import reports_of
from causeway.client.url import parse_url


class SeatedDomain(msgspec.Struct, kw_only=True):
    """One domain, as `domains` shows it."""

    name: str
    seats: list[str]
    """Brokers seated in it."""
    routers: list[str]
    """Those of them that sit in another domain as well."""


class DomainMap(msgspec.Struct, kw_only=True):
    """The latest map that any broker knows, and which brokers are not seated as they were configured."""

    version: int
    domains: list[SeatedDomain]
    routers: dict[str, list[str]]
    """Domains by router."""
    refusals: dict[str, str]


def domains(*, url: Url = None, data: Data = None, as_json: AsJson = False) -> int:
    """Show the domains, the brokers seated in each, and the routers between them.

    Exit code 0 when every broker is seated in the domains of its configuration, else 1. With --json it prints one
    object: "version" of the map, "domains" (each "name", "seats", "routers"), "routers" (domains by broker),
    "refusals" (why a broker is not seated as configured).
    """
    found = latest(asyncio.run(reports_of(parse_url(resolve_url(url, data)))))
    if as_json:
        print_json(found)
    else:
        out = console()
        if not found.domains:
            out.print("no broker is seated in a domain; start some with --domain NAME, or see 'causeway join'")
        else:
            out.print(_table(found))
            for router, names in found.routers.items():
                out.print(f"{escape(router)} joins {escape(', '.join(names))}", soft_wrap=True)
        for broker, refusal in found.refusals.items():
            out.print(f"[red]{escape(broker)} is not seated as configured[/]: {escape(refusal)}", soft_wrap=True)
    return EXIT_FAILED if found.refusals else EXIT_OK


def latest(reports: Iterable[Mapping[str, Any]]) -> DomainMap:
    """Put the brokers' reports together; keys that one of another release leaves out count as nothing."""
    version, seats = 0, dict[str, list[str]]()
    refusals: dict[str, str] = {}
    for report in reports:
        causal = report.get("causal") or {}
        if causal.get("version", 0) > version:
            version = int(causal["version"])
            seats = {str(name): [str(seat) for seat in there] for name, there in causal.get("domains", {}).items()}
        if causal.get("refusal"):
            refusals[str(report.get("broker", "?"))] = str(causal["refusal"])
    of_seat: dict[str, list[str]] = {}
    for name in sorted(seats):
        for seat in seats[name]:
            of_seat.setdefault(seat, []).append(name)
    routers = {seat: names for seat, names in sorted(of_seat.items()) if len(names) > 1}
    lines = [
        SeatedDomain(name=name, seats=seats[name], routers=[seat for seat in seats[name] if seat in routers])
        for name in sorted(seats)
    ]
    return DomainMap(version=version, domains=lines, routers=routers, refusals=dict(sorted(refusals.items())))


def _table(found: DomainMap) -> Table:
    title = f"domains (map {found.version})"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("domain", overflow="fold")
    table.add_column("seats", overflow="fold")
    table.add_column("routers", overflow="fold")
    for line in found.domains:
        table.add_row(escape(line.name), escape(", ".join(line.seats)), escape(", ".join(line.routers)))
    return table
