"""The body of the report on PBM. Owns: its sentences and tables. Must not know: how anything was measured or drawn."""

from __future__ import annotations

from typing import Any, Final

from causeway.evaluate.closed_forms import (
    ACK_BYTES,
    CAUSEWAY,
    EXPRESS,
    MESSAGE_BYTES,
    MSMQ,
    PBM,
    TRANSACTIONAL,
)
from causeway.evaluate.pbm_beyond import beyond, churn, formulas, limits, table_2, whole_brokers
from causeway.evaluate.pbm_costs import BASE_MS, FILLED, JOINED, MAIL_PAIRS
from causeway.evaluate.pbm_tables import (
    PAPER_SIZE_MAX,
    SIZES,
    MailCurve,
    Rows,
    Tables,
    best_code,
    crossing_row,
    curve,
    with_range,
)
from causeway.evaluate.writing import as_markdown, shown

CODES: Final = {
    JOINED: "whole brokers, joined",
    FILLED: "tables filled",
}


def text(tables: Tables) -> str:
    """The body of the report."""
    means = tables["means"]
    parts = (
        _method(tables),
        _kinds(),
        _fig_6(means),
        _fig_7(means),
        _fig_8(tables),
        formulas(tables),
        whole_brokers(tables),
        beyond(tables),
        churn(tables),
        table_2(tables),
        limits(),
    )
    return "\n\n".join(parts)


# How ------------------------------------------------------------------------------------------------------------------
def _method(tables: Tables) -> str:
    means = tables["means"]
    ran = [
        {
            "brokers": brokers,
            "PBM over": CODES[best_code(means, brokers)],
            "seeds": max(row["seeds"] for row in curve(means, MailCurve(PBM), brokers=brokers)),
            "our brokers themselves": "yes"
            if any(row["brokers"] == brokers for row in tables["whole_brokers"])
            else "no",
        }
        for brokers in dict.fromkeys(row["brokers"] for row in curve(means, MailCurve(PBM)))
    ]
    return f"""## What runs, and at which size

Three things, over the same distances between the same sites, event by event in virtual time:

- *PBM as the paper has it.* Who sends what to whom is the paper's sections 2.3 to 2.5 (`message_exchanges.py`);
  each hop is decided by the product's overlay (`core/overlay`, b = 4, 16 leaves, 16 neighbours, tables that
  prefer the nearer broker). Up to some size the overlay is that of whole brokers, the real Node, that joined each
  other by messages and kept their tables for a minute. Beyond, the same tables without the Nodes around them are
  filled directly: true leaf sets, and in every place the nearer of two brokers that belong there.
- *Our brokers*: the real Node and the real client session, everything they put on their lines, between
  {MAIL_PAIRS} pairs of applications (*measured*); and the same frames by `message_exchanges.py` between many more
  pairs (*exchange*; in tables *ours*).
- *MSMQ*: links from every site to its 5 nearest, Dijkstra's algorithm over them, stored at every site,
  acknowledged to the site before, acknowledgements of arrival and of consumption back the same way; a write to
  disk takes 5 to 10 ms.

{as_markdown(ran)}

Every type of message is sent, to receivers that are there and away, at every distance. Tables show those that
differ: recoverable messages take as long as transactional ones, and unreliable ones as long as reliable ones on
their way. means.csv has all of them.

*The paper's assumptions.* 3.152 Mbps, K = 3, distances drawn evenly from 1 ms to the greatest, without triangle
inequality; every broker is responsible for as many applications; an application is at any site, and its broker at
another. A frame takes its size on the sender's line and again on the receiver's (2l/p). Nothing waits for other
messages, as in the formulas. MSMQ's links are the five least numbers of a row of the matrix, used in the row's
direction only; a site that is among nobody's five nearest cannot be reached then (fewer than one in a hundred), and
gets no messages. Transactional messages of MSMQ take as long as recoverable ones, as in the formulas.

*Ours, not the paper's.* A pair of sites is as far one way as the other. The paper fixes the delay "from each broker
to every other broker", row by row; taken literally both directions of a pair are drawn apart. That runs too, at
every distance (below Fig. 8: *directions apart*). The sizes of a message and of an acknowledgement:
{MESSAGE_BYTES:,} and {ACK_BYTES} bytes, about what both take on our wire (below: what another size changes). The
number of brokers of Fig. 8: several. Pairs of applications are drawn, not all N² sent.

± is the range in which the mean of one more seed lies (95 %, Student's t); it is drawn as a bar. How much seeds
differ is taken from all sizes together, as a share of the mean: three seeds of one size would say little. As
sizes of one seed are not independent, it is as sure as three seeds are. Three seeds may be alike by chance: they are
never taken to differ less than the messages of a single network make a mean uncertain."""


