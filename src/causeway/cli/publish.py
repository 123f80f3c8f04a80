"""`causeway publish`: messages on a topic."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
import typer

from causeway import Receipt, connect
from causeway.cli.options import AppName, AsJson, Data, Naming, Order, Url, reach
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
from causeway.client.arguments import check_causal, check_order, check_priority, check_times, duration_of
from causeway.topics import Naming as TopicNaming


def publish(
    topic: Annotated[str, typer.Argument(help="A path such as roads/a1/speed, or tags such as 'road=a1, kind=speed'.")],
    bodies: Bodies = None,
    *,
    file: File = None,
    stdin_lines: StdinLines = False,
    service: Service = "recoverable",
    count: Count = None,
    priority: Priority = 4,
    ttl: Ttl = None,
    delay: Annotated[float | None, typer.Option(help="Seconds before which nobody gets it.")] = None,
    retain: Annotated[
        bool, typer.Option("--retain", help="Keep the last one for later subscribers; an empty one ends that.")
    ] = False,
    order: Order = None,
    timeout: Timeout = 30.0,
    naming: Naming = None,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Publish messages, and wait until each is acknowledged with the meaning of its service.

    Every subscription of that moment gets them. With --order causal, those that ask for this order, and consumers with
    topics, get them in it, all others without it. With --json it prints {"topic", "service", "order", "sent",
    "acknowledged", "ids"}, at most 100 ids; the topic is a path, "order" is causal or null.
    """
    path = TopicNaming(naming or ()).path(topic)
    kind, reliable = check_service(service)
    source = bodies_of(bodies, file, count, stdin_lines=stdin_lines)
    check_priority(priority)
    life = 0 if ttl is None else duration_of("ttl", ttl)
    wait = 0 if delay is None else duration_of("delay", delay)
    check_times(life, None, wait)
    if check_order(order):
        check_causal(priority, wait, retain=retain)
    where = reach(url, data)

    async def run() -> Sent:
        async with connect(where, name=name, timeout=timeout, connect_timeout=min(10.0, timeout)) as bus:

            def submit(body: bytes) -> Receipt:
                return bus.publish_nowait(
                    path,
                    body,
                    service=kind,
                    reliable=reliable,
                    priority=priority,
                    ttl=ttl,
                    delay=delay,
                    retain=retain,
                    order=order,
                )

            return await post_all(bus, submit, source, timeout, reliable=reliable)

    done = asyncio.run(run())
    if as_json:
        print_json({"topic": path, "service": service, "order": order, **msgspec.structs.asdict(done)})
    else:
        report(f"topic {path}", service, done)
    return EXIT_OK
