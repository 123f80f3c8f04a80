"""`causeway mailbox`: drop what is in a mailbox, or let the mailbox itself end."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from causeway import connect
from causeway.cli.options import AppName, AsJson, Data, Url, reach
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.client.arguments import duration_of
from causeway.client.subscriptions import check_forgettable
from causeway.errors import ConfigError


def mailbox(
    action: Annotated[str, typer.Argument(metavar="purge|delete", help="purge: drop its messages; delete: end it.")],
    mailbox: Annotated[str, typer.Argument(help="The mailbox; subscriptions end by 'causeway unsubscribe'.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds until it must be done.")] = 30.0,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Drop all messages of a mailbox (purge), or drop them and let the mailbox end (delete).

    Messages that consumers have in hand are dropped too; what is sent later stays. A mailbox that somebody reads, or
    still sends to, is not deleted. A deleted one is gone some seconds later, with what it knew of its senders; who
    sends to its name again begins a new one. The command asks first; without a terminal it refuses, or say --yes.
    With --json it prints {"mailbox", "action", "done"}.
    """
    if action not in ("purge", "delete"):
        raise ConfigError("action", action, "must be purge or delete")
    check_forgettable(mailbox)
    duration_of("timeout", timeout)
    where = reach(url, data)
    if not yes:
        _confirm(action, mailbox)

    async def run() -> None:
        async with connect(where, name=name, connect_timeout=min(10.0, timeout)) as bus:
            await (bus.purge if action == "purge" else bus.delete)(mailbox, timeout=timeout)

    asyncio.run(run())
    if as_json:
        print_json({"mailbox": mailbox, "action": action, "done": True})
    else:
        said = "is empty" if action == "purge" else "is empty, and ends in some seconds"
        notices().print(f"{mailbox} {said}", markup=False)
    return EXIT_OK


def _confirm(action: str, mailbox: str) -> None:
    if not sys.stdin.isatty():
        raise ConfigError("yes", False, f"{action} drops every message of {mailbox!r}; say --yes")
    typer.confirm(f"Drop every message of {mailbox!r}?", abort=True, err=True)
