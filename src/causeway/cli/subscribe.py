"""`causeway subscribe`: print what is published on topics."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime
from typing import Annotated

import typer

from causeway import Bus, Message, connect
from causeway.cli.letters import as_object
from causeway.cli.options import AppName, AsJson, Data, Naming, Order, Url, reach
from causeway.cli.output import EXIT_FAILED, EXIT_OK, notices, print_json
from causeway.client.arguments import duration_of
from causeway.client.subscriptions import SubscriptionTerms, start_of
from causeway.errors import ConfigError
from causeway.topics import Naming as TopicNaming

PREFETCH = 256


def subscribe(
    pattern: Annotated[str, typer.Argument(help="Topics: * stands for one level, # at the end for all that follow.")],
    *,
    durable: Annotated[
        str | None, typer.Option("--durable", metavar="NAME", help="Keep the subscription, under this name.")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Share the durable subscription with others that name it.")
    ] = False,
    selector: Annotated[str | None, typer.Option(help='Only messages whose headers match, e.g. "lane = 2".')] = None,
    start: Annotated[
        str | None, typer.Option(help="Begin with what a history keeps: earliest, an offset, or 2026-01-31T08:00.")
    ] = None,
    order: Order = None,
    count: Annotated[
        int | None, typer.Option(help="End after so many messages; exit code 1 if they do not come.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="End after so many seconds without a message.")] = None,
    naming: Naming = None,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Print each message on a line until Ctrl-C; each is acknowledged after it was printed.

    A durable subscription gathers messages also while nobody reads it, until 'causeway unsubscribe'. With --order
    causal it gets what is published in this order, and nothing else. With --json each line is as that of 'causeway
    receive', with "topic" and "offset".
    """
    path = TopicNaming(naming or ()).pattern(pattern)
    if shared and durable is None:
        raise ConfigError("shared", shared, "which one? give it a name with --durable NAME")
    if count is not None and count < 1:
        raise ConfigError("count", count, "must be at least 1")
    if timeout is not None:
        duration_of("timeout", timeout)
    begin = _parse_start(start, path)
    terms = SubscriptionTerms(
        pattern=path,
        name=durable,
        durable=durable is not None,
        shared=shared,
        selector=selector,
        start=begin,
        order=order,
    )
    terms.interest("")
    terms.mailbox(name)
    where = reach(url, data)

    async def run() -> int:
        async with connect(where, name=name, naming=naming or ()) as bus:
            return await _print_all(bus, pattern, terms, begin, count=count, patience=timeout, as_json=as_json)

    taken = asyncio.run(run())
    if not as_json:
        what = "1 message" if taken == 1 else f"{taken} messages"
        notices().print(f"{what} of {path}", markup=False)
    return EXIT_OK if count is None or taken == count else EXIT_FAILED


async def _print_all(
    bus: Bus,
    pattern: str,
    terms: SubscriptionTerms,
    begin: str | int | datetime | None,
    *,
    count: int | None,
    patience: float | None,
    as_json: bool,
) -> int:
    taken = 0
    feed = bus.subscribe(
        pattern,
        name=None if terms.name is None else str(terms.name),
        durable=terms.durable,
        shared=terms.shared,
        selector=None if terms.selector is None else str(terms.selector),
        start=begin,
        order=None if terms.order is None else str(terms.order),
        prefetch=PREFETCH if count is None else min(count, PREFETCH),
        auto_ack=False,
        timeout=patience,
    )
    async with feed:
        await feed.ready()
        if not as_json:
            notices().print(f"subscribed to {terms.pattern}", markup=False)
        async for message in feed:
            _print(message, as_json=as_json)
            message.ack()
            taken += 1
            if taken == count:
                break
    return taken


def _print(message: Message, *, as_json: bool) -> None:
    if as_json:
        print_json(as_object(message))
        return
    sys.stdout.buffer.write(f"{message.topic}: ".encode() + message.body + b"\n")
    sys.stdout.buffer.flush()


def _parse_start(text: str | None, pattern: str) -> str | int | datetime | None:
    if text is None:
        return None
    start: str | int | datetime = text
    if text.isascii() and text.isdecimal():
        start = int(text)
    elif text != "earliest":
        try:
            start = datetime.fromisoformat(text)
        except ValueError:
            remedy = "must be earliest, the offset of a message, or a time such as 2026-01-31T08:00"
            raise ConfigError("start", text, remedy) from None
    start_of(start, pattern)
    return start
