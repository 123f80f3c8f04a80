"""What the evaluation of large rings says in words: one conclusion per claim, and the text of the report.

Owns: sentences, and the tolerances within which the model has to agree. Must not know: how anything was counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from causeway.core.overlay.tables import COLUMNS
from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.ring_counts import TABLES
from causeway.evaluate.writing import as_markdown, shown

TOLERANCES: Final = {
    "hops": 0.03,
    "table entries": 0.02,
    "links open": 0.05,
    "ring, frames/s": 0.10,
    "signs of life, frames/s": 0.10,
    "all, bytes/s": 0.10,
}
"""Of the difference between model and brokers, as a part of what was counted."""
GROWTH_MAX: Final = 1.05
"""Of upkeep from a thousand brokers to a million."""
HOPS_MORE_MAX: Final = 0.1
"""Than log16 N, on average."""

Rows = Sequence[dict[str, Any]]
Tables = dict[str, list[dict[str, Any]]]


# Conclusions --------------------------------------------------------------------------------------------------------
def conclusions(tables: Tables) -> tuple[Conclusion, ...]:
    """One per claim."""
    rings = tables["rings"]
    return (
        _agrees(tables["agreement"]),
        _arrives(tables["simulated"]),
        _hops(rings),
        _entries(rings),
        _upkeep(rings),
    )


def _agrees(rows: Rows) -> Conclusion:
    parts = []
    for what, tolerance in TOLERANCES.items():
        worst = max(abs(row["difference"]) for row in rows if row["what"] == what)
        parts.append(f"{what} within {worst:.1%} (tolerance {tolerance:.0%})")
    whole, tables = (
        sorted({row["brokers"] for row in rows if (row["how"] == TABLES) == only}) for only in (False, True)
    )
    found = f"{', '.join(parts)}; rings of {_listed(whole)} brokers"
    if tables:
        found += f", and of {_listed(tables)} brokers the tables alone: hops and entries, no event"
    held = all(abs(row["difference"]) <= row["tolerance"] for row in rows)
    return Conclusion("The model agrees with real brokers, event by event", found, held, ours=True)


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes)


def _arrives(rows: Rows) -> Conclusion:
    wrong = sum(row["wrong"] for row in rows)
    found = f"{wrong} lookups of {len(rows)} rings ended elsewhere"
    return Conclusion("Every lookup ends at the broker closest to its key", found, wrong == 0, ours=True)


def _hops(rings: Rows) -> Conclusion:
    parts = [f"{row['brokers']:,}: {row['hops']:.2f}" for row in rings]
    found = f"mean hops by brokers: {', '.join(parts)}; the longest way among a million is {rings[-1]['hops_max']}"
    held = all(row["hops"] <= row["log16"] + HOPS_MORE_MAX for row in rings)
    return Conclusion(f"A lookup takes at most log16 N + {HOPS_MORE_MAX:g} hops on average", found, held, ours=True)


def _entries(rings: Rows) -> Conclusion:
    parts = [f"{row['brokers']:,}: {row['table']:.1f} of {(COLUMNS - 1) * row['log16']:.1f}" for row in rings]
    held = all(row["table"] <= (COLUMNS - 1) * row["log16"] for row in rings)
    claim = f"A routing table has at most {COLUMNS - 1} log16 N entries"
    return Conclusion(claim, f"entries: {', '.join(parts)}", held, ours=True)


def _upkeep(rings: Rows) -> Conclusion:
    first, last = next(row for row in rings if row["brokers"] >= 1_000), rings[-1]
    growth = last["bytes"] / first["bytes"]
    found = (
        f"with the usual heartbeat {_frames(first):.1f} frames and {shown(first['bytes'])} bytes a second for each of "
        f"{first['brokers']:,} brokers, {_frames(last):.1f} and {shown(last['bytes'])} for each of "
        f"{last['brokers']:,}: {growth:.2f} times as much"
    )
    claim = f"Upkeep of a broker grows by less than {GROWTH_MAX - 1:.0%} from a thousand brokers to a million"
    return Conclusion(claim, found, growth <= GROWTH_MAX, ours=True)


def _frames(row: dict[str, Any]) -> float:
    frames: float = row["ring_frames"] + row["life_frames"]
    return frames


# The report ---------------------------------------------------------------------------------------------------------
def text(tables: Tables) -> str:
    """The body of the report."""
    return "\n\n".join((_method(tables), _agreement(tables["agreement"]), _large(tables), _limits(tables["rings"])))


def _method(tables: Tables) -> str:
    return """## What is measured

