"""`causeway salvage`: people decide that mailboxes go on from the most complete copy that is left."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import typer
from rich.markup import escape

from causeway.cli.options import AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_FAILED, EXIT_OK, notices, print_json
from causeway.client.url import parse_url
from causeway.core.groups.registry import ROOT_NAME
from causeway.errors import CausewayError, Code, ConfigError, Refused
from causeway.local.everybody import reports_of
from causeway.local.health import latest_groups
from causeway.local.probe import Probe

WAIT_SECONDS = 10.0
AGAIN_SECONDS = 0.2


class SalvageableCopy(msgspec.Struct, kw_only=True):
    """The copy from which a mailbox, or a group of the brokers' own, would go on."""

    mailbox: str
    broker: str
    host: str
    port: int
    epoch: int
    seq: int
    complete: bool
    missing: list[str]
    """Members of its epoch that do not report a copy of it."""

    @property
    def loss(self) -> str:
        """What may be lost."""
        if self.complete:
            return "nothing that was acknowledged, unless the missing brokers went on without this copy"
        return "older messages: this copy was still being filled"


def salvage(
    mailboxes: Annotated[list[str] | None, typer.Argument(help="Mailboxes that no broker serves.")] = None,
    *,
    everything: Annotated[
        bool,
        typer.Option("--all", help="All that no broker serves, also the brokers' own groups; the directory first."),
    ] = False,
    url: Url = None,
    data: Data = None,
    yes: Annotated[bool, typer.Option("--yes", help="Decide without asking.")] = False,
    as_json: AsJson = False,
) -> int:
    """Let mailboxes whose majority is lost for good go on from the most complete copy that is left.

    Use this only if the missing brokers will not come back with their data. If they can, start them instead, and
    nothing is lost. This command gives up everything that only the missing brokers have, even if they return later:
    they then follow the decision, and are filled anew. A missing broker must not serve anybody before it knows of the
    decision. So start it with an empty directory, or where it reaches the others.

    The command first shows which copy each mailbox would go on from and what may be lost. Then it asks; if there is no
    terminal, it refuses without --yes. The exit code is 0 if all mailboxes go on, else 1. With --json it prints
    {"salvaged": [{"mailbox", "broker", "epoch", "seq", "complete", "missing", "loss", "error": empty if it goes on}]}.
    """
    if everything == bool(mailboxes):
        raise ConfigError("mailboxes", ",".join(mailboxes or ()), "name mailboxes, or give --all, and not both")
    addresses = parse_url(resolve_url(url, data))
    copies = best_copies(asyncio.run(reports_of(addresses)), mailboxes)
    out = notices()
    for copy in copies:
        kind = "complete" if copy.complete else "incomplete"
        where = f"{kind} copy on {copy.broker}, epoch {copy.epoch}, position {copy.seq}"
        out.print(f"{escape(copy.mailbox)}: {where}; missing: {', '.join(copy.missing) or 'nobody'}", soft_wrap=True)
        out.print(f"  may be lost: {copy.loss}", soft_wrap=True)
    if copies and not yes:
        _confirm(copies)
    errors = asyncio.run(_decide(copies))
    if as_json:
        print_json({"salvaged": [_line(copy, error) for copy, error in zip(copies, errors, strict=True)]})
    else:
        for copy, error in zip(copies, errors, strict=True):
            said = f"[red]not decided[/]: {escape(error)}" if error else f"goes on from the copy on {copy.broker}"
            out.print(f"{escape(copy.mailbox)}: {said}", soft_wrap=True)
        if not copies:
            out.print("every mailbox is served, or no copy of it is left")
    return EXIT_FAILED if any(errors) else EXIT_OK


def best_copies(reports: Sequence[Mapping[str, Any]], wanted: Iterable[str] | None) -> list[SalvageableCopy]:
    """For each of these that nobody serves (None: of all), the copy that has most; the directory first."""
    latest = latest_groups(reports)
    names = list(latest) if wanted is None else list(dict.fromkeys(wanted))
    found: list[SalvageableCopy] = []
    for name in names:
        group = latest.get(name)
        if group is None:
            raise ConfigError(
                "mailboxes", name, "no broker that answers has a copy of it; 'causeway status' lists them"
            )
        if group.get("serving") or not group.get("blocked"):
            if wanted is not None:
                raise ConfigError("mailboxes", name, "it is served, or can go on by itself; nothing is to be decided")
            continue
        copies = [copy for report in reports if (copy := _copy(report, group)) is not None]
        if copies:
            best = max(copies, key=lambda copy: (copy.complete, copy.seq, copy.broker))
            holders = {copy.broker for copy in copies}
            best.missing = [str(member) for member in group.get("members", []) if member not in holders]
            found.append(best)
    return sorted(found, key=lambda copy: (copy.mailbox != ROOT_NAME, copy.mailbox))


def _copy(report: Mapping[str, Any], group: Mapping[str, Any]) -> SalvageableCopy | None:
    """What a broker has of a group in its latest epoch."""
    name, broker = group.get("name"), str(report.get("broker"))
    own = next((one for one in report.get("groups", []) if one.get("name") == name), None)
    if own is None or own.get("epoch") != group.get("epoch") or broker not in own.get("members", []):
        return None
    return SalvageableCopy(
        mailbox=str(name),
        broker=broker,
        host=str(report.get("host")),
        port=int(report.get("port", 0)),
        epoch=int(own["epoch"]),
        seq=int(own.get("seq", 0)),
        complete=broker not in own.get("incomplete", []),
        missing=[],
    )


def _confirm(copies: Sequence[SalvageableCopy]) -> None:
    named = ", ".join(copy.mailbox for copy in copies)
    if not sys.stdin.isatty():
        raise ConfigError(
            "mailboxes", named, "what only the missing brokers have is given up for good; to decide that, give --yes"
        )
    typer.confirm("Give up what only the missing brokers have? Nothing undoes that.", abort=True, err=True)


async def _decide(copies: Sequence[SalvageableCopy]) -> list[str]:
    """One after the other, the directory first; what went wrong with each, empty when nothing did."""
    errors: list[str] = []
    for copy in copies:
        try:
            await _decide_one(copy, time.monotonic() + WAIT_SECONDS)
            errors.append("")
        except CausewayError as error:
            errors.append(str(error))
    return errors


async def _decide_one(copy: SalvageableCopy, deadline: float) -> None:
    """That the directory serves again is news that needs a moment to reach everybody."""
    while True:
        try:
            async with Probe(copy.host, copy.port, WAIT_SECONDS) as probe:
                await probe.salvage(copy.mailbox, copy.epoch, copy.seq)
            return
        except Refused as refused:
            if refused.code != Code.NO_DIRECTORY or time.monotonic() > deadline:
                raise
        await asyncio.sleep(AGAIN_SECONDS)


def _line(copy: SalvageableCopy, error: str) -> dict[str, object]:
    fields = ("mailbox", "broker", "epoch", "seq", "complete", "missing")
    return {**{name: getattr(copy, name) for name in fields}, "loss": copy.loss, "error": error}
