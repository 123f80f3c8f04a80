"""`causeway unsubscribe`: end a durable subscription, or the topics of a mailbox."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from causeway import connect
from causeway.cli.options import AppName, AsJson, Data, Url, reach
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.client.arguments import duration_of
from causeway.client.subscriptions import check_forgettable, durable_mailbox
from causeway.errors import Code, ConfigError, Refused


def unsubscribe(
    subscription: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The subscription, as --durable named it.")
    ] = None,
    *,
    shared: Annotated[bool, typer.Option("--shared", help="It is a shared one.")] = False,
    mailbox: Annotated[
        str | None,
        typer.Option(help="Instead of a subscription: a mailbox to which 'causeway receive --topics' gave topics."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds until it must have ended.")] = 30.0,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """End a durable subscription, with all messages that nobody has read; or the topics of a mailbox.

    With --mailbox nothing more of what is published comes into that mailbox. It stays, with all that is in it, and
    takes what is sent to it as before.

    With --json it prints {"subscription", "mailbox", "ended"}; "subscription" is null with --mailbox.
    """
    ended = _ending(subscription, mailbox, name, shared=shared)
    duration_of("timeout", timeout)
    where = reach(url, data)

    async def run() -> None:
        async with connect(where, name=name, connect_timeout=min(10.0, timeout)) as bus:
            if subscription is None:
                await bus.forget_topics(ended, timeout=timeout)
            else:
                try:
                    await bus.unsubscribe(subscription, shared=shared, timeout=timeout)
                except Refused as error:
                    if error.code != Code.NO_MAILBOX:
                        raise
                    remedy = f"is no durable subscription of {name!r}; say with --name whose it is, or --shared"
                    raise ConfigError("subscription", subscription, remedy) from error

    asyncio.run(run())
    if as_json:
        print_json({"subscription": subscription, "mailbox": ended, "ended": True})
    else:
        what = f"{subscription} has ended" if subscription is not None else f"{ended} has no topics any more"
        notices().print(what, markup=False)
    return EXIT_OK


def _ending(subscription: str | None, mailbox: str | None, application: str, *, shared: bool) -> str:
    """The mailbox that is meant. Raises ConfigError."""
    if subscription is not None and mailbox is not None:
        raise ConfigError("mailbox", mailbox, f"a subscription ({subscription!r}) has its own; name one of the two")
    if subscription is not None:
        return durable_mailbox(application, subscription, shared=shared)
    if mailbox is None:
        raise ConfigError("name", None, "say which subscription is to end, or with --mailbox whose topics are")
    if shared:
        raise ConfigError("shared", shared, "a mailbox is no subscription; leave out --shared, or --mailbox")
    return check_forgettable(mailbox)
