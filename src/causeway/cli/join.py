"""`causeway join`: one broker takes a seat in a domain."""

from __future__ import annotations

import asyncio
import difflib
import sys
from typing import Annotated

import typer

from causeway.cli.domains import latest
from causeway.cli.options import AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.client.settings import Address
from causeway.client.url import parse_url
from causeway.domains import check_domain
from causeway.errors import ConfigError
from causeway.local.everybody import reports_of
from causeway.local.probe import Probe, first_answer

WAIT_SECONDS = 30.0


def join(
    domain: Annotated[str, typer.Argument(help="The domain; it begins with the first broker that joins it.")],
    *,
    url: Url = None,
    data: Data = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Begin the domain without asking, if nobody is in it yet.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until all seats of it must know.")] = WAIT_SECONDS,
    as_json: AsJson = False,
) -> int:
    """Seat a running broker, the first of --url that answers, in one more domain, for good.

    Nothing undoes it, so a domain that no broker is in needs a yes: at a terminal the command asks, elsewhere it
    refuses without --yes. A broker of two domains or more is a router between them. Domains must form a tree: what
    would close a cycle is refused, and the error names the cycle. It ends when every seat of the domain goes by the new
    map. Exit code 0 when the broker is seated there, else 1. With --json it prints {"event": "joined", "broker",
    "domain", "domains": all it is seated in}.
    """
    check_domain("domain", domain)
    addresses = parse_url(resolve_url(url, data))
    if not yes:
        _check_known(domain, [line.name for line in latest(asyncio.run(reports_of(addresses))).domains])
    broker, domains = asyncio.run(_join(addresses, domain, timeout))
    if as_json:
        print_json({"event": "joined", "broker": broker, "domain": domain, "domains": domains})
    else:
        role = "a router between" if len(domains) > 1 else "seated in"
        notices().print(f"{broker} is {role} {', '.join(domains)}", soft_wrap=True)
    return EXIT_OK


def _check_known(domain: str, known: list[str]) -> None:
    """Have a yes for a domain that nobody is in: it may be another one, misspelt."""
    if domain in known:
        return
    similar = ", ".join(difflib.get_close_matches(domain, known))
    meant = f"did you mean {similar}?" if similar else f"there are: {', '.join(known) or 'no domains yet'}"
    if not sys.stdin.isatty():
        remedy = f"no broker is in it; {meant} To begin it, give --yes: nothing undoes that"
        raise ConfigError("domain", domain, remedy)
    typer.confirm(f"no broker is in {domain} yet; {meant} Begin it? Nothing undoes that.", abort=True, err=True)


async def _join(addresses: tuple[Address, ...], domain: str, seconds: float) -> tuple[str, tuple[str, ...]]:
    async def ask(probe: Probe) -> tuple[str, tuple[str, ...]]:
        return probe.peer.name, await probe.join(domain)

    return await first_answer(addresses, ask, seconds)
