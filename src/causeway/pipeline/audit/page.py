"""The certificate as a page and pictures, for people who decide: what held, for whom, and what nobody can say.

Owns: how the page looks. Must not know: how anything was found out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from causeway.figures import Bar, Bars
from causeway.pipeline.audit.certificate import AS_FAR_AS_KNOWN, BROKEN, CLEAN, FEWER_COPIES, IN_DOUBT, PROMISES
from causeway.pipeline.audit.doubts import Doubt, LifeSums
from causeway.pipeline.audit.words import FEWER, HELD, SHARED, UNKNOWN, UNRECORDED, VIOLATED, VIOLATIONS, WAITING
from causeway.pipeline.page import STYLE
from causeway.types import SECOND

PAGE: Final = "certificate.html"
WRITERS_MAX: Final = 40
"""Lines of the picture of writers; the doubtful ones first."""

OUTCOMES: Final = (HELD, WAITING, SHARED, FEWER, UNRECORDED, UNKNOWN, VIOLATED)
_COLOURS: Final = {
    CLEAN: "#1a7f37",
    FEWER_COPIES: "#7d6a00",
    AS_FAR_AS_KNOWN: "#7d6a00",
    IN_DOUBT: "#b35900",
    BROKEN: "#b3261e",
}
_RECORDS: Final = ("complete", "", "", "", "", "in doubt")
_DOUBTED: Final = 5
_STYLE: Final = """
.verdict { border-left: .5rem solid var(--tone); padding: .6rem 1rem; background: #f6f8fa; }
.verdict h1 { color: var(--tone); }
"""


def figures_of(
    lines: Iterable[Mapping[str, Any]], lives: Sequence[LifeSums], doubts: Sequence[Doubt]
) -> tuple[Bars, ...]:
    """How each promise came out, and from whom there are records of which time; none if there is nothing to show."""
    totals: dict[str, dict[str, int]] = {}
    for line in lines:
        mine = totals.setdefault(line["guarantee"], {})
        mine[line["outcome"]] = mine.get(line["outcome"], 0) + int(line["messages"])
    promises = tuple(_promise(name, totals[name]) for name in VIOLATIONS if name in totals)
    found = []
    if promises:
        found.append(
            Bars("audit", "What was promised, and what came of it", "per cent of messages", promises, OUTCOMES)
        )
    writers = _writers(lives, doubts)
    if writers:
        label = "seconds since the first record, by each writer's own clock"
        found.append(Bars("audit_writers", "Whose records there are", label, writers, _RECORDS))
    return tuple(found)


def _promise(name: str, outcomes: Mapping[str, int]) -> Bar:
    whole = sum(outcomes.values())
    at, parts = 0.0, []
    for style, outcome in enumerate(OUTCOMES):
        share = 100 * outcomes.get(outcome, 0) / whole if whole else 0.0
        if share:
            parts.append((at, share, style))
        at += share
    return Bar(name, tuple(parts), f"{whole:,}")


def _writers(lives: Sequence[LifeSums], doubts: Sequence[Doubt]) -> tuple[Bar, ...]:
    doubted = {(one.writer, one.life) for one in doubts}
    silent = sorted({one.writer for one in doubts} - {life.writer for life in lives})
    names: dict[str, list[LifeSums]] = {}
    for life in sorted(lives):
        names.setdefault(life.writer, []).append(life)
    begin = min((life.since for life in lives), default=0)
    order = sorted(names, key=lambda name: (not any(life[:2] in doubted for life in names[name]), name))
    bars = []
    for name in order:
        parts = (
            (
                (life.since - begin) / SECOND,
                max((life.until - life.since) / SECOND, 1e-3),
                _DOUBTED if life[:2] in doubted else 0,
            )
            for life in names[name]
        )
        bars.append(Bar(name, tuple(parts), f"{sum(life.records for life in names[name]):,} records"))
    return (*(Bar(name, (), "nothing") for name in silent), *bars)[:WRITERS_MAX]


def page_of(summary: Mapping[str, Any], figures: Sequence[Bars]) -> str:
    """The page, which lies beside its pictures."""
    scope = summary["scope"]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Audit: {escape(summary['verdict'])}</title>",
        f"<style>:root {{ --tone: {_COLOURS[summary['verdict']]}; }}{STYLE}{_STYLE}</style>",
        f"<div class=verdict><h1>{escape(summary['verdict'].capitalize())}</h1><p>{escape(summary['says'])}</p></div>",
        f"<p>From {scope['records']:,} records of {scope['brokers']:,} brokers and {scope['applications']:,} "
        f"applications about {scope['mailboxes']:,} destinations, written between {_time(scope['from'])} and "
        f"{_time(scope['to'])} UTC by their own clocks.</p>",
        "<h2>What was promised</h2>",
        _table(summary["guarantees"]),
        *(f'<p><img src="{figure.name}.svg" alt="{escape(figure.title)}"></p>' for figure in figures),
        *_findings(summary),
        "<h2>What is not proven</h2><ul>",
        *(f"<li>{escape(line)}</li>" for line in summary["not_proven"]),
        "</ul>",
        *_doubts(summary),
        f"<h2>Destinations</h2><p class=quiet>{escape(', '.join(scope['names']))}"
        f"{' …' if scope['mailboxes'] > len(scope['names']) else ''}</p>",
    ]
    return "\n".join(parts) + "\n</html>\n"


def _time(text: str) -> str:
    """A time of the certificate as people read it."""
    return escape(text[:19].replace("T", " "))


def _table(guarantees: Mapping[str, Mapping[str, int]]) -> str:
    rows = ["<table><tr><th>Promise<th class=n>Checked<th class=n>Held<th class=n>Open<th class=n>Broken</tr>"]
    for name, outcomes in guarantees.items():
        whole, held, broken = sum(outcomes.values()), outcomes.get(HELD, 0), outcomes.get(VIOLATED, 0)
        mark = " class='n bad'" if broken else " class=n"
        rows.append(
            f"<tr><td>{escape(PROMISES[name])}<td class=n>{whole:,}<td class=n>{held:,}"
            f"<td class=n>{whole - held - broken:,}<td{mark}>{broken:,}</tr>"
        )
    return "".join([*rows, "</table>"])


def _findings(summary: Mapping[str, Any]) -> list[str]:
    if not summary["examples"]:
        return []
    found = ["<h2>Findings</h2>"]
    for one in summary["examples"]:
        doubt = f" <span class=quiet>({escape(one['doubt'])})</span>" if one["doubt"] else ""
        found.append(
            f"<p><b>{escape(one['what'])}</b> ({escape(one['outcome'])}, {escape(one['service'])}): "
            f"{escape(one['reason'])}, at <code>{escape(one['mailbox'])}</code>{doubt}</p>"
            f"<pre>{escape(one['messages'])}\n{escape(chr(10).join(one['evidence']))}</pre>"
        )
    return found


def _doubts(summary: Mapping[str, Any]) -> list[str]:
    if not summary["doubts"]:
        return []
    more = summary["lives_in_doubt"] - len(summary["doubts"])
    lines = [*summary["doubts"], *([f"and {more:,} more, in the table doubts"] if more else [])]
    return ["<h2>Whose records are incomplete</h2><ul>", *(f"<li>{escape(line)}</li>" for line in lines), "</ul>"]
