"""What `status` shows of landmarks: who watches over each domain, who holds which seat, who stands by.

Owns: one picture of a domain out of what its agents report, and how it is shown. The directory counts in its latest
version; what only a landmark knows is the word of the latest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from rich.markup import escape
from rich.table import Table

SEATS_SHOWN_MAX: Final = 12
"""Of those whose holder is no surprise."""
RISKS_SHOWN_MAX: Final = 6
"""Of seats, the riskiest first; --json has them all."""


class HeldSeat(msgspec.Struct, kw_only=True):
    """One seat."""

    seat: str
    """The broker that it began with."""
    holder: str
    """The broker that holds it now."""


class SpareLine(msgspec.Struct, kw_only=True):
    """One broker without a seat."""

    broker: str
    fitness: int
    """In thousandths of what it needs."""
    capacity: int
    """Messages a second that it sustains; 0 when it has not said so yet."""
    reachable: bool


class BottleneckLine(msgspec.Struct, kw_only=True):
    """Something that falls behind."""

    about: str
    """A mailbox, or a broker."""
    broker: str
    """Who says so."""
    kind: str
    note: str
    """Its figures."""
    seconds: int
    """How long it has lasted."""


class WatchedDomain(msgspec.Struct, kw_only=True):
    """One domain, as its agents see it."""

    domain: str
    """Its name."""
    landmark: str = ""
    """The broker that gives away its seats; empty before there is one."""
    term: int = 0
    """Rises with every change of landmark."""
    seats: list[HeldSeat] = []
    """Each `seat` (named after the broker it began with) and its `holder`."""
    spares: list[SpareLine] = []
    """Brokers without one: `broker`, `fitness` in thousandths, `capacity` (messages/s; 0: not said), `reachable`."""
    failed: list[str] = []
    """Brokers that the landmark takes for failed."""
    flapping: list[str] = []
    """Those that failed too often lately to be given a seat."""
    lost: list[str] = []
    """Mailboxes and topics all of whose copies are on failed brokers: nobody has them before one of these is back."""
    bottlenecks: list[BottleneckLine] = []
    """What falls behind: `about` (a mailbox or broker), the `broker` that says so, its `kind` (`queue`: it grows, or is
    full; `latency`: its operations take long; `consumer`: one is slow), `note` (the figures), `seconds` it lasts."""
    blocked: str = ""
    """Why no seat can be given away: too few agents are there."""
    placement: dict[str, Any] = {}
    """The policy for its items: `version`, `items` (`item`, `owner`, `mirror`: seats), `risks` in millionths
    (`seat`, `now`, and `after_one`: the worst failure of another), `risk_before` (the largest before this policy),
    `feasible` (all are below the threshold), `spared` (brokers that could be off)."""


def domain_lines(reports: Iterable[Mapping[str, Any]]) -> list[WatchedDomain]:
    """Every domain that a broker reports, by name."""
    said: dict[str, list[Mapping[str, Any]]] = {}
    for report in reports:
        for one in report.get("agents", []):
            said.setdefault(str(one.get("domain", "")), []).append(one)
    return [_domain_line(domain, said[domain]) for domain in sorted(said)]


def _domain_line(domain: str, said: list[Mapping[str, Any]]) -> WatchedDomain:
    latest = max(said, key=lambda one: (int(one.get("term", 0)), int(one.get("version", 0))))
    current = [one for one in said if one.get("term", 0) == latest.get("term", 0)]
    # Only a landmark knows who failed; and it knows best whether it may decide.
    own = [one for one in current if "failed" in one]
    word = own[0] if own else {}
    return WatchedDomain(
        domain=domain,
        landmark=str(latest.get("landmark", "")),
        term=int(latest.get("term", 0)),
        seats=[HeldSeat(seat=str(one["seat"]), holder=str(one["holder"])) for one in latest.get("seats", [])],
        spares=[_spare_line(one) for one in latest.get("agents", []) if not one.get("seated")],
        failed=[str(name) for name in word.get("failed", [])],
        flapping=[str(name) for name in word.get("flapping", [])],
        lost=[str(name) for name in word.get("lost", [])],
        bottlenecks=[_bottleneck_line(one) for one in word.get("bottlenecks", [])],
        blocked=next((str(one["blocked"]) for one in own or current if one.get("blocked")), ""),
        placement=dict(max((one.get("placement") or {} for one in said), key=lambda one: int(one.get("version", 0)))),
    )


def _spare_line(agent: Mapping[str, Any]) -> SpareLine:
    return SpareLine(
        broker=str(agent.get("broker", "")),
        fitness=int(agent.get("fitness", 0)),
        capacity=int(agent.get("capacity", 0)),
        reachable=bool(agent.get("reachable")),
    )


def _bottleneck_line(one: Mapping[str, Any]) -> BottleneckLine:
    said = {field: str(one.get(field, "")) for field in ("about", "broker", "kind", "note")}
    return BottleneckLine(**said, seconds=int(one.get("seconds", 0)))


def domain_view(line: WatchedDomain) -> Table:
    """A few rows: what is empty is left out."""
    landmark = f"landmark {escape(line.landmark)}, term {line.term}" if line.landmark else "no landmark yet"
    title = f"domain {escape(line.domain)}: {landmark}"
    table = Table(title=title, title_justify="left", box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("seats", _seats(line.seats))
    failed = {*line.failed}
    spares = [_spare(one) for one in line.spares if one.broker not in failed]
    if spares:
        table.add_row("spares", ", ".join(spares))
    if line.placement:
        table.add_row("items", _placement(line.placement))
        table.add_row("risk", _risks(line.placement))
    for what, names in (("failed", line.failed), ("flapping", line.flapping), ("lost", line.lost)):
        if names:
            table.add_row(f"[red]{what}[/]", escape(", ".join(names)))
    for slow in line.bottlenecks:
        since = f"{slow.kind}, for {slow.seconds} s, says {slow.broker}"
        table.add_row("[yellow]bottleneck[/]", escape(f"{slow.about} ({since}): {slow.note}"))
    return table


def _seats(seats: list[HeldSeat]) -> str:
    own = [escape(one.seat) for one in seats if one.holder == one.seat]
    moved = [one for one in seats if one.holder != one.seat]
    given = [f"[yellow]{escape(one.seat)} (held by {escape(one.holder or 'no broker')})[/]" for one in moved]
    shown = own if len(own) <= SEATS_SHOWN_MAX else [f"{len(own)} held by their own brokers"]
    return ", ".join([*shown, *given]) or "no seats"


def _placement(placement: Mapping[str, Any]) -> str:
    owned: dict[str, int] = {}
    for item in placement["items"]:
        owned[item["owner"]] = owned.get(item["owner"], 0) + 1
    shares = ", ".join(f"{escape(seat)} {count}" for seat, count in sorted(owned.items()))
    off = ", ".join(map(escape, placement["spared"]))
    return f"{len(placement['items'])} placed by policy {placement['version']}: {shares}" + (
        f"; could be off at this load: {off}" if off else ""
    )


def _risks(placement: Mapping[str, Any]) -> str:
    """Of overload: now, and after the worst failure of one other broker."""
    shown = [
        f"{escape(one['seat'])} {one['now'] / 1e6:.3g} ({one['after_one'] / 1e6:.3g} after a failure)"
        for one in sorted(placement["risks"], key=lambda one: -int(one["after_one"]))[:RISKS_SHOWN_MAX]
        if one["after_one"]
    ]
    worst = ", ".join(shown) or "none above 0.000001, also after one failure"
    return worst if placement["feasible"] else f"[red]above the threshold[/]: {worst}"


def _spare(spare: SpareLine) -> str:
    capacity = f", {spare.capacity:,} messages/s" if spare.capacity else ""
    away = "" if spare.reachable else ", [yellow]not reachable[/]"
    return f"{escape(spare.broker)} (fitness {spare.fitness / 1000:.2f}{capacity}{away})"
