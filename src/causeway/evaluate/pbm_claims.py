"""What PBM claims and what was found: one conclusion per claim.

Owns: the claims and the bounds by which they hold. Must not know: how anything was measured or drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from causeway.evaluate.closed_forms import EXPRESS, MSMQ, PBM, RECOVERABLE, hops_bound
from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.pbm_costs import BASE_MS
from causeway.evaluate.pbm_tables import (
    AGREED,
    PAPER_CROSSING_MS,
    PAPER_SIZE_MAX,
    MailCurve,
    Rows,
    Tables,
    crossing_row,
    curve,
    with_range,
)
from causeway.evaluate.writing import shown

ABOUT: Final = 0.25
"""So far from the printed number a measured one may be to count as about the same."""
MUCH: Final = 0.2
"""A share from which on something counts as much better here; the paper gives no number."""
SLIGHTLY: Final = 0.1
"""A share up to which something counts as slightly more."""
BY_CHANCE: Final = 0.03
"""So many hops may a mean lie above its bound: pairs are drawn, and 256 brokers come to just two hops."""
MANY: Final = 1000
"""From so many brokers on PBM is said to need fewer messages."""

KIND: Final = {True: "reliable", False: "unreliable"}

FORMULAS: Final = {True: ("3h + 3K + 2", 4), False: ("h + 3K - 1", 2)}
"""Messages to a receiver that is away: those of PBM, and how many MSMQ needs for each of its own hops."""

Ends = tuple[dict[str, Any], dict[str, Any]]
"""The first and the last row of a curve."""


def growth(means: Rows, line: MailCurve) -> Ends:
    """The smallest and the largest network of the paper."""
    rows = in_paper(means, line)
    return rows[0], rows[-1]


def in_paper(means: Rows, line: MailCurve) -> list[dict[str, Any]]:
    """Networks of the paper's sizes, at its distance."""
    return [row for row in curve(means, line, most_ms=BASE_MS) if row["brokers"] <= PAPER_SIZE_MAX]


def crossing(tables: Tables, variant: str, brokers: int, metric: str = "one_way_ms") -> float | None:
    """The distance beyond which MSMQ's transactional messages are faster."""
    found: float | None = crossing_row(tables, variant, brokers, metric)["crossing_ms"]
    return found


def conclusions(tables: Tables) -> tuple[Conclusion, ...]:
    """One per claim."""
    means = tables["means"]
    return (
        _grows(means, "one_way_ms", "Delivery delay grows more rapidly in MSMQ than in PBM (Fig. 6a)"),
        _grows(means, "round_trip_ms", "Round trips grow more rapidly in MSMQ than in PBM (Fig. 6b)"),
        *_better_at_base(means),
        _traffic(means),
        _slightly_more(means),
        _fewer(means, reliable=True),
        _fewer(means, reliable=False),
        _distance(means),
        _crossing_claim(tables),
        _express(means),
        *_hops(means),
        _formulas(tables),
        _cost(tables),
    )


# Fig. 6 ---------------------------------------------------------------------------------------------------------------
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
    pbm, msmq = (growth(means, MailCurve(system)) for system in (PBM, MSMQ))
    sizes = f"{pbm[0]['brokers']} to {pbm[1]['brokers']:,} brokers"
    found = f"{sizes}, transactional messages: PBM {_from_to(pbm, metric)}, MSMQ {_from_to(msmq, metric)}"
    return Conclusion(claim, found, _is_slower(pbm, msmq, metric))


def is_apart(less: dict[str, Any], more: dict[str, Any], metric: str) -> bool:
    """Whether one is less than the other by more than seeds differ; a single seed says nothing."""
    widths = less[f"{metric}_range"], more[f"{metric}_range"]
    return None not in widths and bool(more[metric] - less[metric] > math.hypot(*widths))


def _better_at_base(means: Rows) -> tuple[Conclusion, Conclusion]:
    """The paper: "much better [...] especially for higher number of brokers"."""
    parts, better, most_last, unsure = [], True, True, []
    least, not_much = (math.inf, ""), set()
    for metric, way in (("one_way_ms", "one way"), ("round_trip_ms", "round trip")):
        for online, where in ((True, "there"), (False, "away")):
            rows = list(zip(*(in_paper(means, MailCurve(s, online=online)) for s in (PBM, MSMQ)), strict=True))
            shares = [1 - a[metric] / b[metric] for a, b in rows]
            better = better and min(shares) > 0
            most_last = most_last and max(shares) == shares[-1]
            for share, (a, b) in zip(shares, rows, strict=True):
                least = min(least, (share, f"{way}, receiver {where}, with {a['brokers']:,} brokers"))
                if share < MUCH or not is_apart(a, b, metric):
                    not_much.add(a["brokers"])
            parts.append(f"{way}, receiver {where}: " + ", ".join(f"{100 * share:.0f} %" for share in shares))
            close = [f"{a['brokers']:,}" for a, b in rows if not is_apart(a, b, metric)]
            unsure += [f"{way}, receiver {where}, with {' and '.join(close)} brokers"] if close else []
    sizes = ", ".join(f"{row['brokers']:,}" for row in in_paper(means, MailCurve(PBM)))
    found = (
        f"shorter by {100 * least[0]:.0f} % at least ({least[1]}); we call it much from {100 * MUCH:.0f} % on. Seeds "
        f"differ by more than both systems do: {'; '.join(unsure) or 'nowhere'}"
    )
    if not_much:
        found += (
            f". It is not much, or not for sure, with {', '.join(f'{size:,}' for size in sorted(not_much))} brokers"
        )
    return (
        Conclusion(
            "At 15 ms PBM is better for all but express messages, most so with many brokers (Fig. 6)",
            f"shorter than MSMQ's with {sizes} brokers by: {'; '.join(parts)}",
            better and most_last,
        ),
        Conclusion(
            "At 15 ms PBM is much better for all but express messages (Fig. 6)",
            found,
            not not_much,
            asserted=False,
        ),
    )


