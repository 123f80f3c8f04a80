"""The second half of the report on PBM: checks, and what lies beyond the paper.

Owns: its sentences and tables. Must not know: how anything was measured or drawn.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any, Final

from causeway.evaluate.broker_churn import SESSION_SILENCE, SILENCE
from causeway.evaluate.closed_forms import CAUSEWAY, MSMQ, PBM
from causeway.evaluate.pbm_costs import BASE_MS
from causeway.evaluate.pbm_tables import MailCurve, Tables, curve, over_seeds
from causeway.evaluate.site_costs import PAPER_PRICES, PAPER_SITES
from causeway.evaluate.writing import as_markdown, shown
from causeway.types import SECOND


# Checks ---------------------------------------------------------------------------------------------------------------
def formulas(tables: Tables) -> str:
    """Means beside the paper's formulas."""

    def share(off: float | None) -> str:
        return "" if off is None else f"{100 * off:+.1f} %"

    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in tables["formulas"]:
        stored = "express" if row["service"] == "express" else "stored"
        groups.setdefault((row["system"], row["directed"], stored, row["online"]), []).append(row)
    rows = [
        {
            "system": {CAUSEWAY: "ours"}.get(system, system),
            "distances": "directions apart" if directed else "both ways alike",
            "type": stored,
            "receiver": "any" if system == MSMQ else "there" if online else "away",
            "networks": max(row["networks"] for row in found),
            **{
                name: share(_farthest(row[f"{metric}_off"] for row in found))
                for name, metric in (("one way", "one_way_ms"), ("round trip", "round_trip_ms"), ("messages", "frames"))
            },
        }
        for (system, directed, stored, online), found in groups.items()
    ]
    checks = [
        {
            "what": what,
            "expected": INDEPENDENT[what],
            "networks": len(found),
            "off, mean": share(statistics.fmean(row["off"] for row in found)),
            "off, worst": share(_farthest(row["off"] for row in found)),
        }
        for what in INDEPENDENT
        if (found := [row for row in tables["independent"] if row["what"] == what])
    ]
    return f"""## Beside the paper's formulas

Each mean beside its formula, with the hops and the propagation per hop that were measured; the worst of all networks,
distances and types (formulas.csv has them apart). *Ours* is beside formulas of our own (`closed_forms.py`), since
three things differ: answers take one hop between brokers instead of h, an express message is answered by its owner,
and readers, copies and owners say that they are done:

{as_markdown(rows)}

h and t_d come from the same frames as the delay one way: that it is its formula says only that nothing was left out.
Round trips of PBM differ a little: the acknowledgement takes other hops than the message. Messages of MSMQ wait for
acknowledgements on the same line, and its disks are drawn at random; where directions are apart, t_d is that of the
message and its last acknowledgement, since those to the site before travel another way and nobody waits for them. Only
the stored message for a receiver that is away breaks an assumption, in PBM and with our brokers: the formula takes both
copies as sent at once and as far as any hop; here they share a line, and the slower of two counts. What that takes
is known, too (*copies*, below).

Some delays follow from what was drawn alone, without anything measured but hops:

{as_markdown(checks)}

The worst are those of the smallest networks: 64 brokers have 64 pairs of copies, which are drawn once per seed."""


INDEPENDENT: Final = {
    "last hop": "2l/p and the mean of 1 ms and the greatest distance: PBM there less PBM away",
    "learned route": "h + 2 times that: every hop is to any site",
    "copies": "2(l_m + l_a)/p and the mean of the slower of two: round trips of PBM away, stored less express",
    "disks": "7.5 (h + 1) ms: MSMQ stored less express",
}


def _farthest(offs: Iterable[float | None]) -> float | None:
    return max((off for off in offs if off is not None), key=abs, default=None)


