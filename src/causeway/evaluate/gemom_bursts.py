"""What the evaluation of GEMOM says of correlated bursts on simulated brokers: table, figure, conclusion and words.

Owns: these, and the bound by which the claim holds. Must not know: how bursts were replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec

from causeway.evaluate.burst_brokers import BurstCount
from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.writing import as_markdown, shown
from causeway.figures import Curve, Figure
from causeway.placement.comparisons import BY_RISK, MEAN_LOAD, PLACEMENTS, ROUND_ROBIN

Rows = Sequence[dict[str, Any]]


def burst_tables(counts: Sequence[BurstCount]) -> dict[str, list[dict[str, Any]]]:
    """Sums by placement, every count, and how many brokers were overloaded in each second, all seeds together."""
    rows = [msgspec.structs.asdict(count) for count in counts]
    found: dict[str, list[dict[str, Any]]] = {"bursts": [], "burst_seconds": [], "burst_counts": []}
    for placement in PLACEMENTS:
        mine = [row for row in rows if row["placement"] == placement]
        names = ("overloaded_seconds", "computed_seconds", "brokers_overloaded", "messages_over", "published")
        found["bursts"].append(
            {
                "placement": placement,
                "seeds": len(mine),
                "broker_seconds": sum(row["brokers"] * row["seconds"] for row in mine),
                "brokers": sum(row["brokers"] for row in mine),
                **{name: sum(row[name] for row in mine) for name in (*names, "handled", "received")},
            }
        )
        by_second = zip(*(row["overloaded_by_second"] for row in mine), strict=True)
        found["burst_seconds"] += [
            {"placement": placement, "second": second, "overloaded": sum(each)}
            for second, each in enumerate(by_second, 1)
        ]
    found["burst_counts"] = [{k: v for k, v in row.items() if k != "overloaded_by_second"} for row in rows]
    return found


def burst_conclusion(rows: Rows) -> Conclusion:
    """Whether placement by risk keeps brokers from being overloaded where rates are not normal."""
    by = {row["placement"]: row for row in rows}
    parts = [f"{by[name]['overloaded_seconds']:,} {name}" for name in PLACEMENTS]
    mine, others = by[BY_RISK], [by[name] for name in (ROUND_ROBIN, MEAN_LOAD)]
    arrived = all(row["published"] == row["handled"] == row["received"] for row in rows)
    found = (
        f"of {mine['broker_seconds']:,} broker-seconds overloaded ones were {', '.join(parts)}; {mine['published']:,} "
        f"messages under each placement, {'all' if arrived else 'NOT all'} handled by owners and received"
    )
    held = arrived and all(mine["overloaded_seconds"] < other["overloaded_seconds"] for other in others)
    claim = "Bursts on brokers: placed by risk, fewer are overloaded (past the paper)"
    return Conclusion(claim, found, held, ours=True)


def burst_figure(rows: Rows) -> Figure:
    """Overloaded broker-seconds so far, second by second."""
    curves = []
    for style, placement in ((0, ROUND_ROBIN), (1, MEAN_LOAD), (2, BY_RISK)):
        mine = [row for row in rows if row["placement"] == placement]
        seconds, sums = (row["second"] for row in mine), accumulate(row["overloaded"] for row in mine)
        curves.append(Curve(placement, tuple(seconds), tuple(sums), style=style, marked=False))
    return Figure(
        "bursts",
        "Correlated bursts on simulated brokers: seconds above capacity",
        "seconds of bursts replayed",
        "overloaded broker-seconds so far",
        tuple(curves),
        scale="linear",
    )


def burst_text(tables: dict[str, list[dict[str, Any]]]) -> str:
    """A section of the report."""
    rows = [
        {
            "placement": row["placement"],
            "overloaded broker-seconds": f"{row['overloaded_seconds']:,} of {row['broker_seconds']:,}",
            "by adding up rates": row["computed_seconds"],
            "brokers ever overloaded": f"{row['brokers_overloaded']} of {row['brokers']}",
            "messages above capacity": shown(row["messages_over"]),
        }
        for row in tables["bursts"]
    ]
    first = tables["burst_counts"][0]
    seeds = tables["bursts"][0]["seeds"]
    return f"""## Bursts on simulated brokers

Here rates are not normal: groups of topics burst to three times their rate together. Placements are computed from one
hour of it; another {first["seconds"]} s are published message by message to {first["brokers"]} brokers of the product
in the simulator, which hold items as their landmark was told to ({seeds} {"seed" if seeds == 1 else "seeds"}, half of
all capacity used on average). A broker-second is overloaded if the owner says that it handled more than its capacity.

{as_markdown(rows)}

![bursts](bursts.png)"""