# Fig. 7 ---------------------------------------------------------------------------------------------------------------
def _traffic(means: Rows) -> Conclusion:
    held, parts = True, []
    for reliable in (True, False):
        pbm, msmq = (growth(means, MailCurve(s, RECOVERABLE, reliable=reliable)) for s in (PBM, MSMQ))
        held = held and _is_slower(pbm, msmq, "frames")
        parts.append(f"{KIND[reliable]}: PBM {_from_to(pbm, 'frames', '')}, MSMQ {_from_to(msmq, 'frames', '')}")
    return Conclusion("Messages between sites grow more rapidly in MSMQ (Fig. 7)", "; ".join(parts), held)


def _slightly_more(means: Rows) -> Conclusion:
    parts, held = [], True
    for reliable in (True, False):
        line = MailCurve(PBM, RECOVERABLE, online=False, reliable=reliable)
        rows = list(zip(in_paper(means, line), in_paper(means, line._replace(system=MSMQ)), strict=True))
        shares = [a["frames"] / b["frames"] - 1 for a, b in rows]
        held = held and max(shares) <= SLIGHTLY
        listed = ", ".join(
            f"{100 * share:+.0f} % at {a['brokers']:,}" for share, (a, _) in zip(shares, rows, strict=True)
        )
        parts.append(f"{KIND[reliable]} {listed}")
    found = "; ".join(parts)
    if not held:
        found += (
            ". With few brokers it is not slightly: copying, confirming and deleting takes as many messages with 64 "
            "brokers as with 1,024"
        )
    return Conclusion(
        "With a receiver that is away PBM needs slightly more messages than MSMQ (Fig. 7)", found, held, asserted=False
    )


def _fewer(means: Rows, *, reliable: bool) -> Conclusion:
    line = MailCurve(PBM, RECOVERABLE, online=False, reliable=reliable)
    pairs = zip(*(curve(means, one, most_ms=BASE_MS) for one in (line, line._replace(system=MSMQ))), strict=True)
    rows = [(a, b) for a, b in pairs if a["brokers"] > MANY]
    parts = []
    for a, b in rows:
        verdict = "fewer" if a["frames"] < b["frames"] else "more"
        if not is_apart(a, b, "frames") and not is_apart(b, a, "frames"):
            verdict += " by less than seeds differ"
        parts.append(
            f"{a['brokers']:,} brokers: PBM {with_range(a, 'frames')}, MSMQ {with_range(b, 'frames')} ({verdict})"
        )
    figure = "7a" if reliable else "7b"
    found, held = "; ".join(parts), all(is_apart(a, b, "frames") for a, b in rows)
    if not held:
        found += f". {_why_not_fewer(rows, reliable=reliable)}"
    return Conclusion(
        f"Above 1,000 brokers PBM needs fewer {KIND[reliable]} messages even if the receiver is away (Fig. {figure})",
        found,
        held,
        asserted=False,
    )


def _why_not_fewer(rows: Sequence[tuple[dict[str, Any], dict[str, Any]]], *, reliable: bool) -> str:
    """How long MSMQ's ways have to be, and how long they are. Rows are those of PBM and of MSMQ."""
    formula, per_hop = FORMULAS[reliable]
    parts = [
        f"{a['formula_frames'] / per_hop:.2f} with {a['brokers']:,} brokers, where it is {b['hops']:.2f}"
        for a, b in rows
    ]
    return (
        f"By the formulas PBM needs {formula} with h of PBM, MSMQ {per_hop}h with h of MSMQ: PBM needs fewer where h "
        f"of MSMQ is more than {'; '.join(parts)}"
    )


# Fig. 8 ---------------------------------------------------------------------------------------------------------------
def _far_ends(means: Rows, line: MailCurve) -> Ends:
    sizes = [row["brokers"] for row in means if row["most_ms"] != BASE_MS and row["brokers"] <= PAPER_SIZE_MAX]
    rows = curve(means, line, brokers=max(sizes))
    return rows[0], rows[-1]