def whole_brokers(tables: Tables) -> str:
    """Real brokers beside the exchange, joined brokers beside filled tables."""
    rows = [
        {
            "brokers": row["brokers"],
            "type": f"{row['service']}, {'reliable' if row['reliable'] else 'unreliable'}"
            + (", learned" if row["learned"] else ""),
            "receiver": "there" if row["online"] else "away",
            "one way": _pair(row, "one_way_ms"),
            "round trip": _pair(row, "round_trip_ms"),
            "messages": _pair(row, "frames"),
        }
        for row in tables["whole_brokers"]
        if row["service"] != "recoverable" and (row["online"] or not row["learned"])
    ]
    worst = {
        metric: max(
            abs(row[f"brokers_{metric}"] / row[f"exchange_{metric}"] - 1)
            for row in tables["whole_brokers"]
            if row[f"brokers_{metric}"] is not None and row[f"exchange_{metric}"] is not None
        )
        for metric in ("one_way_ms", "round_trip_ms", "frames")
    }
    least = min(row["least_bytes"] for row in tables["whole_brokers"])
    greatest = max(row["greatest_bytes"] for row in tables["whole_brokers"])
    rings = [
        {
            "brokers": row["brokers"],
            "seeds": row["joined_seeds"],
            "hops, joined": row["joined_hops"],
            "hops, filled": row["filled_hops"],
            "one way ms, joined": row["joined_one_way_ms"],
            "one way ms, filled": row["filled_one_way_ms"],
            "differs by": f"{100 * row['differs']:+.1f} %",
        }
        for row in tables["agreement"]
    ]
    hops_off = max(abs(row["filled_hops"] / row["joined_hops"] - 1) for row in tables["agreement"])
    return f"""## Whole brokers beside what stands for them

Real brokers and sessions, and the exchange of `message_exchanges.py` between the same applications (in brackets),
ms and messages:

{as_markdown(rows)}

The greatest difference is {100 * worst["one_way_ms"]:.1f} % one way, {100 * worst["round_trip_ms"]:.1f} % there
and back, {100 * worst["frames"]:.1f} % in messages (all types; means.csv and whole_brokers.csv have the rest).
Real frames with a message are not all of one size: {least:,} to {greatest:,} bytes. Tables go on learning while
messages are sent, and links that nobody needed are opened again: hence the rest. Every message was checked to arrive,
once and in order where that is promised.

PBM over the overlay of joined brokers and over filled tables:

{as_markdown(rings)}

Hops differ by at most {100 * hops_off:.1f} %. Distances depend on how many candidates brokers have met, which depends
on their age and their number; two per place is what a thousand brokers have after a minute, fewer brokers have met a
little more."""


def _pair(row: dict[str, Any], metric: str) -> str:
    found = row[f"brokers_{metric}"]
    return "" if found is None else f"{shown(found)} ({shown(row[f'exchange_{metric}'])})"


def _plus_minus(found: tuple[float, float | None]) -> str:
    mean, width = found
    return shown(mean) + (f" ± {shown(width)}" if width is not None else "")


def _span(values: list[float]) -> str:
    """The mean, with the least and the greatest."""
    ends = f" ({shown(min(values))} to {shown(max(values))})" if len(values) > 1 else ""
    return shown(statistics.fmean(values)) + ends


