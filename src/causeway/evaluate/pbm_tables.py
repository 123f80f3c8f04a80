"""Tables of PBM's evaluation: means over seeds, formulas beside them, where one system overtakes the other.

Owns: arithmetic over measurements. Must not know: how they were made, what is said about them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from causeway.evaluate.closed_forms import (
    ACK_BYTES,
    BITS_PER_SECOND,
    CAUSEWAY,
    DISK_MEAN_MS,
    EXPRESS,
    MESSAGE_BYTES,
    MSMQ,
    PBM,
    TRANSACTIONAL,
)
from causeway.evaluate.fits import another, prediction, relative_spread
from causeway.evaluate.pbm_costs import BASE_MS, FILLED, JOINED, NODES, TWIN, MailCost
from causeway.evaluate.writing import shown

Rows = Sequence[dict[str, Any]]
Tables = Mapping[str, list[dict[str, Any]]]
"""Of an evaluation, by their names."""

KEYS: Final = ("system", "code", "brokers", "most_ms", "service", "reliable", "online", "learned", "seen", "directed")
METRICS: Final = (
    "hops",
    "hop_ms",
    "one_way_ms",
    "round_trip_ms",
    "frames",
    "bytes",
    "formula_one_way_ms",
    "formula_round_trip_ms",
    "formula_frames",
)
WITH_RANGE: Final = ("one_way_ms", "round_trip_ms", "frames")
PAPER_SIZE_MAX: Final = 1024
"""The paper's largest network."""
PAPER_CROSSING_MS: Final = 35
"""Printed as "about 35 seconds"; milliseconds are meant."""
AGREED: Final = 0.02
"""So much may a simulated mean and its formula differ where the formula's assumptions hold."""


def mean_rows(costs: Sequence[MailCost]) -> list[dict[str, Any]]:
    """For each network, system and kind of message: means over seeds, and around them the range of another seed.

    How much seeds differ is taken from all sizes together; how sure that is, from the number of seeds. It is never less
    than what the messages of one network alone make them differ: a few seeds may be alike by chance.
    """
    groups: dict[tuple[Any, ...], list[MailCost]] = {}
    alike: dict[tuple[Any, ...], list[list[MailCost]]] = {}
    for cost in costs:
        groups.setdefault(tuple(getattr(cost, key) for key in KEYS), []).append(cost)
    for group in groups.values():
        alike.setdefault(_vary_alike(group[0]), []).append(group)
    return [_mean_row(key, group, alike[_vary_alike(group[0])]) for key, group in groups.items()]


def _vary_alike(cost: MailCost) -> tuple[Any, ...]:
    """All sizes of a system and a kind of message; rings with tables that are joined and filled, but not perfect."""
    perfect = cost.code == FILLED and not cost.seen
    code = FILLED if cost.code == JOINED else cost.code
    kind = (cost.service, cost.reliable, cost.online, cost.learned)
    return (cost.system, code, perfect, *kind, cost.most_ms, cost.directed)


def _mean_row(key: tuple[Any, ...], group: list[MailCost], alike: list[list[MailCost]]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(KEYS, key, strict=True))
    row |= {"seeds": len(group), "messages": sum(cost.messages for cost in group)}
    row |= {"hops_max": max(cost.hops_max for cost in group)}
    row |= {"long_ways": round(statistics.fmean(cost.long_ways for cost in group), 4)}
    row |= {"least_bytes": min(cost.least_bytes for cost in group)}
    row |= {"greatest_bytes": max(cost.greatest_bytes for cost in group)}
    for metric in METRICS:
        values = _values(group, metric)
        row[metric] = mean = round(statistics.fmean(values), 4) if values else None
        if metric in WITH_RANGE:
            width = math.inf
            if mean is not None:
                spread = max(relative_spread(_values(same, metric) for same in alike), _within(alike, metric))
                width = mean * prediction(spread, max(len(same) for same in alike), len(values))
            row[f"{metric}_range"] = round(width, 4) if math.isfinite(width) else None
    return row


def _within(alike: list[list[MailCost]], metric: str) -> float:
    """The standard error of a mean over the messages of one network, as a share of the mean, over all of them."""
    shares = [
        getattr(cost, f"{metric}_error") / value for same in alike for cost in same if (value := getattr(cost, metric))
    ]
    return math.sqrt(statistics.fmean(share**2 for share in shares)) if shares else 0.0


