"""`causeway story`: what happened to one message, at every broker, and where it is now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from rich.markup import escape
from rich.table import Table

from causeway.cli.options import AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, notices, print_json
from causeway.cli.whereabouts import where_now
from causeway.client.message import MessageId
from causeway.client.url import parse_url
from causeway.core.messages import StoryRequest
from causeway.errors import CausewayError
from causeway.local.everybody import Address
from causeway.local.probe import Probe, nobody_answered
from causeway.trace import MEMBERS_APART, Step, TraceRecord
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
    """Ask every broker what it remembers of a message, print its life in order of time, and say where it is now.

    Brokers remember recent messages only; times are those of their clocks. Exit code 1 when nobody remembers it. With
    --json it prints one line per step: {"at": ns, "after_ms", "broker", "step", "mailbox", "topic", "peers", "source",
    "dest", "class", "first", "last", "note"}; and last {"now": per mailbox "mailbox", "state", "broker", "text";
    "unanswered": brokers that could not be asked, each with the reason}.
    """
    wanted = MessageId.parse(message)
    told = asyncio.run(_collect(wanted, parse_url(resolve_url(url, data))))
    rows, now = timeline(told.records), where_now(told.records)
    if as_json:
        for row in rows:
            print_json(row)
        if rows:
            print_json({"now": now, "unanswered": told.unanswered})
    elif rows:
        out = console()
        out.print(_table(wanted, rows))
        for place in now:
            out.print(f"now: {escape(place.text)}", soft_wrap=True)
    for address, reason in told.unanswered.items():
        notices().print(f"{address} may know more, and did not answer: {escape(reason)}", soft_wrap=True)
    if not rows:
        notices().print(f"no broker remembers {wanted}; brokers keep the recent past only", soft_wrap=True)
    return EXIT_OK if rows else EXIT_FAILED


class Told(NamedTuple):
    """What brokers remember, each in its own order."""

    records: list[TraceRecord]
    unanswered: dict[str, str]


async def _collect(wanted: MessageId, addresses: Sequence[Address]) -> Told:
    request = StoryRequest(1, wanted.source, wanted.incarnation, wanted.dest, wanted.stream, wanted.number)
    found: list[TraceRecord] = []
    failures: dict[str, str] = {}
    known = dict.fromkeys(addresses)

    async def ask(host: str, port: int) -> None:
        try:
            async with Probe(host, port) as probe:
                known.update({(peer.host, peer.port): None for peer in probe.others})
                found.extend(await probe.story(request))
        except CausewayError as error:
            failures[f"{host}:{port}"] = str(error)

    asked: set[Address] = set()
    while waiting := [address for address in known if address not in asked]:
        asked.update(waiting)
        await asyncio.gather(*(ask(host, port) for host, port in waiting))
    if len(failures) == len(asked):
        raise nobody_answered(failures.values())
    return Told(found, failures)


def timeline(records: Iterable[TraceRecord]) -> list[dict[str, Any]]:
    """Records of all brokers in order of time, each once; those of one broker stay in its order."""
    unique = dict.fromkeys(sorted(records, key=lambda record: record.at))
    start = next(iter(unique)).at if unique else 0
    return [
        {
            "at": record.at,
            "after_ms": round((record.at - start) / MILLISECOND, 3),
            "broker": record.broker,
            "step": record.step_name,
            "mailbox": record.mailbox,
            "topic": record.topic,
            "peers": record.peer.split(MEMBERS_APART) if record.peer else [],
            "source": record.source,
            "dest": record.dest,
            "class": record.stream,
            "first": record.first,
            "last": record.last,
            "note": record.note,
        }
        for record in unique
    ]


_SAID = {
    "sent": "from {source}",
    "forwarded": "to {peers}",
    "stored": "on {peers}",
    "copied": "for its owner {peers}",
    "delivered": "to {peers}",
    "settled": "its reader acknowledged it",
    "acknowledged": "{source} was told",
}


def _said(row: dict[str, Any]) -> str:
    """What a step says beside its name."""
    words = _SAID.get(row["step"], "")
    if "{peers}" in words and not row["peers"]:
        words = ""
    if row["step"] == Step.SETTLED.name.lower():
        if row["topic"] and row["mailbox"] == row["dest"]:
            words = "every subscription has it"
        words = "" if row["note"] else words  # nobody read it
    said = [words.format(source=row["source"], peers=", ".join(row["peers"])), row["note"]]
    if row["mailbox"] not in ("", row["dest"]):
        said.insert(0, f"for {row['mailbox']}")
    return "; ".join(part for part in said if part)


def _table(wanted: MessageId, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=f"story of {wanted}", title_justify="left")
    table.add_column("after", justify="right")
    for column in ("broker", "step", "in batch"):
        table.add_column(column, no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows:
        batch = f"{row['first']}..{row['last']}"
        table.add_row(f"{row['after_ms']:.3f} ms", row["broker"], row["step"], batch, escape(_said(row)))
    return table
