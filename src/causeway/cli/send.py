"""`causeway send`: put messages in a mailbox."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from causeway import Bus, Receipt, connect
from causeway.cli.options import AppName, AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.client.arguments import check_priority, duration_of
from causeway.errors import ConfigError
from causeway.names import check_mailbox

SERVICES = ("express", "unreliable", "recoverable", "transactional")
IDS_SHOWN_MAX = 100
_READY_EVERY = 512


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What to send, where and how."""

    mailbox: str
    service: str
    priority: int
    ttl: float | None
    timeout: float


class Sent(msgspec.Struct):
    """What became of it."""

    sent: int = 0
    acknowledged: int = 0
    ids: list[str] = []


def send(
    mailbox: Annotated[str, typer.Argument(help="Where to send: an application's or a queue's name.")],
    bodies: Annotated[list[str] | None, typer.Argument(metavar="BODY...", help="One message each.")] = None,
    *,
    file: Annotated[Path | None, typer.Option(help="Send this file as one message; - is standard input.")] = None,
    stdin_lines: Annotated[bool, typer.Option("--stdin-lines", help="Send each line of standard input.")] = False,
    service: Annotated[str, typer.Option(help="What an acknowledgement means: " + ", ".join(SERVICES))] = "recoverable",
    count: Annotated[
        int | None, typer.Option(help="Send everything so many times; default 1. Not with --stdin-lines.")
    ] = None,
    priority: Annotated[int, typer.Option(help="0 (lowest) to 9 (highest).")] = 4,
    ttl: Annotated[float | None, typer.Option(help="Seconds to live; an older message is dropped.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds until an unacknowledged message has failed.")] = 30.0,
    name: AppName = "causeway-cli",
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Send messages, and wait until each is acknowledged with the meaning of its service.

    express: delivered, or in the memory of the owner. unreliable: nobody says. recoverable: on the owner's and the
    copies' disks. transactional: the same, exactly once and in order. With --json it prints {"mailbox", "service",
    "sent", "acknowledged", "ids"}, at most 100 ids.
    """
    check_mailbox("mailbox", mailbox)
    given = [bodies is not None and bodies != [], file is not None, stdin_lines]
    if sum(given) != 1:
        raise ConfigError("body", bodies, "give either BODY..., or --file, or --stdin-lines")
    if service not in SERVICES:
        raise ConfigError("service", service, f"must be one of {', '.join(SERVICES)}")
    if count is not None and stdin_lines:
        raise ConfigError(
            "count", count, "--count cannot repeat --stdin-lines, which is read once; leave one of them out"
        )
    if count is not None and count < 1:
        raise ConfigError("count", count, "must be at least 1")
    check_priority(priority)
    if ttl is not None:
        duration_of("ttl", ttl)
    wish = Wish(mailbox=mailbox, service=service, priority=priority, ttl=ttl, timeout=timeout)
    fixed = _read_file(file) if file is not None else [body.encode("utf-8", "surrogateescape") for body in bodies or []]
    source = _lines() if stdin_lines else _repeat(fixed, count or 1)
    where = resolve_url(url, data)

    async def run() -> Sent:
        async with connect(where, name=name, timeout=timeout, connect_timeout=min(10.0, timeout)) as bus:
            return await _send_all(bus, wish, source)

    done = asyncio.run(run())
    if as_json:
        print_json({"mailbox": mailbox, "service": service, **msgspec.structs.asdict(done)})
    else:
        _report(mailbox, service, done)
    return EXIT_OK


async def _send_all(bus: Bus, wish: Wish, source: AsyncIterator[bytes]) -> Sent:
    done = Sent()
    waiting: deque[Receipt] = deque()
    reliable = wish.service != "unreliable"
    service = wish.service if reliable else "express"

    async def settle(left: int) -> None:
        while len(waiting) > left:
            receipt = waiting.popleft()
            await receipt.wait()
            done.acknowledged += reliable
            if len(done.ids) < IDS_SHOWN_MAX:
                done.ids.append(receipt.id)

    async for body in source:
        receipt = bus.send_nowait(
            wish.mailbox, body, service=service, reliable=reliable, priority=wish.priority, ttl=wish.ttl
        )
        waiting.append(receipt)
        done.sent += 1
        if done.sent % _READY_EVERY == 0:
            await bus.ready(wish.timeout)
            await settle(_READY_EVERY)
    await settle(0)
    return done


def _report(mailbox: str, service: str, done: Sent) -> None:
    what = "1 message" if done.sent == 1 else f"{done.sent} messages"
    if service == "unreliable":
        notices().print(f"{what} sent to {mailbox}; nobody acknowledges this service")
        return
    notices().print(f"{what} acknowledged by {mailbox} ({service})", markup=False)
    if done.sent == 1:
        notices().print(f"see what happens to it: causeway story {done.ids[0]}", soft_wrap=True, markup=False)


def _read_file(path: Path) -> list[bytes]:
    try:
        return [sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()]
    except OSError as error:
        raise ConfigError("file", str(path), f"cannot be read ({error.strerror}); give another one") from error


async def _repeat(bodies: list[bytes], count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        for body in bodies:
            yield body


async def _lines() -> AsyncIterator[bytes]:
    """Lines as they come; another thread waits for them, so that the connection stays alive meanwhile."""
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        yield line.removesuffix(b"\n")