def _values(group: list[MailCost], metric: str) -> list[float]:
    return [value for cost in group if (value := getattr(cost, metric)) is not None]


# Finding rows ---------------------------------------------------------------------------------------------------------
def select(means: Rows, **wanted: object) -> list[dict[str, Any]]:
    """Rows of means with these values, by size and distance."""
    found = [row for row in means if all(row[name] == value for name, value in wanted.items())]
    return sorted(found, key=lambda row: (row["brokers"], row["most_ms"]))


def best_code(means: Rows, brokers: int) -> str:
    """Which ring of a size is shown: that of joined brokers, unless more seeds were measured with filled tables."""
    seeds = {JOINED: 0, FILLED: 0}
    for row in select(means, system=PBM, brokers=brokers, directed=False):
        if row["code"] == JOINED or row["seen"]:
            seeds[row["code"]] = max(seeds[row["code"]], row["seeds"])
    return JOINED if seeds[JOINED] >= seeds[FILLED] else FILLED


class MailCurve(NamedTuple):
    """What one curve shows."""

    system: str
    service: str = TRANSACTIONAL
    online: bool = True
    reliable: bool = True
    learned: bool = False
    perfect: bool = False
    """Tables that know the nearest of all; otherwise those of the code that `best_code` says."""
    directed: bool = False
    """Both directions of a pair are drawn apart."""


def curve(
    means: Rows, line: MailCurve, *, brokers: int | None = None, most_ms: int | None = None, best: Rows | None = None
) -> list[dict[str, Any]]:
    """One curve's rows, of one size or at one distance. MSMQ does not ask whether a receiver is there.

    Which code is shown is said by `best`, if these are not all rows.
    """
    wanted = {"system": line.system, "service": line.service, "reliable": line.reliable, "learned": line.learned}
    wanted |= {"online": line.online or line.system == MSMQ, "directed": line.directed}
    wanted |= {name: value for name, value in (("brokers", brokers), ("most_ms", most_ms)) if value is not None}
    found = select(means, **wanted)
    if line.system == MSMQ:
        return found
    if line.perfect or line.directed:
        return [row for row in found if row["code"] == FILLED and (row["seen"] == 0) == line.perfect]
    chosen = {row["brokers"]: best_code(best or means, row["brokers"]) for row in found}
    return [row for row in found if row["code"] == chosen[row["brokers"]] and (row["code"] == JOINED or row["seen"])]


# Formulas -------------------------------------------------------------------------------------------------------------
FORMULA_KEYS: Final = ("system", "directed", "learned", "service", "reliable", "online")


