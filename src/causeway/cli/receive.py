"""`causeway receive`: take messages from a mailbox."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, Any

import typer

from causeway import connect
from causeway.cli.letters import as_object
from causeway.cli.options import AppName, AsJson, Data, Order, Url, reach
from causeway.cli.output import EXIT_FAILED, EXIT_OK, notices, print_json
from causeway.client.arguments import check_order, check_selector
from causeway.client.subscriptions import topics_interest
from causeway.errors import ConfigError
from causeway.names import check_mailbox
from causeway.topics import Naming as TopicNaming

PREFETCH = 256


def receive(
    mailbox: Annotated[str, typer.Argument(help="The mailbox to read.")],
    *,
    count: Annotated[
        int | None, typer.Option(help="End after so many messages; exit code 1 if they do not come.")
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help='Take only messages whose headers match, e.g. "lane = 2".')
    ] = None,
    topics: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="With --order causal: the mailbox also gets what is published there, until 'unsubscribe --mailbox'.",
        ),
    ] = None,
    order: Order = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more until Ctrl-C.")] = False,
    no_ack: Annotated[
        bool, typer.Option("--no-ack", help="Leave the messages in the mailbox; they count as given back.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="End after so many seconds without a message.")] = 2.0,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Take messages and print each body on a line; each is acknowledged after it was printed.

    With --json each line is {"id", "mailbox", "source", "service", "priority", "deliveries", "headers", "body"}; a body
    that is no text has "body": null and "body_base64", one in causal order has "order": "causal".
    """
    check_mailbox("mailbox", mailbox)
    check_selector(selector)
    if check_order(order) != (topics is not None):
        raise ConfigError("topics", topics, "--topics PATTERN and --order causal come together; give both or neither")
    if topics is not None:
        topics_interest(mailbox, name, TopicNaming().pattern(topics))
    if count is not None and count < 1:
        raise ConfigError("count", count, "must be at least 1")
    if timeout <= 0:
        raise ConfigError("timeout", timeout, "must be more than 0")
    where = reach(url, data)

    async def run() -> int:
        taken = 0
        async with connect(where, name=name) as bus:
            how: dict[str, Any] = {"selector": selector, "topics": topics, "order": order}
            how |= {"prefetch": min(count or PREFETCH, PREFETCH), "timeout": None if follow else timeout}
            async with bus.receive(mailbox, auto_ack=False, **how) as feed:
                if topics is not None:
                    await feed.ready()
                async for message in feed:
                    if as_json:
                        print_json(as_object(message))
                    else:
                        sys.stdout.buffer.write(message.body + b"\n")
                        sys.stdout.buffer.flush()
                    if not no_ack:
                        message.ack()
                    taken += 1
                    if taken == count:
                        break
        return taken

    taken = asyncio.run(run())
    if not as_json:
        what = "1 message" if taken == 1 else f"{taken} messages"
        notices().print(f"{what} {'seen' if no_ack else 'taken'} from {mailbox}", markup=False)
    return EXIT_OK if count is None or taken == count else EXIT_FAILED
