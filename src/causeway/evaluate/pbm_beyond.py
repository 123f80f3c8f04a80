"""The second half of the report on PBM: checks, and what lies beyond the paper.

Owns: its sentences and tables. Must not know: how anything was measured or drawn.
"""

from __future__ import annotations

from typing import Any

from causeway.evaluate.closed_forms import CAUSEWAY, MSMQ, PBM
from causeway.evaluate.pbm_costs import BASE_MS
from causeway.evaluate.pbm_tables import MailCurve, Tables, curve
from causeway.evaluate.site_costs import PAPER_PRICES, PAPER_SITES
from causeway.evaluate.writing import as_markdown, shown


# Checks ---------------------------------------------------------------------------------------------------------------
def formulas(tables: Tables) -> str:
    """Means beside the paper's formulas."""

    def share(off: float | None) -> str:
        return "" if off is None else f"{100 * off:+.1f} %"

    rows = [
        {
            "system": row["system"],
            "type": f"{row['service']}, {'reliable' if row['reliable'] else 'unreliable'}",
            "receiver": "there" if row["online"] else "away",
            "networks": row["networks"],
            "one way": share(row["one_way_ms_off"]),
            "round trip": share(row["round_trip_ms_off"]),
            "messages": share(row["frames_off"]),
        }
        for row in tables["formulas"]
    ]
    return f"""## Beside the paper's formulas

Each mean beside its formula, with the hops and the propagation per hop that were measured; the worst of all networks:

{as_markdown(rows)}

A delay one way is its formula, because nothing in it is left out. Round trips of PBM differ a little: the
acknowledgement takes other hops than the message. Messages of MSMQ wait for acknowledgements on the same line,
and its disks are drawn at random. Only the stored message for a receiver that is away breaks an assumption: the
paper takes both copies as sent at once and as far as any hop; here they share a line, and the slower of two
counts."""


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
    return f"""## Whole brokers beside what stands for them

Real brokers and sessions, and the exchange of `message_exchanges.py` between the same applications (in brackets),
ms and messages:

{as_markdown(rows)}

The greatest difference is {100 * worst["one_way_ms"]:.1f} % one way, {100 * worst["round_trip_ms"]:.1f} % there
and back, {100 * worst["frames"]:.1f} % in messages (all types; means.csv and whole_brokers.csv have the rest).
Real frames are not all of one size: 930 to 1,090 bytes. Tables go on learning while messages are sent, and links
that nobody needed are opened again: hence the rest. Every message was checked to arrive, once and in order where
that is promised.

PBM over the overlay of joined brokers and over filled tables:

{as_markdown(rings)}

Hops are the same. Distances depend on how many candidates brokers have met, which depends on their age and their
number; two per place is what a thousand brokers have after a minute, fewer brokers have met a little more."""


def _pair(row: dict[str, Any], metric: str) -> str:
    found = row[f"brokers_{metric}"]
    return "" if found is None else f"{shown(found)} ({shown(row[f'exchange_{metric}'])})"


# Beyond ---------------------------------------------------------------------------------------------------------------
def beyond(tables: Tables) -> str:
    """Larger networks, learned routes, windows."""
    means = tables["means"]
    pbm, learned = (
        curve(means, line, most_ms=BASE_MS)[-1] for line in (MailCurve(PBM), MailCurve(CAUSEWAY, learned=True))
    )
    msmq = curve(means, MailCurve(MSMQ), most_ms=BASE_MS)[-1]
    streams = [
        {
            "brokers": row["brokers"],
            "messages": row["messages"],
            "one at a time, per s": row["waiting_per_s"],
            "in a window, per s": row["window_per_s"],
            "all in batches, per s": row["batched_per_s"],
            "a line's most, per s": row["line_per_s"],
        }
        for row in tables["streams"]
    ]
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
    rows = [
        {
            "": {CAUSEWAY: "our brokers", MSMQ: "MSMQ"}[row["system"]],
            "brokers": row["brokers"],
            "seed": row["seed"],
            "failures": row["failures"],
            "down, s": row["down_s"],
            "messages": row["messages"],
            "calm, ms": row["calm_ms"],
            "mean, ms": row["mean_ms"],
            "p99, ms": row["p99_ms"],
            "longest, ms": row["longest_ms"],
            "over 1 s": f"{100 * row['late']:.1f} %",
            "lost": row["lost"],
        }
        for row in tables["churn"]
    ]
    return f"""## Brokers that fail

The paper leaves failures out. Here one site after the other fails with its machine, unannounced and with all it
had in memory, and comes back empty; transactional messages go on all the time, one way:

{as_markdown(rows)}

What our brokers take is the time until a silent one is given up (here 4 s, by brokers; 3 s, by sessions) and a copy
has taken over; it does not wait for the broker to come back. What waits in MSMQ waits until the site is back: here
after seconds, in the paper's words until it is fixed."""


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
