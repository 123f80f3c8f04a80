"""`causeway locate`: where a client on this machine should go, and why."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from causeway import Placed, connect
from causeway.cli.options import AsJson, Data, Naming, Url, reach, resolve_url
from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, print_json
from causeway.client.settings import Address
from causeway.client.url import parse_url
from causeway.core import locating
from causeway.core.messages import Candidate
from causeway.errors import CausewayError, Refused
from causeway.local.probe import Probe, nobody_answered
from causeway.topics import Naming as TopicNaming
from causeway.types import MICROSECOND, MILLISECOND

Where = Annotated[str | None, typer.Argument(metavar="[URL]", help="Brokers to ask; the same as --url.")]


class Finding(msgspec.Struct, kw_only=True):
    """Who was asked, and the brokers it named, the best one first."""

    asked: str
    """host:port of the broker that answered."""
    candidates: list[Candidate]
    skipped: dict[str, str]
    """Brokers of the URL that did not answer before it did, and why."""


def locate(
    where: Where = None,
    *,
    topic: Annotated[
        str | None, typer.Option(help="Instead, show which brokers hold this topic, such as roads/a1/speed.")
    ] = None,
    naming: Naming = None,
    url: Url = None,
    data: Data = None,
    as_json: AsJson = False,
) -> int:
    """Ask any broker where a client on this machine should go, measure the way to each, and explain the choice.

    The score is the product of three terms, each 1000 at best: room (free connections against the limit), ease (few
    connections for its capability) and nearness (a short round trip). Brokers that are dead, full or still joining are
    never chosen. Exit code 0 when there is a choice, else 1. With --json it prints one object: "asked", "chosen",
    "why", "candidates" (each "broker", "address", "alive", "ready", "round_trip_us", "measured", "distance_us",
    "nearby", "connections", "limit", "capability", "room", "ease", "nearness", "score"), "skipped" (addresses of the
    URL that did not answer, with the reason). With --topic: "topic", "owner", "owner_address", "mirror",
    "mirror_address", "epoch", "domain".
    """
    if topic is not None:
        return _locate_topic(reach(where or url, data), TopicNaming(naming or ()).path(topic), as_json=as_json)
    answer = asyncio.run(_ask(parse_url(resolve_url(where or url, data))))
    chosen = next((one for one in answer.candidates if one.score > 0), None)
    why = explain(answer.candidates)
    if as_json:
        print_json(
            {
                "asked": answer.asked,
                "chosen": chosen.peer.name if chosen else None,
                "why": why,
                "candidates": [_described(one) for one in answer.candidates],
                "skipped": answer.skipped,
            }
        )
    else:
        out = console()
        out.print(_table(answer))
        for address, reason in answer.skipped.items():
            out.print(f"[yellow]passed over {address}[/]: {escape(reason)}", soft_wrap=True)
        out.print(escape(why), soft_wrap=True)
    return EXIT_OK if chosen else EXIT_FAILED


def _locate_topic(where: str, topic: str, *, as_json: bool) -> int:
    async def run() -> Placed:
        async with connect(where, name="causeway-cli", roam=False) as bus:
            return await bus.where(topic)

    found = asyncio.run(run())
    if as_json:
        print_json({"topic": topic, **dataclasses.asdict(found)})
    else:
        mirror = f"its mirror is {found.mirror} ({found.mirror_address})" if found.mirror else "it has no mirror"
        domain = f" in domain {found.domain}" if found.domain else ""
        held = f"{topic} is held by {found.owner} ({found.owner_address}){domain}; {mirror}; epoch {found.epoch}"
        console().print(escape(held), soft_wrap=True)
    return EXIT_OK


async def _ask(addresses: tuple[Address, ...]) -> Finding:
    """The first broker that answers knows the others; then the way to each of them is measured from here."""
    skipped: dict[str, str] = {}
    for host, port in addresses:
        try:
            async with Probe(host, port) as probe:
                located = await probe.locate()
        except CausewayError as error:
            skipped[f"{host}:{port}"] = str(error)
            continue
        measured = await asyncio.gather(*(_measured(one) for one in located.candidates))
        return Finding(asked=f"{host}:{port}", candidates=locating.rank(measured), skipped=skipped)
    raise nobody_answered(skipped.values())


async def _measured(one: Candidate) -> Candidate:
    """The same broker with its round trip from here; dead, if it does not answer us."""
    if not one.alive:
        return one
    try:
        async with Probe(one.peer.host, one.peer.port) as probe:
            trip = await probe.round_trip()
    except Refused:
        return one  # it lives, and has no room
    except CausewayError:
        return msgspec.structs.replace(one, alive=False)
    return msgspec.structs.replace(one, round_trip=trip, measured=True)


def explain(ranked: list[Candidate]) -> str:
    """Why the first of these was chosen, as one sentence."""
    if not ranked or ranked[0].score <= 0:
        states = ", ".join(f"{one.peer.name} {_state(one)}" for one in ranked) or "none is known"
        return f"no broker takes a client now: {states}"
    best, others = ranked[0], [one for one in ranked[1:] if one.score > 0]
    away = f"{best.round_trip / MILLISECOND:.1f} ms away" + ("" if best.measured else " by its address")
    facts = f"{away}, {best.connections} of {best.limit} connections, capability {best.capability}"
    if not others:
        return f"{best.peer.name}: {facts}; no other broker takes clients now"
    return f"{best.peer.name}: {facts}; before {others[0].peer.name} {_advantage(best, others[0])}"


def _advantage(best: Candidate, second: Candidate) -> str:
    """The term in which the first is furthest ahead of the second."""
    terms = {
        "because it has more room": (best.room, second.room),
        "because it has less to do": (best.ease, second.ease),
        "because it is nearer": (best.nearness, second.nearness),
    }
    reason, (ours, theirs) = max(terms.items(), key=lambda item: item[1][0] / max(1, item[1][1]))
    if ours > theirs:
        return f"{reason} ({ours} against {theirs} of {locating.WHOLE})"
    if best.connections < second.connections:
        return "because it has fewer connections, all else being equal"
    return "because it started later, all else being equal" if best.started > second.started else "by its name only"


def _state(one: Candidate) -> str:
    if not one.alive:
        return "dead"
    if not one.ready:
        return "joining"
    return "alive" if one.connections < one.limit else "full"


def _described(one: Candidate) -> dict[str, Any]:
    return {
        "broker": one.peer.name,
        "address": f"{one.peer.host}:{one.peer.port}",
        "alive": one.alive,
        "ready": one.ready,
        "round_trip_us": one.round_trip // MICROSECOND,
        "measured": one.measured,
        "distance_us": one.distance // MICROSECOND if one.distance >= 0 else None,
        "nearby": locating.Nearby(one.nearby).name.lower() if one.nearby in list(locating.Nearby) else "elsewhere",
        "connections": one.connections,
        "limit": one.limit,
        "capability": one.capability,
        "room": one.room,
        "ease": one.ease,
        "nearness": one.nearness,
        "score": one.score,
    }


def _table(answer: Finding) -> Table:
    title = f"where to go, as {answer.asked} sees it"
    # Narrow enough for 80 columns.
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0, pad_edge=False)
    table.caption, table.caption_justify = "score = room x ease x nearness, each 1000 at best", "left"
    for column in ("broker", "address"):
        table.add_column(column, no_wrap=True)
    for column in ("trip", "clients", "capab.", "alive", "room", "ease", "near", "score"):
        table.add_column(column, justify="right", no_wrap=True)
    alive = {"alive": "[green]yes[/]", "joining": "[yellow]joins[/]", "full": "[yellow]full[/]", "dead": "[red]no[/]"}
    for one in answer.candidates:
        trip = f"{'' if one.measured else '~'}{one.round_trip / MILLISECOND:.1f} ms"
        facts = (trip, f"{one.connections}/{one.limit}", str(one.capability), alive[_state(one)])
        terms = (str(term) for term in (one.room, one.ease, one.nearness, one.score // locating.WHOLE))
        table.add_row(one.peer.name, f"{one.peer.host}:{one.peer.port}", *facts, *terms)
    return table