def _distance(means: Rows) -> Conclusion:
    pbm, msmq, apart = (
        _far_ends(means, line) for line in (MailCurve(PBM), MailCurve(MSMQ), MailCurve(MSMQ, directed=True))
    )
    parts, held = [], True
    for metric, way in (("one_way_ms", "one way"), ("round_trip_ms", "round trip")):
        held = held and pbm[1][metric] > 2 * pbm[0][metric] and msmq[1][metric] < 1.05 * msmq[0][metric]
        parts.append(f"{way} PBM {_from_to(pbm, metric)}, MSMQ {_from_to(msmq, metric)}")
    found = (
        f"{pbm[0]['most_ms']} to {pbm[1]['most_ms']} ms, {pbm[0]['brokers']:,} brokers: {'; '.join(parts)}. That is if "
        "a pair is as far one way as the other; if both directions are drawn apart, MSMQ's round trip is not constant: "
        f"{_from_to(apart, 'round_trip_ms')}, one way {_from_to(apart, 'one_way_ms')}"
    )
    return Conclusion("PBM's delays grow with the distance, MSMQ's are almost constant (Fig. 8)", found, held)


def _crossing_claim(tables: Tables) -> Conclusion:
    sizes = sorted({row["brokers"] for row in tables["crossings"] if row["brokers"] <= PAPER_SIZE_MAX})
    most = sizes[-1]
    parts = []
    for name in dict.fromkeys(row["variant"] for row in tables["crossings"]):
        at = [row["brokers"] for row in tables["crossings"] if row["variant"] == name]
        if most in at:
            one_way, there_and_back = (
                with_range(crossing_row(tables, name, most, metric), "crossing_ms")
                for metric in ("one_way_ms", "round_trip_ms")
            )
            parts.append(f"{name} {one_way} (round trip {there_and_back})")
    at_others = (with_range(crossing_row(tables, "PBM", size), "crossing_ms") for size in sizes[:-1])
    others = ", ".join(f"{found} at {size:,}" for found, size in zip(at_others, sizes[:-1], strict=True))
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


# The rest -------------------------------------------------------------------------------------------------------------
def _hops(means: Rows) -> tuple[Conclusion, Conclusion]:
    """The paper: "at most ⌈log N⌉ + 2", of which two are those from and to applications."""
    rows = [(row, hops_bound(row["brokers"])) for row in curve(means, MailCurve(PBM), most_ms=BASE_MS)]
    mean = ", ".join(f"{row['hops'] + 2:.2f} at {row['brokers']:,} (bound {bound + 2})" for row, bound in rows)
    longest = ", ".join(
        f"{row['hops_max'] + 2} at {row['brokers']:,} (bound {bound + 2}, {100 * row['long_ways']:.1f} % above it)"
        for row, bound in rows
    )
    reason = (
        "A key may lie just across the border of a digit from the broker responsible for it: then no entry has more "
        "digits in common, and one hop more is taken. Pastry promises the bound for usual ways, not for every one"
    )
    return (
        Conclusion(
            "A message takes ⌈log16 N⌉ + 2 hops at most: on average (section 2.3)",
            f"{mean}, with both hops of applications",
            all(row["hops"] <= bound + BY_CHANCE for row, bound in rows),
        ),
        Conclusion(
            "A message takes ⌈log16 N⌉ + 2 hops at most: the longest way (section 2.3)",
            f"{longest}. {reason}",
            all(row["hops_max"] <= bound for row, bound in rows),
            asserted=False,
        ),
    )


def _formulas(tables: Tables) -> Conclusion:
    paper = [row for row in tables["formulas"] if row["system"] in (PBM, MSMQ)]
    worst = max(_off(row) for row in paper if not row["assumes_away"])
    rest = [row["round_trip_ms_off"] for row in paper if row["assumes_away"]]
    found = (
        f"where the assumptions match, no mean of delay, round trip or messages is farther than {100 * worst:.1f} % "
        "from its formula with the measured hops; the round trip to a receiver that is away is up to "
        f"{100 * max(rest):.0f} % longer, since it waits for the slower of two copies, sent one after the other on one "
        "line"
    )
    claim = "Goal: simulated means are those of formulas (1) to (8) and of sections 3.3 and 3.4"
    return Conclusion(claim, found, worst <= AGREED, ours=True)


def _off(row: dict[str, Any]) -> float:
    found: list[float | None] = [row[f"{metric}_off"] for metric in ("one_way_ms", "round_trip_ms", "frames")]
    return max(abs(off) for off in found if off is not None)


def _cost(tables: Tables) -> Conclusion:
    rows = {row["deployment"]: row for row in tables["site_costs"]}
    times = rows["MSMQ with clustering"]["times_pbm"]
    found = f"{times:.1f} times, by the paper's prices: they are arithmetic, not a measurement"
    return Conclusion("MSMQ with clustering costs more than five times as much per site (Table 2)", found, times > 5)