def _kinds() -> str:
    rows = [
        {
            "the paper": "express, unreliable",
            "our brokers": "the same",
            "difference": "the reader says within 20 ms that it is done: one message more",
        },
        {
            "the paper": "express, reliable: acknowledged by the application if it is there",
            "our brokers": "acknowledged by the mailbox's owner at once",
            "difference": "sooner, and means less: delivered, or in the owner's memory",
        },
        {
            "the paper": "recoverable and transactional, receiver there: handed over, acknowledged by the application",
            "our brokers": 'the same with `durability = "memory"`, which is what runs here',
            "difference": "our default (`disk`) stores on all copies first; it is not measured here",
        },
        {
            "the paper": "the same, receiver away: on K brokers in memory, then acknowledged; confirmed when delivered",
            "our brokers": "the same",
            "difference": "copies confirm the deletion and the reader is told: K messages more",
        },
        {
            "the paper": "acknowledgements are routed along the ring",
            "our brokers": "straight to the source broker",
            "difference": "one hop instead of h",
        },
        {
            "the paper": "a transactional sender waits for each acknowledgement",
            "our brokers": "keeps a window on its way",
            "difference": "see below",
        },
    ]
    return f"""## The paper's message types and ours

{as_markdown(rows)}"""


# The paper's figures --------------------------------------------------------------------------------------------------
def _table(means: Rows, columns: dict[str, MailCurve], metric: str, brokers: int | None = None) -> str:
    """Against the number of brokers at the paper's distance; or, of so many brokers, against the distance."""
    most_ms = BASE_MS if brokers is None else None
    x, label = ("brokers", "brokers") if brokers is None else ("most_ms", "ms at most")
    by_x = {
        name: {row[x]: row for row in curve(means, line, brokers=brokers, most_ms=most_ms)}
        for name, line in columns.items()
    }
    rows = [
        {label: each} | {name: with_range(found[each], metric) if each in found else "" for name, found in by_x.items()}
        for each in sorted({each for found in by_x.values() for each in found})
    ]
    return as_markdown(rows)


COLUMNS: Final = {
    "PBM, there": MailCurve(PBM),
    "PBM, away": MailCurve(PBM, online=False),
    "PBM express, away": MailCurve(PBM, EXPRESS, online=False),
    "MSMQ stored": MailCurve(MSMQ),
    "MSMQ express": MailCurve(MSMQ, EXPRESS),
    "ours, there": MailCurve(CAUSEWAY),
    "ours, learned": MailCurve(CAUSEWAY, learned=True),
}


def _fig_6(means: Rows) -> str:
    hops = {
        "PBM, hops": MailCurve(PBM),
        "MSMQ, hops": MailCurve(MSMQ),
    }
    rows = [
        {
            "brokers": pbm["brokers"],
            "PBM hops": pbm["hops"],
            "longest way": pbm["hops_max"],
            "ms per hop": pbm["hop_ms"],
            "MSMQ hops": msmq["hops"],
            "ms per link": msmq["hop_ms"],
        }
        for pbm, msmq in zip(*(curve(means, line, most_ms=BASE_MS) for line in hops.values()), strict=True)
    ]
    return f"""## Fig. 6: delay and round trip against the number of brokers

![delay](fig_6a_delay.png)

![round trip](fig_6b_round_trip.png)

One way, in ms (to a receiver that is away: to its broker, whatever the type):

{_table(means, COLUMNS, "one_way_ms")}

There and back, in ms, of reliable messages:

{_table(means, COLUMNS, "round_trip_ms")}

{as_markdown(rows)}

With a receiver that is there, PBM does the same for every type. A hop of PBM is to the nearer one of some brokers at
first and to any broker at last; hops from and to applications are to any broker."""


def _fig_7(means: Rows) -> str:
    def columns(*, reliable: bool) -> dict[str, MailCurve]:
        service = TRANSACTIONAL if reliable else "recoverable"
        found = {
            "PBM, there": MailCurve(PBM, service, reliable=reliable),
            "PBM, away": MailCurve(PBM, service, online=False, reliable=reliable),
            "PBM express, away": MailCurve(PBM, EXPRESS, online=False, reliable=reliable),
            "MSMQ": MailCurve(MSMQ, service, reliable=reliable),
            "ours, there": MailCurve(CAUSEWAY, service, reliable=reliable),
            "ours, away": MailCurve(CAUSEWAY, service, online=False, reliable=reliable),
        }
        return found | {"ours, learned, there": MailCurve(CAUSEWAY, service, reliable=reliable, learned=True)}

    return f"""## Fig. 7: messages between sites for one message

![reliable](fig_7a_reliable.png)

![unreliable](fig_7b_unreliable.png)

Reliable:

{_table(means, columns(reliable=True), "frames")}

Unreliable:

{_table(means, columns(reliable=False), "frames")}"""


