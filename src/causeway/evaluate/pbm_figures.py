"""Figures of PBM's evaluation: the paper's six, and two of what lies beyond them.

Owns: which rows make which curve. Must not know: how a curve is drawn.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from causeway.evaluate.closed_forms import CAUSEWAY, EXPRESS, MSMQ, PBM, RECOVERABLE, TRANSACTIONAL
from causeway.evaluate.pbm_costs import BASE_MS, NODES
from causeway.evaluate.pbm_tables import PAPER_CROSSING_MS, PAPER_SIZE_MAX, VARIANTS, MailCurve, Rows, curve, select
from causeway.figures import Curve, Figure

BROKERS: Final = "brokers N"
DISTANCE: Final = "greatest distance between two sites (ms, one way)"


BARS: Final = "95 % range of one more seed"


class DrawnAs(NamedTuple):
    """A curve and how it is drawn."""

    label: str
    line: MailCurve
    style: int
    hollow: bool = False


ONLINE: Final = DrawnAs("PBM, receiver there", MailCurve(PBM), 0)
STORED: Final = DrawnAs("MSMQ recoverable, transactional", MailCurve(MSMQ), 1)
UNSTORED: Final = DrawnAs("MSMQ express", MailCurve(MSMQ, EXPRESS), 1, hollow=True)
AWAY: Final = DrawnAs("PBM, receiver away", MailCurve(PBM, online=False), 0, hollow=True)
EXPRESS_AWAY: Final = DrawnAs("PBM express, receiver away", MailCurve(PBM, EXPRESS, online=False), 3, hollow=True)
OURS: Final = DrawnAs("our brokers, exchange", MailCurve(CAUSEWAY), 2)
LEARNED: Final = DrawnAs("our brokers, learned routes, exchange", MailCurve(CAUSEWAY, learned=True), 2, hollow=True)


def figures(means: Rows, crossed: Rows) -> tuple[Figure, ...]:
    """All figures of the report."""
    return (
        _against_brokers(means, "fig_6a_delay", "Fig. 6(a): delivery delay, 15 ms at most", "one_way_ms"),
        _against_brokers(means, "fig_6b_round_trip", "Fig. 6(b): round trip, 15 ms at most", "round_trip_ms"),
        _traffic(means, "fig_7a_reliable", "Fig. 7(a): messages for one reliable message", reliable=True),
        _traffic(means, "fig_7b_unreliable", "Fig. 7(b): messages for one unreliable message", reliable=False),
        _against_distance(means, "fig_8a_delay", "Fig. 8(a): delivery delay", "one_way_ms"),
        _against_distance(means, "fig_8b_round_trip", "Fig. 8(b): round trip", "round_trip_ms"),
        _larger(means),
        _crossings(crossed),
    )


def _away(metric: str) -> tuple[DrawnAs, ...]:
    """One way every type takes as long to the broker of a receiver that is away; round trips do not."""
    if metric == "one_way_ms":
        return (AWAY._replace(label="PBM, receiver away (to its broker)"),)
    return AWAY, EXPRESS_AWAY


UNITS: Final = {
    "one_way_ms": "one way (ms)",
    "round_trip_ms": "round trip (ms)",
    "frames": "messages between sites",
}


def _drawn(shown: DrawnAs, rows: Rows, x: str, y: str) -> Curve:
    """A curve with the range of another seed."""
    rows = [row for row in rows if row[y] is not None]
    widths = [row[f"{y}_range"] or 0.0 for row in rows]
    ranges = tuple((row[y] - width, row[y] + width) for row, width in zip(rows, widths, strict=True))
    xs, ys = tuple(row[x] for row in rows), tuple(row[y] for row in rows)
    return Curve(shown.label, xs, ys, ranges, style=shown.style, hollow=shown.hollow)


def _in_paper(means: Rows, shown: DrawnAs, metric: str) -> Curve:
    rows = [row for row in curve(means, shown.line, most_ms=BASE_MS) if row["brokers"] <= PAPER_SIZE_MAX]
    return _drawn(shown, rows, "brokers", metric)


def _against_brokers(means: Rows, name: str, title: str, metric: str) -> Figure:
    curves = [_in_paper(means, shown, metric) for shown in (ONLINE, *_away(metric), STORED, UNSTORED)]
    for learned, label in ((False, "our brokers, measured"), (True, "our brokers, learned routes, measured")):
        rows = select(means, code=NODES, service=TRANSACTIONAL, online=True, learned=learned)
        curves.append(_drawn(DrawnAs(label, OURS.line, 2, learned), rows, "brokers", metric))
    return Figure(name, title, BROKERS, UNITS[metric], tuple(curves), y_scale="linear", bars=BARS)


def _traffic(means: Rows, name: str, title: str, *, reliable: bool) -> Figure:
    away: dict[str, Any] = {"online": False, "reliable": reliable}
    shown = [
        DrawnAs("PBM, receiver there", MailCurve(PBM, RECOVERABLE, reliable=reliable), 0),
        DrawnAs("PBM stored, receiver away", MailCurve(PBM, RECOVERABLE, **away), 0, hollow=True),
        DrawnAs("MSMQ", MailCurve(MSMQ, RECOVERABLE, reliable=reliable), 1),
        DrawnAs("our brokers, receiver there, exchange", MailCurve(CAUSEWAY, RECOVERABLE, reliable=reliable), 2),
        DrawnAs("our brokers, receiver away, exchange", MailCurve(CAUSEWAY, RECOVERABLE, **away), 2, hollow=True),
    ]
    if reliable:
        shown.append(EXPRESS_AWAY)
    else:  # an express message takes as many to the broker of a receiver that is away
        shown[0] = shown[0]._replace(label="PBM, receiver there (express: or away)")
    curves = tuple(_in_paper(means, one, "frames") for one in shown)
    return Figure(name, title, BROKERS, UNITS["frames"], curves, y_scale="linear", bars=BARS)


def _against_distance(means: Rows, name: str, title: str, metric: str) -> Figure:
    brokers = max(row["brokers"] for row in means if row["most_ms"] != BASE_MS and row["brokers"] <= PAPER_SIZE_MAX)
    shown = [ONLINE, *_away(metric), STORED, UNSTORED, LEARNED]
    if metric == "one_way_ms":  # they do the same
        shown[0] = ONLINE._replace(label="PBM; our brokers, exchange (receiver there)")
        shown.append(DrawnAs("PBM, perfect tables", MailCurve(PBM, perfect=True), 3))
    else:
        shown.append(OURS)
    curves = tuple(_drawn(one, curve(means, one.line, brokers=brokers), "most_ms", metric) for one in shown)
    title = f"{title}, {brokers:,} brokers"
    return Figure(name, title, DISTANCE, UNITS[metric], curves, scale="linear", bars=BARS)


def _larger(means: Rows) -> Figure:
    shown = (DrawnAs("PBM", MailCurve(PBM), 0), STORED, LEARNED, UNSTORED)
    curves = tuple(_drawn(one, curve(means, one.line, most_ms=BASE_MS), "brokers", "one_way_ms") for one in shown)
    title = "Beyond the paper: larger networks, 15 ms at most"
    return Figure("larger_networks", title, BROKERS, UNITS["one_way_ms"], curves, y_scale="linear", bars=BARS)


def _crossings(crossed: Rows) -> Figure:
    """One way, which the paper's claim is about."""
    curves, sizes = [], sorted({row["brokers"] for row in crossed})
    for name, (label, style, hollow) in CROSSED.items():
        wanted = (name, TRANSACTIONAL, "one_way_ms")
        rows = [row for row in crossed if (row["variant"], row["service"], row["metric"]) == wanted]
        if any(row["crossing_ms"] is not None for row in rows):
            drawn = DrawnAs(label, VARIANTS[name], style, hollow)
            curves.append(_drawn(drawn, rows, "brokers", "crossing_ms"))
    said = f"the paper: about {PAPER_CROSSING_MS} ms"
    curves.append(Curve("paper", (sizes[0], sizes[-1]), (PAPER_CROSSING_MS, PAPER_CROSSING_MS), formula=said))
    title = "Up to which distance stored messages are sooner than MSMQ's, one way"
    label = "greatest distance (ms, one way)"
    return Figure("crossings", title, BROKERS, label, tuple(curves), y_scale="linear", bars=BARS)


CROSSED: Final = {
    "PBM": ("PBM; our brokers, exchange", 0, False),
    "PBM, perfect tables": ("PBM, perfect tables", 3, False),
    "our brokers, learned routes": (LEARNED.label, 2, True),
    "PBM, directions apart": ("the first, directions apart", 0, True),
}
"""One way our brokers do as PBM does, unless they have learned a route."""
