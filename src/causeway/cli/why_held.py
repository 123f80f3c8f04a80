"""`causeway why-held`: which batches in causal order wait at a seat, and for what."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.markup import escape

from causeway.cli.domains import latest
from causeway.cli.options import AsJson, Data, Url, resolve_url
from causeway.cli.output import EXIT_OK, console, print_json
from causeway.client.settings import Address
from causeway.client.url import parse_url
from causeway.local.everybody import reports_of
from causeway.local.probe import first_answer
from causeway.names import seat_name
from causeway.types import SECOND, Instant

SLOW: Final = 1 * SECOND
"""What is under way for less is not called waiting."""


class SeatWaits(msgspec.Struct, kw_only=True):
    """What waits at one seat."""

    broker: str
    """Who holds it now; empty when none of the brokers that were asked does."""
    seat: str
    """Whose it is."""
    held: list[dict[str, Any]]
    """Batches from other seats that came before what they follow; the first ones."""
    held_count: int
    """All of them."""
    held_bytes: int
    waiting: list[dict[str, Any]]
    """Applications whose next batch cannot be taken yet."""
    untaken: list[dict[str, Any]] = []
    """Mailboxes and other seats that have not taken all that was sent to them; the first ones."""
    unserved: str = ""
    """Why nobody holds it, although it was used and every broker was asked."""
    used: bool = True
    """Whether anything was ever sent to it, as far as the brokers that were asked know."""


def why_held(
    *,
    url: Url = None,
    data: Data = None,
    everywhere: Annotated[bool, typer.Option("--all", help="Ask every broker that can be found.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show, for each seat held by a broker, which batches wait, for which missing predecessor, and since when.

    It asks the first broker of --url that answers, or with --all every broker. A batch waits until everything that
    came before it in causal order is there, and then until its mailbox, subscription or next seat takes it. Nothing
    waits at a seat that was never used: nobody holds it yet.

    A seat is a broker's place in its domains, where applications send in causal order; neighbours hold it while its
    broker is away. A predecessor is a batch that comes before another one in causal order; numbers say up to which of a
    seat's batches this seat needs and has. A mark tells a seat what an application has read at another seat: what the
    application sends next comes after that.

    With --json it prints {"seats": each with "broker", "seat", "held" (each
    "domain", "from", "source", "first", "count", "dest", "topic", "since", "waits_for": each "seat", "until", "have"),
    "held_count", "held_bytes", "waiting" (each "source", "first", "why", "since"), "untaken" (each "to", "count",
    "source", "first", "since"), "unserved", "used")}; "broker" is empty when no broker that was asked holds the seat;
    instants are nanoseconds.
    """
    addresses = parse_url(resolve_url(url, data))
    reports = asyncio.run(reports_of(addresses)) if everywhere else [asyncio.run(_first(addresses))]
    seats = waits(reports, everywhere=everywhere)
    if as_json:
        print_json({"seats": seats})
        return EXIT_OK
    out = console()
    for seat in seats:
        for line in explained(seat, time.time_ns()):
            out.print(escape(line), soft_wrap=True)
    if not seats:
        where = "these brokers hold" if everywhere else f"{reports[0].get('broker', 'the broker')} holds"
        out.print(f"{where} no seat" + ("" if everywhere else "; try --all"))
    return EXIT_OK


async def _first(addresses: Iterable[Address]) -> dict[str, Any]:
    return await first_answer(addresses, lambda probe: probe.status(whole=False))


