"""`causeway send`: put messages in a mailbox."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
import typer

from causeway import Receipt, connect
from causeway.cli.options import AppName, AsJson, Data, Order, Url, reach
from causeway.cli.output import EXIT_OK, print_json
from causeway.cli.posting import (
    Bodies,
    Count,
    File,
    Priority,
    Sent,
    Service,
    StdinLines,
    Timeout,
    Ttl,
    bodies_of,
    check_service,
    post_all,
    report,
)
from causeway.client.arguments import check_causal, check_order, check_priority, duration_of
from causeway.names import check_mailbox


def send(
    mailbox: Annotated[str, typer.Argument(help="Where to send: an application's or a queue's name.")],
    bodies: Bodies = None,
    *,
    file: File = None,
    stdin_lines: StdinLines = False,
    service: Service = "recoverable",
    count: Count = None,
    priority: Priority = 4,
    ttl: Ttl = None,
    order: Order = None,
    timeout: Timeout = 30.0,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Send messages, and wait until each is acknowledged with the meaning of its service.

    express: delivered, or in the memory of the owner. unreliable: nobody says. recoverable: on the owner's and the
    copies' disks. transactional: the same, exactly once and in order. With --order causal, in whatever service, it also
    comes after all that this name sent so before, to whatever mailbox or topic. With --json it prints {"mailbox",
    "service", "order", "sent", "acknowledged", "ids"}, at most 100 ids; "order" is causal or null.
    """
    check_mailbox("mailbox", mailbox)
    kind, reliable = check_service(service)
    source = bodies_of(bodies, file, count, stdin_lines=stdin_lines)
    check_priority(priority)
    if ttl is not None:
        duration_of("ttl", ttl)
    if check_order(order):
        check_causal(priority, 0)
    where = reach(url, data)

    async def run() -> Sent:
        async with connect(where, name=name, timeout=timeout, connect_timeout=min(10.0, timeout)) as bus:

            def submit(body: bytes) -> Receipt:
                return bus.send_nowait(
                    mailbox, body, service=kind, reliable=reliable, priority=priority, ttl=ttl, order=order
                )

            return await post_all(bus, submit, source, timeout, reliable=reliable)

    done = asyncio.run(run())
    if as_json:
        print_json({"mailbox": mailbox, "service": service, "order": order, **msgspec.structs.asdict(done)})
    else:
        report(mailbox, service, done)
    return EXIT_OK
