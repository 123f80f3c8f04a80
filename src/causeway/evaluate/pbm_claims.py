"""What PBM claims and what was found: one conclusion per claim.

Owns: sentences and the bounds by which a claim holds. Must not know: how anything was measured or drawn.
"""

from __future__ import annotations

from typing import Any, Final

from causeway.evaluate.closed_forms import EXPRESS, MSMQ, PBM, RECOVERABLE, TRANSACTIONAL
from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.pbm_costs import BASE_MS
from causeway.evaluate.pbm_tables import AGREED, PAPER_SIZE_MAX, MailCurve, Rows, Tables, curve
from causeway.evaluate.writing import shown

PAPER_CROSSING_MS: Final = 35
"""Printed as "about 35 seconds"; milliseconds are meant."""
ABOUT: Final = 0.25
"""So far from the printed number a measured one may be to count as about the same."""
HOPS_MORE: Final = 0.1
"""A key just across a digit's border takes a hop more."""

Ends = tuple[dict[str, Any], dict[str, Any]]
"""The first and the last row of a curve."""


def growth(means: Rows, line: MailCurve, metric: str) -> Ends:
    """The smallest and the largest network of the paper."""
    rows = [row for row in curve(means, line, most_ms=BASE_MS) if row["brokers"] <= PAPER_SIZE_MAX]
    return rows[0], rows[-1]


def crossing(tables: Tables, variant: str, brokers: int, metric: str = "one_way_ms") -> float | None:
    """The distance beyond which MSMQ's transactional messages are faster."""
    wanted = (variant, brokers, TRANSACTIONAL, metric)
    keys = ("variant", "brokers", "service", "metric")
    found: float | None = next(r["crossing_ms"] for r in tables["crossings"] if tuple(r[k] for k in keys) == wanted)
    return found


def conclusions(tables: Tables) -> tuple[Conclusion, ...]:
    """One per claim."""
    means = tables["means"]
    return (
        _grows(means, "one_way_ms", "Delivery delay grows more rapidly in MSMQ than in PBM (Fig. 6a)"),
        _grows(means, "round_trip_ms", "Round trips grow more rapidly in MSMQ than in PBM (Fig. 6b)"),
        _better_at_base(means),
        _traffic(means),
        _away(means),
        _distance(means),
        _crossing_claim(tables),
        _express(means),
        _hops(means),
        _formulas(tables),
        _cost(tables),
    )


def _from_to(ends: Ends, metric: str, unit: str = " ms") -> str:
    first, last = ends
    return (
        f"{shown(first[metric])} to {shown(last[metric])}{unit} "
        f"({shown(last[metric] - first[metric])} more, {last[metric] / first[metric]:.2f} times)"
    )


def _is_slower(ours: Ends, theirs: Ends, metric: str) -> bool:
    """Whether ours grows more slowly, in amount and in proportion."""
    (a0, a1), (b0, b1) = ours, theirs
    return bool(a1[metric] - a0[metric] < b1[metric] - b0[metric] and a1[metric] / a0[metric] < b1[metric] / b0[metric])


def _grows(means: Rows, metric: str, claim: str) -> Conclusion:
    pbm, msmq = (growth(means, MailCurve(system), metric) for system in (PBM, MSMQ))
    sizes = f"{pbm[0]['brokers']} to {pbm[1]['brokers']:,} brokers"
    found = f"{sizes}, transactional messages: PBM {_from_to(pbm, metric)}, MSMQ {_from_to(msmq, metric)}"
    return Conclusion(claim, found, _is_slower(pbm, msmq, metric))


def _better_at_base(means: Rows) -> Conclusion:
    parts, held = [], True
    for metric, name in (("one_way_ms", "delay"), ("round_trip_ms", "round trip")):
        pbm, msmq = (curve(means, MailCurve(system), most_ms=BASE_MS) for system in (PBM, MSMQ))
        shares = [(a["brokers"], 1 - a[metric] / b[metric]) for a, b in zip(pbm, msmq, strict=True)]
        held = held and all(share > 0 for _, share in shares)
        parts.append(f"{name} " + ", ".join(f"{100 * share:.0f} % at {brokers:,}" for brokers, share in shares))
    found = f"shorter than MSMQ's by: {'; '.join(parts)} brokers. With few brokers that is little"
    return Conclusion(
        "At 15 ms PBM is better for all but express messages, most so with many brokers (Fig. 6)", found, held
    )


def _traffic(means: Rows) -> Conclusion:
    held, parts = True, []
    for reliable in (True, False):
        pbm, msmq = (growth(means, MailCurve(s, RECOVERABLE, reliable=reliable), "frames") for s in (PBM, MSMQ))
        held = held and _is_slower(pbm, msmq, "frames")
        kind = "reliable" if reliable else "unreliable"
        parts.append(f"{kind}: PBM {_from_to(pbm, 'frames', '')}, MSMQ {_from_to(msmq, 'frames', '')}")
    return Conclusion("Messages between sites grow more rapidly in MSMQ (Fig. 7)", "; ".join(parts), held)


def _away(means: Rows) -> Conclusion:
    away, msmq = (growth(means, MailCurve(s, RECOVERABLE, online=False), "frames") for s in (PBM, MSMQ))
    there = growth(means, MailCurve(PBM, RECOVERABLE), "frames")
    found = (
        f"with {away[1]['brokers']:,} brokers {shown(away[1]['frames'])} messages when the receiver is away, MSMQ "
        f"{shown(msmq[1]['frames'])} (with {away[0]['brokers']} brokers {shown(away[0]['frames'])} and "
        f"{shown(msmq[0]['frames'])}); when it is there, {shown(there[1]['frames'])}"
    )
    held = away[1]["frames"] < msmq[1]["frames"] and away[0]["frames"] > msmq[0]["frames"]
    claim = "With a receiver that is away PBM needs more messages, but above 1,000 brokers fewer than MSMQ (Fig. 7)"
    return Conclusion(claim, found, held)


