"""What sending and publishing have in common: where bodies come from, and waiting until each is acknowledged."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from causeway import Bus, Receipt
from causeway.cli.output import notices
from causeway.errors import ConfigError

SERVICES = ("express", "unreliable", "recoverable", "transactional")
IDS_SHOWN_MAX = 100
_READY_EVERY = 512

Bodies = Annotated[list[str] | None, typer.Argument(metavar="BODY...", help="One message each.")]
File = Annotated[Path | None, typer.Option(help="Send this file as one message; - is standard input.")]
StdinLines = Annotated[bool, typer.Option("--stdin-lines", help="Send each line of standard input.")]
Service = Annotated[str, typer.Option(help="What an acknowledgement means: " + ", ".join(SERVICES))]
Count = Annotated[int | None, typer.Option(help="Send everything so many times; default 1. Not with --stdin-lines.")]
Priority = Annotated[int, typer.Option(help="0 (lowest) to 9 (highest).")]
Ttl = Annotated[float | None, typer.Option(help="Seconds to live; an older message is dropped.")]
Timeout = Annotated[float, typer.Option(help="Seconds until an unacknowledged message has failed.")]


class Sent(msgspec.Struct):
    """What became of it."""

    sent: int = 0
    acknowledged: int = 0
    ids: list[str] = []


def bodies_of(
    bodies: list[str] | None, file: Path | None, count: int | None, *, stdin_lines: bool
) -> AsyncIterator[bytes]:
    """What to send, as the command line says. Raises ConfigError."""
    if sum((bool(bodies), file is not None, stdin_lines)) != 1:
        raise ConfigError("body", bodies, "give either BODY..., or --file, or --stdin-lines")
    if count is not None and stdin_lines:
        raise ConfigError(
            "count", count, "--count cannot repeat --stdin-lines, which is read once; leave one of them out"
        )
    if count is not None and count < 1:
        raise ConfigError("count", count, "must be at least 1")
    if stdin_lines:
        return _lines()
    fixed = _read_file(file) if file is not None else [body.encode("utf-8", "surrogateescape") for body in bodies or []]
    return _repeat(fixed, count or 1)


def check_service(service: str) -> tuple[str, bool]:
    """The class of a service of the command line, and whether somebody acknowledges it. Raises ConfigError."""
    if service not in SERVICES:
        raise ConfigError("service", service, f"must be one of {', '.join(SERVICES)}")
    reliable = service != "unreliable"
    return service if reliable else "express", reliable


async def post_all(
    bus: Bus, submit: Callable[[bytes], Receipt], source: AsyncIterator[bytes], patience: float, *, reliable: bool
) -> Sent:
    """Submit all there is, and wait until it is acknowledged; `patience` seconds while the window is full."""
    done = Sent()
    waiting: deque[Receipt] = deque()

    async def settle(left: int) -> None:
        while len(waiting) > left:
            receipt = waiting.popleft()
            await receipt.wait()
            done.acknowledged += reliable
            if len(done.ids) < IDS_SHOWN_MAX:
                done.ids.append(receipt.id)

    async for body in source:
        waiting.append(submit(body))
        done.sent += 1
        if done.sent % _READY_EVERY == 0:
            await bus.ready(patience)
            await settle(_READY_EVERY)
    await settle(0)
    return done


def report(target: str, service: str, done: Sent) -> None:
    """For people."""
    what = "1 message" if done.sent == 1 else f"{done.sent} messages"
    if service == "unreliable":
        notices().print(f"{what} sent to {target}; nobody acknowledges this service", markup=False)
        return
    notices().print(f"{what} acknowledged by {target} ({service})", markup=False)
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