No machine simulates a million brokers event by event. So a model computes with arrays what brokers would do
(`evaluate/ring_model.py`): random places on the ring, the tables that follow from them, the routing decision of
`core/overlay/tables.py`, and the rounds of `upkeep.py` and `core/links/pulse.py`. A table is not stored but hashed, so
a million brokers take some 100 MB.

First it has to agree with brokers. *Joined* rings are whole brokers of the product that join each other by messages in
the simulator. *Known* ones have the product's links and overlay only and are told at once whom they would have found
(`sim/rings.py`); then links are dialled and greeted and upkeep goes on, every frame counted. *Tables* are the product's
routing tables alone, filled the same way, asked hop by hop. Every network has 4 to 15 ms between two brokers, and no
traffic but upkeep."""


def _agreement(rows: Rows) -> str:
    table = [
        {
            "ring": f"{row['how']}, {row['brokers']:,}",
            "heartbeat, s": row["heartbeat"],
            "what": row["what"],
            "simulated": row["simulated"],
            "modelled": row["modelled"],
            "difference": f"{row['difference']:+.1%}",
            "tolerance": f"{row['tolerance']:.0%}",
        }
        for row in rows
    ]
    return f"""## The model beside real brokers

{as_markdown(table)}

Frames and bytes are those that one broker sends in a second. The sizes of frames are not modelled: they are counted in
the same ring. Brokers that were told whom to know have not measured how far the others are and ask each one once, which
the model takes into account by the age of the ring."""


def _large(tables: Tables) -> str:
    rows = [
        {
            "brokers": row["brokers"],
            "hops": f"{row['hops']:.3f} ± {row['plus_minus']:.3f}",
            "longest": row["hops_max"],
            "log16 N": row["log16"],
            "routing table": row["table"],
            "known at all": row["known"],
            "links open": row["links"],
            "ring, frames/s": row["ring_frames"],
            "signs of life, frames/s": row["life_frames"],
            "bytes/s": row["bytes"],
            "bytes/s, heartbeat 10 s": row["calm_bytes"],
        }
        for row in tables["rings"]
    ]
    return f"""## A hundred thousand brokers, and a million

{as_markdown(rows)}

![hops](hops.png)

![tables](tables.png)

![upkeep](upkeep.png)

± is the range in which one more seed lies (95 %, Student's t): each has its own ring, lookups and tables. The last four
columns are of one broker, the first three of them with the usual heartbeat (250 ms, silence after 1.5 s), in a ring
that is old enough to have measured its tables. Sizes of frames are those of the largest ring that joined.

Upkeep is nearly all signs of life: of the 16 neighbours on the ring, and of the links that each round of upkeep opens
for half a minute. Neither depends on N. What grows is the row of a table that is told in each round, and the share of
strangers in it. Ways that are longer than log16 N are those to keys just across the border of a digit, where no entry
is closer: then the closest known broker is the next hop, a few places further along the ring."""


def _limits(rings: Rows) -> str:
    return f"""## What this does not say

Nobody joins, fails or sends here: a ring of a million brokers on the Internet has many of each in every second, and
repair costs on top of upkeep. A join asks its future acquaintances, {rings[0]["known"]:.0f} among
{rings[0]["brokers"]:,} brokers and {rings[-1]["known"]:.0f} among {rings[-1]["brokers"]:,}; that is not modelled.
Learned routes make all but the first lookup of a mailbox one hop, whatever N is. Proximity is that of random pairs: who
is near is chosen evenly, so the length of hops in milliseconds is not told."""