def waits(reports: Iterable[Mapping[str, Any]], *, everywhere: bool) -> list[SeatWaits]:
    """The seats that these brokers hold, and those that nobody holds (of all brokers, or of these alone), by name.

    Keys that a broker of another release leaves out count as nothing.
    """
    reports = list(reports)
    found = [
        SeatWaits(
            broker=str(report.get("broker", "a broker without a name")),
            seat=str(seat.get("seat", "a seat without a name")),
            held=list(seat.get("held", [])),
            held_count=int(seat.get("held_count", 0)),
            held_bytes=int(seat.get("held_bytes", 0)),
            waiting=list(seat.get("waiting", [])),
            untaken=list(seat.get("untaken", [])),
        )
        for report in reports
        for seat in (report.get("causal") or {}).get("seats", [])
    ]
    held = {seat.seat for seat in found}
    # A seat is a replica group, and that begins with the first message to it: until then no broker reports it.
    begun = {str(group.get("name")): group for report in reports for group in report.get("groups", [])}
    for seat in _on_the_map(reports) if everywhere else _own(reports):
        if seat not in held:
            nothing = SeatWaits(broker="", seat=seat, held=[], held_count=0, held_bytes=0, waiting=[])
            nothing.used = not everywhere or seat_name(seat) in begun  # one broker alone cannot know
            if everywhere and nothing.used:
                nothing.unserved = str(begun[seat_name(seat)].get("blocked") or "its holder has not taken over yet")
            found.append(nothing)
    return sorted(found, key=lambda waits: (waits.seat, waits.broker))


def _on_the_map(reports: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(seat for domain in latest(reports).domains for seat in (*domain.seats, *domain.left)))


def _own(reports: Iterable[Mapping[str, Any]]) -> list[str]:
    return [str(seat) for report in reports if (seat := (report.get("causal") or {}).get("seat"))]


def explained(seat: SeatWaits, now: Instant) -> list[str]:
    """One seat for people: a line for itself, and one for everything that waits there."""
    if seat.unserved:
        return [f"seat {seat.seat}: no broker serves it, so everything sent to it waits ({seat.unserved})"]
    if not seat.broker:
        unknown = "no broker that was asked holds it; --all asks every broker"
        return [f"seat {seat.seat}: {unknown if seat.used else 'nothing waits, it was never used'}"]
    holder = "" if seat.broker == seat.seat else f" (held by {seat.broker})"
    untaken = [way for way in seat.untaken if now - int(way.get("since", 0)) >= SLOW]
    count = seat.held_count + len(seat.waiting) + sum(int(way.get("count", 1)) for way in untaken)
    lines = [f"seat {seat.seat}{holder}: " + (f"{count} wait" if count else "nothing waits")]
    lines += [_held(batch, now) for batch in seat.held]
    if seat.held_count > len(seat.held):
        lines.append(f"  and {seat.held_count - len(seat.held)} more")
    for sender in seat.waiting:
        why = sender.get("why") or "what it follows"
        lines.append(f"  {sender.get('source')} from {sender.get('first')} on: waits for {why}{_age(sender, now)}")
    for way in untaken:
        what = f"{way.get('count')} to {way.get('to')}, the first {way.get('source')} {way.get('first')}"
        lines.append(f"  {what}: not taken there (full, blocked or not served){_age(way, now)}")
    return lines


def _held(batch: Mapping[str, Any], now: Instant) -> str:
    first, count = int(batch.get("first", 0)), int(batch.get("count", 1))
    ids = str(first) if count == 1 else f"{first} to {first + count - 1}"
    to = batch.get("dest") or batch.get("topic")
    what = f"{batch.get('source')} {ids}" + (f" to {to}" if to else ", a mark")
    way = f"from {batch.get('from')} in [{batch.get('domain')}]"
    missing = ", ".join(_missing(gap) for gap in batch.get("waits_for", []))
    return f"  {what}, {way}: waits for {missing}{_age(batch, now)}"


def _missing(gap: Mapping[str, Any]) -> str:
    if gap.get("seat") == "?":
        return "a later map of domains than this broker has"
    return f"{gap.get('seat')} up to {gap.get('until')} (has {gap.get('have')})"


def _age(entry: Mapping[str, Any], now: Instant) -> str:
    since = int(entry.get("since", 0))
    return f", for {max(0, now - since) / SECOND:.1f} s now" if since else ""
