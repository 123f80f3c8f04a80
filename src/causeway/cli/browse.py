"""`causeway browse`: look into a mailbox without taking anything."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from causeway import Message, connect
from causeway.cli.letters import as_object, preview
from causeway.cli.options import AppName, AsJson, Data, Url, reach
from causeway.cli.output import EXIT_OK, console, print_json
from causeway.errors import ConfigError
from causeway.names import check_mailbox

PREVIEW_WIDTH = 40


def browse(
    mailbox: Annotated[str, typer.Argument(help="The mailbox to look into.")],
    *,
    count: Annotated[int, typer.Option(help="Show at most so many messages.")] = 20,
    selector: Annotated[
        str | None, typer.Option(help="Only messages whose headers match, e.g. \"amount > 100 AND region = 'EU'\".")
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Seconds until the mailbox's owner must have answered, page by page.")
    ] = 10.0,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Show the messages that wait in a mailbox, oldest first; nothing is taken or acknowledged.

    With --json it prints the same lines as receive --json.
    """
    check_mailbox("mailbox", mailbox)
    if count < 1:
        raise ConfigError("count", count, "must be at least 1")
    where = reach(url, data)

    async def run() -> list[Message]:
        async with connect(where, name=name) as bus:
            found = bus.browse(mailbox, count, selector=selector, timeout=timeout)
            return [message async for message in found]

    messages = asyncio.run(run())
    if as_json:
        for message in messages:
            print_json(as_object(message))
    else:
        console().print(_table(mailbox, messages))
    return EXIT_OK


def _table(mailbox: str, messages: list[Message]) -> Table:
    table = Table(title=Text(f"{mailbox}: {len(messages)} shown"), title_justify="left", box=SIMPLE_HEAD)
    for column in ("id", "service"):
        table.add_column(column, overflow="fold")
    for column in ("priority", "returned", "bytes"):
        table.add_column(column, justify="right")
    table.add_column("body", no_wrap=True)
    for message in messages:
        counts = (str(message.priority), str(message.deliveries), str(len(message.body)))
        table.add_row(Text(message.id), message.service, *counts, Text(preview(message.body, PREVIEW_WIDTH)))
    return table