# Beyond ---------------------------------------------------------------------------------------------------------------
def beyond(tables: Tables) -> str:
    """Larger networks, learned routes, windows."""
    means = tables["means"]
    pbm, learned = (
        curve(means, line, most_ms=BASE_MS)[-1] for line in (MailCurve(PBM), MailCurve(CAUSEWAY, learned=True))
    )
    msmq = curve(means, MailCurve(MSMQ), most_ms=BASE_MS)[-1]
    streams = []
    for brokers in dict.fromkeys(row["brokers"] for row in tables["streams"]):
        rows = [row for row in tables["streams"] if row["brokers"] == brokers]
        over = over_seeds(rows, ("waiting_per_s", "window_per_s", "batched_per_s"))
        streams.append(
            {
                "brokers": brokers,
                "seeds": len(rows),
                "messages": rows[0]["messages"],
                "one at a time, per s": _plus_minus(over["waiting_per_s"]),
                "in a window, per s": _plus_minus(over["window_per_s"]),
                "all in batches, per s": _plus_minus(over["batched_per_s"]),
                "a line's most, per s": rows[0]["line_per_s"],
            }
        )
    return f"""## Beyond the paper

![larger](larger_networks.png)

*Larger networks.* With {pbm["brokers"]:,} brokers a message of PBM takes {shown(pbm["hops"])} hops and
{shown(pbm["one_way_ms"])} ms, one of MSMQ {shown(msmq["hops"])} and {shown(msmq["one_way_ms"])} ms.

*Learned routes.* The owner of a mailbox tells a broker that sends by detours where it is; from then on every
message takes one hop between brokers, however many there are: {shown(learned["one_way_ms"])} ms with
{learned["brokers"]:,} brokers, {shown(learned["frames"])} messages instead of {shown(pbm["frames"])}. That one
hop is as far as any two sites are.

*A window of transactional messages.* Per pair of applications, over whole brokers, from the first send to the last
acknowledgement, all in order and once:

{as_markdown(streams)}

Who waits for each acknowledgement sends one message per round trip, however fast lines are. In a window it is the
line that counts. Messages gathered into large batches are slower on lines as thin as these: a batch takes its
whole size on each line, hop after hop, before the next hop begins."""


def churn(tables: Tables) -> str:
    """Brokers that fail."""
    shown_rows = []
    for system, name in ((CAUSEWAY, "our brokers"), (MSMQ, "MSMQ")):
        rows = [row for row in tables["churn"] if row["system"] == system]
        shown_rows.append(
            {
                "": name,
                "brokers": rows[0]["brokers"],
                "seeds": len(rows),
                "failures": sum(row["failures"] for row in rows),
                "down, s": rows[0]["down_s"],
                "messages": sum(row["messages"] for row in rows),
                "calm, ms": _span([row["calm_ms"] for row in rows]),
                "mean, ms": _span([row["mean_ms"] for row in rows]),
                "p99, ms": _span([row["p99_ms"] for row in rows]),
                "longest, ms": _span([row["longest_ms"] for row in rows]),
                "over 1 s, %": _span([100 * row["late"] for row in rows]),
                "lost": sum(row["lost"] for row in rows),
            }
        )
    return f"""## Brokers that fail

The paper leaves failures out. Here one site after the other fails with its machine, unannounced and with all it
had in memory, and comes back empty; transactional messages go on all the time, one way (churn.csv has every seed):

{as_markdown(shown_rows)}

What our brokers take is the time until a silent one is given up (here {SILENCE // SECOND} s, by brokers;
{SESSION_SILENCE // SECOND} s, by sessions) and a copy has taken over; it does not wait for the broker to come back.
What waits in MSMQ waits until the site is back: here after {tables["churn"][0]["down_s"]} s, in the paper's words
"until the failed broker(s) resumes". In brackets: the least and the greatest of the seeds. Few messages are on their
way through a site that fails, so that they differ much."""


def table_2(tables: Tables) -> str:
    """What a site costs."""
    rows = [
        {
            "deployment": row["deployment"],
            "application servers": row["application_servers"],
            "database servers": row["database_servers"],
            "per site, USD": row["site_usd"],
            "times PBM": row["times_pbm"],
            f"{PAPER_SITES:,} sites, USD": row["enterprise_usd"],
        }
        for row in tables["site_costs"]
    ]
    return f"""## Table 2: what a site costs

{as_markdown(rows)}

With the paper's prices ({PAPER_PRICES.application_server:,.0f} USD for an application server,
{PAPER_PRICES.database_server:,.0f} USD for a database server); `causeway plan costs` computes it for others, and for
enterprises in which not every site has a broker."""


def limits() -> str:
    """What this does not say."""
    return """## What this does not say

Lines are never busy with other messages: a network under load is slower, most of all where many ways meet. The
paper shows its figures without numbers, so only what its text says is compared. Its "35 seconds" and "70 sec" are
milliseconds. Virtual time knows no processors: what brokers compute takes none here (docs/benchmarks.md is about
that)."""