def _fig_8(tables: Tables) -> str:
    means = tables["means"]
    sizes = sorted({row["brokers"] for row in tables["crossings"]})
    most = max(brokers for brokers in sizes if brokers <= PAPER_SIZE_MAX)
    crossed = []
    for variant in dict.fromkeys(row["variant"] for row in tables["crossings"]):
        for metric, name in (("one_way_ms", "one way"), ("round_trip_ms", "round trip")):
            row: dict[str, Any] = {"": f"{variant}, {name}"}
            for brokers in sizes:
                found = [
                    r
                    for r in tables["crossings"]
                    if (r["variant"], r["metric"], r["service"], r["brokers"])
                    == (variant, metric, TRANSACTIONAL, brokers)
                ]
                row[f"{brokers:,}"] = with_range(found[0], "crossing_ms") if found else ""
            crossed.append(row)
    by_size = [
        {"brokers": row["brokers"]} | {f"{size:,} bytes": _ms(row[f"bytes_{size}"]) for size in SIZES}
        for row in tables["sizes"]
    ]
    return f"""## Fig. 8: delay and round trip against the distance

![delay](fig_8a_delay.png)

![round trip](fig_8b_round_trip.png)

One way with {most:,} brokers, in ms:

{_table(means, COLUMNS, "one_way_ms", most)}

There and back:

{_table(means, COLUMNS, "round_trip_ms", most)}

![crossings](crossings.png)

The greatest distance, in ms, up to which stored messages are sooner than MSMQ's, by the number of brokers:

{as_markdown(crossed)}

{_reached(tables)} One way, PBM, if messages had other sizes (every hop takes 2l/p more or less):

{as_markdown(by_size)}

Whether the paper's messages were large, its tables better or its brokers more, its text does not say.

{_directed(tables)}"""


def _ms(crossing: float | None) -> str:
    return "never" if crossing is None else shown(crossing)


def _reached(tables: Tables) -> str:
    """The paper's one number beside ours."""
    wanted = [row for row in tables["crossings"] if (row["service"], row["metric"]) == (TRANSACTIONAL, "one_way_ms")]
    most = max(row["brokers"] for row in wanted if row["brokers"] <= PAPER_SIZE_MAX)
    said = "; ".join(f"{row['variant']}: {with_range(row, 'crossing_ms')}" for row in wanted if row["brokers"] == most)
    return (
        f"The paper says about 35. Here, one way with {most:,} brokers: {said}. *Perfect* tables know the nearest "
        "broker for every place; the others are those of brokers that joined a minute ago. *Never*: not even at 10 ms."
    )


def _directed(tables: Tables) -> str:
    """The paper's matrix taken literally."""
    means = tables["means"]
    columns = {
        "PBM, there": MailCurve(PBM, directed=True),
        "PBM, away": MailCurve(PBM, online=False, directed=True),
        "MSMQ stored": MailCurve(MSMQ, directed=True),
        "MSMQ express": MailCurve(MSMQ, EXPRESS, directed=True),
        "ours, there": MailCurve(CAUSEWAY, directed=True),
        "ours, learned": MailCurve(CAUSEWAY, learned=True, directed=True),
    }
    rows = curve(means, columns["MSMQ stored"])
    brokers, first, last = rows[0]["brokers"], rows[0], rows[-1]
    same = curve(means, MailCurve(MSMQ), brokers=brokers)
    one_way, there_and_back = (
        with_range(crossing_row(tables, "PBM, directions apart", brokers, metric), "crossing_ms")
        for metric in ("one_way_ms", "round_trip_ms")
    )
    return f"""*Directions apart.* Both directions of a pair drawn apart, as the paper's matrix literally is. One way
with {brokers:,} brokers, in ms:

{_table(means, columns, "one_way_ms", brokers)}

There and back:

{_table(means, columns, "round_trip_ms", brokers)}

MSMQ's acknowledgements go back over the links by which the message came, and nobody chose those for the way back: from
{first["most_ms"]} to {last["most_ms"]} ms its round trip grows from {shown(first["round_trip_ms"])} to
{shown(last["round_trip_ms"])} ms; if both directions are alike, from {shown(same[0]["round_trip_ms"])} to
{shown(same[-1]["round_trip_ms"])} ms. The paper calls it almost constant: that fits our assumption, not its matrix
taken literally. PBM's stored messages are sooner than MSMQ's up to {one_way} ms one way, and up to
{there_and_back} ms there and back."""