def formula_rows(means: Rows) -> list[dict[str, Any]]:
    """How far simulated means are from formulas, at the worst, over all networks and distances: the paper's for PBM and
    MSMQ, ours for our brokers. Whole brokers are compared with the exchange instead."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in means:
        if row["code"] not in (NODES, TWIN):
            found.setdefault(tuple(row[key] for key in FORMULA_KEYS), []).append(row)
    return [
        {
            **dict(zip(FORMULA_KEYS, key, strict=True)),
            "networks": len(rows),
            **{f"{metric}_off": _worst(rows, metric) for metric in WITH_RANGE},
            "assumes_away": rows[0]["system"] != MSMQ
            and rows[0]["service"] != EXPRESS
            and rows[0]["reliable"]
            and not rows[0]["online"],
        }
        for key, rows in found.items()
    ]


def independent_rows(means: Rows) -> list[dict[str, Any]]:
    """Delays that follow from what was drawn alone, without any measured distance: each beside what was measured."""
    rows = []
    message, ack = (8 * size / BITS_PER_SECOND * 1000 for size in (MESSAGE_BYTES, ACK_BYTES))
    away_line, learned = MailCurve(PBM, online=False), MailCurve(CAUSEWAY, learned=True)
    theirs = (MailCurve(MSMQ), MailCurve(MSMQ, EXPRESS))
    lines = (MailCurve(PBM), away_line, away_line._replace(service=EXPRESS), learned, *theirs)
    by_place = [{(row["brokers"], row["most_ms"]): row for row in curve(means, line)} for line in lines]
    for place in by_place[0]:
        there, away, unstored, straight, kept, express = (found[place] for found in by_place)
        hop = 2 * message + (1 + place[1]) / 2
        copying = 2 * message + 2 * ack + _slower(place[1], message)
        for what, measured, expected in (
            ("last hop", there["one_way_ms"] - away["one_way_ms"], hop),
            ("learned route", straight["one_way_ms"], (straight["hops"] + 2) * hop),
            ("copies", away["round_trip_ms"] - unstored["round_trip_ms"], copying),
            ("disks", kept["one_way_ms"] - express["one_way_ms"], DISK_MEAN_MS * (kept["hops"] + 1)),
        ):
            row = {"what": what, "brokers": place[0], "most_ms": place[1], "measured_ms": round(measured, 4)}
            rows.append({**row, "expected_ms": round(expected, 4), "off": round(measured / expected - 1, 4)})
    return rows


def _slower(most_ms: float, later: float) -> float:
    """The mean of the longer one of two ways there and back, of which one begins so much later."""
    width = 2 * (most_ms - 1)
    later = min(later, width)
    return 2 + width / 2 + later + (width - later) ** 3 / (6 * width**2)


def _worst(rows: Rows, metric: str) -> float | None:
    """The greatest difference from the formula, as a share of it, with its sign."""
    shares: list[float] = [
        row[metric] / row[f"formula_{metric}"] - 1
        for row in rows
        if row[metric] is not None and row[f"formula_{metric}"]
    ]
    if not shares:
        return None
    least, most = min(shares), max(shares)
    return round(least if -least > most else most, 4)


# Whole brokers --------------------------------------------------------------------------------------------------------
def twin_rows(means: Rows) -> list[dict[str, Any]]:
    """Real brokers and sessions beside the exchange between the same applications, kind by kind."""
    rows = []
    for real in select(means, code=NODES):
        (twin,) = select(means, code=TWIN, **{key: real[key] for key in KEYS if key != "code"})
        row = {key: real[key] for key in ("brokers", "service", "reliable", "online", "learned", "seeds", "messages")}
        row |= {key: real[key] for key in ("least_bytes", "greatest_bytes")}
        for metric in ("one_way_ms", "round_trip_ms", "frames", "bytes"):
            row |= {f"brokers_{metric}": real[metric], f"exchange_{metric}": twin[metric]}
        rows.append(row)
    return rows


def ring_agreement(means: Rows) -> list[dict[str, Any]]:
    """Joined brokers beside filled tables of the same size."""
    rows = []
    for joined in select(means, system=PBM, code=JOINED, service=TRANSACTIONAL, online=True, most_ms=BASE_MS):
        same = {key: joined[key] for key in KEYS if key not in ("code", "seen")}
        (filled,) = [row for row in select(means, code=FILLED, **same) if row["seen"]]
        rows.append(
            {
                "brokers": joined["brokers"],
                "joined_seeds": joined["seeds"],
                "joined_hops": joined["hops"],
                "filled_hops": filled["hops"],
                "joined_one_way_ms": joined["one_way_ms"],
                "filled_one_way_ms": filled["one_way_ms"],
                "differs": round(filled["one_way_ms"] / joined["one_way_ms"] - 1, 4),
            }
        )
    return rows


# Where one overtakes the other ----------------------------------------------------------------------------------------
VARIANTS: Final = {
    "PBM": MailCurve(PBM),
    "PBM, perfect tables": MailCurve(PBM, perfect=True),
    "our brokers": MailCurve(CAUSEWAY),
    "our brokers, learned routes": MailCurve(CAUSEWAY, learned=True),
    "PBM, directions apart": MailCurve(PBM, directed=True),
    "our brokers, directions apart": MailCurve(CAUSEWAY, directed=True),
}


def crossings(means: Rows, by_seed: Sequence[Rows]) -> list[dict[str, Any]]:
    """The distance beyond which MSMQ is faster, for each size measured at several distances; None when it always is.

    Delays are straight lines over the distance, so that this is exact between two distances, and beyond the last. The
    range is that of another seed, as in `mean_rows`.
    """
    rows = []
    for name, variant in VARIANTS.items():
        for service in (TRANSACTIONAL, EXPRESS):
            for metric in ("one_way_ms", "round_trip_ms"):
                line = variant._replace(service=service)
                found = _crossings(means, line, metric, means)
                seeds = [_crossings(rows_of_one, line, metric, means) for rows_of_one in by_seed]
                values = {size: [one[size] for one in seeds if size in one] for size in found}
                whole = [[v for v in of_size if v is not None] for of_size in values.values() if None not in of_size]
                spread = relative_spread(whole) if whole else math.inf
                for size, at in found.items():
                    width = math.inf
                    if at is not None and None not in values[size]:
                        width = at * prediction(spread, max(map(len, whole)), len(values[size]))
                    row = {"variant": name, "brokers": size, "service": service, "metric": metric, "crossing_ms": at}
                    row |= {"crossing_ms_range": round(width, 1) if math.isfinite(width) else None}
                    rows.append({**row, "seeds": len(values[size])})
    return rows


def _crossings(rows: Rows, line: MailCurve, metric: str, best: Rows) -> dict[int, float | None]:
    """By size."""
    ours = curve(rows, line, best=best)
    found = {}
    for brokers in _several(ours):
        first = [row for row in ours if row["brokers"] == brokers]
        second = curve(rows, MailCurve(MSMQ, line.service, directed=line.directed), brokers=brokers)
        found[brokers] = _crossing(first, second, metric)
    return found


def _several(rows: Rows) -> list[int]:
    """Sizes that were measured at several distances."""
    return sorted({row["brokers"] for row in rows if row["most_ms"] != BASE_MS})


SIZES: Final = (100, MESSAGE_BYTES, 5_000, 20_000)


def crossings_by_size(means: Rows) -> list[dict[str, Any]]:
    """As `crossings` of PBM's transactional messages, if they had other sizes: every hop takes 2l/p."""
    ours = curve(means, MailCurve(PBM))
    rows = []
    for brokers in _several(ours):
        row: dict[str, Any] = {"brokers": brokers}
        for size in SIZES:
            longer = 2 * 8 * (size - MESSAGE_BYTES) / BITS_PER_SECOND * 1000
            theirs = curve(means, MailCurve(MSMQ), brokers=brokers)
            first = [{**r, "ms": r["one_way_ms"] + (r["hops"] + 2) * longer} for r in ours if r["brokers"] == brokers]
            second = [{**r, "ms": r["one_way_ms"] + r["hops"] * longer} for r in theirs]
            row[f"bytes_{size}"] = _crossing(first, second, "ms")
        rows.append(row)
    return rows


