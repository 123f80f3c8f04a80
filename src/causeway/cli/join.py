"""`causeway join`: one broker takes a seat in a domain."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from causeway.cli.options import AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.client.settings import Address
from causeway.client.url import parse_url
from causeway.domains import check_domain
from causeway.local.probe import Probe, first_answer

WAIT_SECONDS = 30.0


def join(
    domain: Annotated[str, typer.Argument(help="The domain; it begins with the first broker that joins it.")],
    *,
    url: Url = None,
    data: Data = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds until all seats of it must know.")] = WAIT_SECONDS,
    as_json: AsJson = False,
) -> int:
    """Seat a running broker, the first of --url that answers, in one more domain, for good.

    A broker of two domains or more is a router between them. Domains must form a tree: what would close a cycle is
    refused, and the error names the cycle. It ends when every seat of the domain goes by the new map. Exit code 0 when
    the broker is seated there, else 1. With --json it prints {"event": "joined", "broker", "domain", "domains": all it
    is seated in}.
    """
    check_domain("domain", domain)
    broker, domains = asyncio.run(_join(parse_url(resolve_url(url, data)), domain, timeout))
    if as_json:
        print_json({"event": "joined", "broker": broker, "domain": domain, "domains": domains})
    else:
        role = "a router between" if len(domains) > 1 else "seated in"
        notices().print(f"{broker} is {role} {', '.join(domains)}", soft_wrap=True)
    return EXIT_OK


async def _join(addresses: tuple[Address, ...], domain: str, seconds: float) -> tuple[str, tuple[str, ...]]:
    async def ask(probe: Probe) -> tuple[str, tuple[str, ...]]:
        return probe.peer.name, await probe.join(domain)

    return await first_answer(addresses, ask, seconds)