def _far_ends(means: Rows, line: MailCurve) -> Ends:
    sizes = [row["brokers"] for row in means if row["most_ms"] != BASE_MS and row["brokers"] <= PAPER_SIZE_MAX]
    rows = curve(means, line, brokers=max(sizes))
    return rows[0], rows[-1]


def _distance(means: Rows) -> Conclusion:
    pbm, msmq = _far_ends(means, MailCurve(PBM)), _far_ends(means, MailCurve(MSMQ))
    found = (
        f"{pbm[0]['most_ms']} to {pbm[1]['most_ms']} ms, {pbm[0]['brokers']:,} brokers, one way: PBM "
        f"{_from_to(pbm, 'one_way_ms')}, MSMQ {_from_to(msmq, 'one_way_ms')}"
    )
    held = pbm[1]["one_way_ms"] > 2 * pbm[0]["one_way_ms"] and msmq[1]["one_way_ms"] < 1.05 * msmq[0]["one_way_ms"]
    return Conclusion("PBM's delay grows with the distance, MSMQ's hardly does (Fig. 8)", found, held)


def _crossing_claim(tables: Tables) -> Conclusion:
    sizes = sorted({row["brokers"] for row in tables["crossings"] if row["brokers"] <= PAPER_SIZE_MAX})
    most = sizes[-1]
    parts = []
    for name in dict.fromkeys(row["variant"] for row in tables["crossings"]):
        at = [row["brokers"] for row in tables["crossings"] if row["variant"] == name]
        if most in at:
            one_way, there_and_back = (
                crossing(tables, name, most, metric) for metric in ("one_way_ms", "round_trip_ms")
            )
            parts.append(f"{name} {one_way} (round trip {there_and_back})")
    others = ", ".join(f"{crossing(tables, 'PBM', size)} at {size:,}" for size in sizes[:-1])
    pbm = crossing(tables, "PBM", most)
    found = (
        f"in ms, with {most:,} brokers: {'; '.join(parts)}. PBM with fewer brokers, one way: {others}. The paper does "
        "not say how many brokers or which sizes of messages its figure is for"
    )
    held = pbm is not None and abs(pbm / PAPER_CROSSING_MS - 1) <= ABOUT
    claim = "For stored messages PBM is faster up to about 35 ms, printed as seconds (Fig. 8)"
    return Conclusion(claim, found, held, asserted=False)


def _express(means: Rows) -> Conclusion:
    pbm, msmq = (_far_ends(means, MailCurve(system, EXPRESS)) for system in (PBM, MSMQ))
    near, far = (a["one_way_ms"] / b["one_way_ms"] for a, b in zip(pbm, msmq, strict=True))
    found = (
        f"PBM takes {near:.1f} times as long at {pbm[0]['most_ms']} ms, {far:.1f} times at {pbm[1]['most_ms']} ms "
        f"({pbm[0]['brokers']:,} brokers, one way): MSMQ's express messages are always sooner there"
    )
    return Conclusion(
        "MSMQ's express messages are comparable with PBM's only in a limited area (Fig. 8)", found, 1 < near < 2 < far
    )


def _hops(means: Rows) -> Conclusion:
    rows = curve(means, MailCurve(PBM), most_ms=BASE_MS)
    bounds = [(row["brokers"], row["hops"], _digits(row["brokers"])) for row in rows]
    found = "on average " + ", ".join(f"{hops:.2f} at {n:,} (bound {bound})" for n, hops, bound in bounds)
    held = all(hops <= bound + HOPS_MORE for _, hops, bound in bounds)
    return Conclusion("A message takes about ⌈log16 N⌉ hops between brokers", found, held)


def _digits(brokers: int) -> int:
    digits = 0
    while 16**digits < brokers:
        digits += 1
    return digits


def _formulas(tables: Tables) -> Conclusion:
    matching = [row for row in tables["formulas"] if not row["assumes_away"]]
    worst = max(_off(row) for row in matching)
    rest = [row["round_trip_ms_off"] for row in tables["formulas"] if row["assumes_away"]]
    found = (
        f"where the assumptions match, no mean of delay, round trip or messages is farther than {100 * worst:.1f} % "
        "from its formula with the measured hops; the round trip to a receiver that is away is up to "
        f"{100 * max(rest):.0f} % longer, since it waits for the slower of two copies, sent one after the other on one "
        "line"
    )
    return Conclusion("Formulas (1) to (8) and those of sections 3.3 and 3.4", found, worst <= AGREED)


def _off(row: dict[str, Any]) -> float:
    found: list[float | None] = [row[f"{metric}_off"] for metric in ("one_way_ms", "round_trip_ms", "frames")]
    return max(abs(off) for off in found if off is not None)


def _cost(tables: Tables) -> Conclusion:
    rows = {row["deployment"]: row for row in tables["site_costs"]}
    times = rows["MSMQ with clustering"]["times_pbm"]
    found = f"{times:.1f} times, by the paper's prices: they are arithmetic, not a measurement"
    return Conclusion("MSMQ with clustering costs more than five times as much per site (Table 2)", found, times > 5)
