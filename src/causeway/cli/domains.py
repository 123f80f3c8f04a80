"""`causeway domains`: the tree of domains, who sits where, and who is a router."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from causeway.cli.options import AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, print_json
from causeway.client.url import parse_url
from causeway.domains.graph import DomainGraph
from causeway.domains.tables import seats_of
from causeway.local.everybody import reports_of


class SeatedDomain(msgspec.Struct, kw_only=True):
    """One domain, as `domains` shows it."""

    name: str
    seats: list[str]
    """Brokers seated in it."""
    routers: list[str]
    """Those of them that sit in another domain as well."""
    left: list[str] = []
    """Brokers that left: others hold their seats, because what was sent in causal order goes by them."""


class DomainMap(msgspec.Struct, kw_only=True):
    """The latest map that any broker knows, and which brokers are not seated as they were configured."""

    version: int
    domains: list[SeatedDomain]
    routers: dict[str, list[str]]
    """Domains by router, also of a router that left."""
    holders: dict[str, str]
    """Who holds the seat of a broker that left."""
    refusals: dict[str, str]


def domains(*, url: Url = None, data: Data = None, as_json: AsJson = False) -> int:
    """Show the domains, the brokers seated in each, and the routers between them.

    Exit code 0 when every broker is seated in the domains of its configuration, else 1. With --json it prints one
    object: "version" of the map, "domains" (each "name", "seats", "routers", "left": brokers
    that left, whose seats others hold for what was sent in causal order), "routers" (domains by broker),
    "holders" (who holds the seat of a broker that left), "refusals" (why a broker is not seated as configured).
    """
    found = latest(asyncio.run(reports_of(parse_url(resolve_url(url, data)))))
    if as_json:
        print_json(found)
    else:
        out = console()
        if not found.domains:
            out.print("no broker is seated in a domain; start some with --domain NAME, or see 'causeway join'")
        else:
            out.print(domain_table(f"domains (map {found.version})", found.domains))
            for router, names in found.routers.items():
                out.print(f"{escape(router)} joins {escape(', '.join(names))}", soft_wrap=True)
            for name in dict.fromkeys(name for line in found.domains for name in line.left):
                holder = f"{found.holders[name]} holds" if name in found.holders else "nobody who answered holds"
                out.print(f"{escape(f'{name} has left; {holder}')} its seat for what was sent there", soft_wrap=True)
        for broker, refusal in found.refusals.items():
            out.print(f"[red]{escape(broker)} is not seated as configured[/]: {escape(refusal)}", soft_wrap=True)
    return EXIT_FAILED if found.refusals else EXIT_OK


def seated(graph: DomainGraph, left: Collection[str] = ()) -> list[SeatedDomain]:
    """Every domain of a graph, in its order."""
    return [
        SeatedDomain(
            name=name,
            seats=[seat for seat in members if seat not in left],
            routers=[seat for seat in graph.routers(name) if seat not in left],
            left=[seat for seat in members if seat in left],
        )
        for name, members in graph.domains.items()
    ]


def latest(reports: Iterable[Mapping[str, Any]]) -> DomainMap:
    """Put the brokers' reports together; keys that one of another release leaves out count as nothing."""
    reports = list(reports)
    version, seats, left = 0, dict[str, list[str]](), list[str]()
    refusals: dict[str, str] = {}
    for report in reports:
        causal = report.get("causal") or {}
        if causal.get("version", 0) > version:
            version = int(causal["version"])
            seats = {str(name): [str(seat) for seat in there] for name, there in causal.get("domains", {}).items()}
            left = [str(seat) for seat in causal.get("left", [])]
        if causal.get("refusal"):
            refusals[str(report.get("broker", "a broker without a name"))] = str(causal["refusal"])
    holders = {
        str(seat.get("seat")): str(report.get("broker"))
        for report in reports
        for seat in (report.get("causal") or {}).get("seats", [])
        if seat.get("seat") in left
    }
    graph = DomainGraph(seats_of(dict(sorted(seats.items()))))
    routers = {router: list(graph.seats[router]) for router in sorted(graph.routers())}
    return DomainMap(
        version=version,
        domains=sorted(seated(graph, left), key=lambda line: line.name),
        routers=routers,
        holders=dict(sorted(holders.items())),
        refusals=dict(sorted(refusals.items())),
    )


def domain_table(title: str, lines: Iterable[SeatedDomain]) -> Table:
    """Who sits where, also for `up`."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("domain", "routers", "other seats"):
        table.add_column(column, overflow="fold")
    for line in lines:
        table.add_row(*domain_row(line.name, line.seats, line.routers))
    return table


def domain_row(name: str, members: Sequence[str], routers: Sequence[str]) -> tuple[str, str, str]:
    """A domain, its routers and its other seats."""
    others = [member for member in members if member not in routers]
    return escape(name), escape(", ".join(routers)), escape(", ".join(others))