def _crossing(ours: Rows, theirs: Rows, metric: str) -> float | None:
    gaps = [(a["most_ms"], a[metric] - b[metric]) for a, b in zip(ours, theirs, strict=True)]
    if gaps[0][1] > 0:
        return None
    after = next((at for at, (_, gap) in enumerate(gaps) if gap > 0), len(gaps) - 1)
    (x0, y0), (x1, y1) = gaps[after - 1], gaps[after]
    return round(x0 - y0 * (x1 - x0) / (y1 - y0), 1) if y1 > y0 else None


# Over seeds -----------------------------------------------------------------------------------------------------------
def over_seeds(rows: Rows, metrics: Sequence[str]) -> dict[str, tuple[float, float | None]]:
    """Mean of each, and around it the range of another seed, where there are several."""
    found = {}
    for metric in metrics:
        mean, width = another([row[metric] for row in rows])
        found[metric] = (mean, width if math.isfinite(width) else None)
    return found


def with_range(row: dict[str, Any], metric: str) -> str:
    """A number as people read it, with its range where it has one."""
    value, width = row[metric], row[f"{metric}_range"]
    if value is None:
        return "never"
    return shown(value) + (f" ± {shown(width)}" if width is not None else "")


def crossing_row(tables: Tables, variant: str, brokers: int, metric: str = "one_way_ms") -> dict[str, Any]:
    """The row of transactional messages."""
    wanted = (variant, brokers, TRANSACTIONAL, metric)
    keys = ("variant", "brokers", "service", "metric")
    return next(row for row in tables["crossings"] if tuple(row[key] for key in keys) == wanted)
