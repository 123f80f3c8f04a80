"""`causeway unsubscribe`: end a durable subscription."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from causeway import connect
from causeway.cli.options import AppName, AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.client.arguments import duration_of
from causeway.client.subscriptions import durable_mailbox


def unsubscribe(
    subscription: Annotated[str, typer.Argument(metavar="NAME", help="The subscription, as --durable named it.")],
    *,
    shared: Annotated[bool, typer.Option("--shared", help="It is a shared one.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds until it must have ended.")] = 30.0,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """End a durable subscription, with all messages that nobody has read.

    With --json it prints {"subscription", "mailbox", "ended"}.
    """
    mailbox = durable_mailbox(name, subscription, shared=shared)
    duration_of("timeout", timeout)
    where = resolve_url(url, data)

    async def run() -> None:
        async with connect(where, name=name, connect_timeout=min(10.0, timeout)) as bus:
            await bus.unsubscribe(subscription, shared=shared, timeout=timeout)

    asyncio.run(run())
    if as_json:
        print_json({"subscription": subscription, "mailbox": mailbox, "ended": True})
    else:
        notices().print(f"{subscription} has ended", markup=False)
    return EXIT_OK
