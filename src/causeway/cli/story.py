"""`causeway story`: what happened to one message."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from causeway.cli.options import AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, notices, print_json
from causeway.client.message import MessageId
from causeway.client.url import parse_url
from causeway.core.messages import StoryRequest
from causeway.errors import CausewayError, TransportError
from causeway.local.probe import Probe
from causeway.trace import Step, TraceRecord
from causeway.types import MILLISECOND


def story(
    message: Annotated[
        str, typer.Argument(metavar="ID", help="As printed: source:incarnation:destination:class:number")
    ],
    *,
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Ask every broker what it remembers of a message, and print its life in order of time.

    Brokers remember recent messages only. Exit code 1 when nobody remembers it. With --json it prints one line per
    step: {"at": ns, "after_ms", "broker", "step", "source", "dest", "class", "first", "last", "note"}.
    """
    wanted = MessageId.parse(message)
    records = asyncio.run(_collect(wanted, parse_url(resolve_url(url, data))))
    rows = timeline(records)
    if as_json:
        for row in rows:
            print_json(row)
    elif rows:
        console().print(_table(wanted, rows))
    if not rows:
        notices().print(f"no broker remembers {wanted}; brokers keep the recent past only", soft_wrap=True)
    return EXIT_OK if rows else EXIT_FAILED


async def _collect(wanted: MessageId, addresses: Sequence[tuple[str, int]]) -> list[TraceRecord]:
    request = StoryRequest(1, wanted.source, wanted.incarnation, wanted.dest, wanted.stream, wanted.number)
    found: list[TraceRecord] = []
    failures: list[CausewayError] = []
    known = dict.fromkeys(addresses)

    async def ask(host: str, port: int) -> None:
        try:
            async with Probe(host, port) as probe:
                known.update({(peer.host, peer.port): None for peer in probe.others})
                found.extend(await probe.story(request))
        except CausewayError as error:
            failures.append(error)

    asked: set[tuple[str, int]] = set()
    while waiting := [address for address in known if address not in asked]:
        asked.update(waiting)
        await asyncio.gather(*(ask(host, port) for host, port in waiting))
    if len(failures) == len(asked):
        raise failures[0] if failures else TransportError("the URL names no broker")
    return found


def timeline(records: Iterable[TraceRecord]) -> list[dict[str, Any]]:
    """Records of all brokers in order of time, each once; equal times in the order of a message's life."""
    unique = dict.fromkeys(sorted(records, key=lambda record: (record.at, record.step, record.broker)))
    start = next(iter(unique)).at if unique else 0
    return [
        {
            "at": record.at,
            "after_ms": round((record.at - start) / MILLISECOND, 3),
            "broker": record.broker,
            "step": step_name(record.step),
            "source": record.source,
            "dest": record.dest,
            "class": record.stream,
            "first": record.first,
            "last": record.last,
            "note": record.note,
        }
        for record in unique
    ]


def step_name(step: int) -> str:
    """The name of a step, also of one that a newer broker invented."""
    try:
        return Step(step).name.lower()
    except ValueError:
        return f"step-{step}"


def _table(wanted: MessageId, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=f"story of {wanted}", title_justify="left")
    table.add_column("after", justify="right")
    for column in ("broker", "step", "in batch", "note"):
        table.add_column(column)
    for row in rows:
        batch = f"{row['first']}..{row['last']}"
        table.add_row(f"{row['after_ms']:.3f} ms", row["broker"], row["step"], batch, row["note"])
    return table
