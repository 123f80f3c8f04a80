"""What the evaluation of QpidR says in words: one conclusion per claim and goal, and the text of the report.

Owns: sentences, the figures as the paper prints them, and the bounds by which a claim holds. Must not know: how
anything was measured or drawn.
"""

from __future__ import annotations

from typing import Any, Final

from causeway.core.overlay.upkeep import MAINTAIN_EVERY
from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.recovery_costs import QUIET, RECOVERED_WITHIN, WATCHED
from causeway.evaluate.writing import as_markdown, shown
from causeway.types import SECOND

TABLE_1: Final = {10: (23.97, 1.67), 20: (42.68, 2.97), 30: (68.92, 3.27), 40: (89.49, 6.68)}
TABLE_2: Final = {0: (496.38, 4.51), 10: (595.80, 5.16), 20: (704.23, 5.48), 30: (800.05, 6.09), 40: (907.87, 5.80)}
TABLE_3: Final = {5: (627.87, 3.99), 10: (690.02, 5.30), 15: (751.34, 6.19), 20: (810.38, 6.91)}
TABLE_4: Final = {
    1: (2.92, 0.34, 3.43, 2.39),
    2: (5.50, 0.64, 6.78, 4.35),
    3: (8.52, 0.77, 9.56, 6.99),
    4: (11.46, 0.82, 12.63, 9.93),
    5: (14.37, 0.87, 15.71, 12.37),
}
"""As printed: mean and standard deviation, in Table 4 also maximum and minimum."""

FIVE_TO_ONE_MAX: Final = 1.3
MONITORING_KB_MAX: Final = 0.25
SAFE_SECONDS_MAX: Final = 1.0
ONE_RING_MAX: Final = 50
"""So many brokers are all linked to whoever takes a seat."""
HEADER_BYTES: Final = 54
"""Ethernet 14, IPv4 20, TCP 20, for each frame: a quiet broker's frames are never together in one packet."""

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


def latency(tables: Tables, failures: int, metric: str = "ours", *, silent: bool = False) -> float:
    """One figure of Table 4."""
    (row,) = [row for row in tables["table_4"] if (row["failures"], row["silent"]) == (failures, silent)]
    found: float = row[metric]
    return found


def slope(rows: Rows, what: str, who: str) -> float:
    """How much a table grows from its first row to its last, for each one of `what`."""
    growth: float = (rows[-1][who] - rows[0][who]) / (rows[-1][what] - rows[0][what])
    return growth


# Conclusions --------------------------------------------------------------------------------------------------------
def conclusions(tables: Tables) -> tuple[Conclusion, ...]:
    """One per claim."""
    return (
        _in_parallel(tables, silent=False),
        _in_parallel(tables, silent=True),
        _monitoring(tables),
        _monitoring_everywhere(tables),
        _traffic(tables, "table_2", "queues", "Table 2"),
        _traffic(tables, "table_3", "routes", "Table 3"),
        _correctness(tables),
        _beyond_safe(tables),
        _beyond(tables),
    )


def _in_parallel(tables: Tables, *, silent: bool) -> Conclusion:
    how = "whose hosts vanish" if silent else "that are killed"
    words, ratios = [], []
    for metric, what in (("ours", "spares have everything"), ("seats_and_copies", "seats are filled and copies whole")):
        one, five = (latency(tables, failures, metric, silent=silent) for failures in (1, 5))
        ratios.append(five / one)
        words.append(f"until {what}: {one:.2f} s for one, {five:.2f} s for five ({five / one:.2f} times)")
    held = max(ratios) <= FIVE_TO_ONE_MAX
    claim = f"Goal: five brokers {how} are recovered in at most {FIVE_TO_ONE_MAX} times the time of one (Table 4)"
    return Conclusion(claim, "; ".join(words) + ". The paper: 2.92 s and 14.37 s (4.92 times)", held)


def _monitoring(tables: Tables) -> Conclusion:
    rows = tables["table_1"]
    rates = [row["landmark_per_broker"] for row in rows]
    found = (
        f"{min(rates):.3f} to {max(rates):.3f} KB/s for each broker on the landmark's line, from {rows[0]['brokers']} "
        f"to {rows[-1]['brokers']} brokers; the paper has about 2.3. With {HEADER_BYTES} bytes of headers for each "
        f"frame {max(row['landmark_with_headers'] for row in rows):.2f}"
    )
    claim = f"Goal: monitoring takes less than {MONITORING_KB_MAX} KB/s per broker (Table 1)"
    return Conclusion(claim, found, max(rates) < MONITORING_KB_MAX)


def _monitoring_everywhere(tables: Tables) -> Conclusion:
    rows = tables["table_1"]
    parts = [f"{row['brokers']} brokers {row['signs_and_agents']:.2f}" for row in rows]
    found = (
        f"signs of life and the words of agents, sent by each broker in KB/s: {', '.join(parts)}. In the paper only "
        "the landmark watches; here every broker watches its neighbours on the ring and whoever holds copies with it"
    )
    claim = "The same when everything is counted that all brokers send to watch each other"
    held = max(row["signs_and_agents"] for row in rows) < MONITORING_KB_MAX
    return Conclusion(claim, found, held, asserted=False)


def _traffic(tables: Tables, table: str, what: str, where: str) -> Conclusion:
    rows = tables[table]
    ours, paper, whole = (slope(rows, what, who) for who in ("ours", "paper", "until_whole"))
    first, last = rows[0], rows[-1]
    found = (
        f"{shown(first['ours'])} KB for {first[what]} {what} and {shown(last['ours'])} for {last[what]}, {ours:.1f} KB "
        f"for each more, over all lines of the domain (the paper, on the landmark's: {shown(first['paper'])} and "
        f"{shown(last['paper'])}, {paper:.1f} each). By the time all copies are whole again it is {whole:.1f} KB each; "
        "then everything moves once more, to the spare"
    )
    claim = f"Recovery of a broker with its {what} takes less traffic than QpidR's ({where})"
    return Conclusion(claim, found, all(row["ours"] < row["paper"] for row in rows))


def _correctness(tables: Tables) -> Conclusion:
    parts, late = [], []
    for silent, how in ((False, "killed"), (True, "vanished")):
        letters = [letter for letter in tables["timeline"] if letter["silent"] == silent]
        waits = [letter["received"] - letter["published"] for letter in letters]
        late.append(all(wait >= 0 for wait in waits) and sorted(letters, key=_arrival) == letters)
        parts.append(f"{how}: all {len(letters)} messages arrived in order, the longest wait {max(waits):.2f} s")
    return Conclusion(
        "Messages published during the outage arrive after recovery (Fig. 8)", "; ".join(parts), all(late)
    )


def _arrival(letter: dict[str, Any]) -> tuple[float, int]:
    return letter["received"], letter["number"]


def _beyond(tables: Tables) -> Conclusion:
    rows = tables["beyond"]
    parts = [
        f"{row['brokers']} brokers {_seconds(row['one_failure'])} for one failure, {_seconds(row['five_failures'])} "
        "for five"
        for row in rows
    ]
    limit = FIVE_TO_ONE_MAX * rows[0]["one_failure"]
    held = all(row["five_failures"] is not None and row["five_failures"] <= limit for row in rows)
    claim = "Spares have everything as soon in larger clusters (past the paper)"
    return Conclusion(claim, "; ".join(parts), held)


def _beyond_safe(tables: Tables) -> Conclusion:
    rows = tables["beyond"]
    parts = [
        f"{row['brokers']} brokers {_seconds(row['seats_and_copies_of_one'])} after one failure, "
        f"{_seconds(row['seats_and_copies_of_five'])} after five"
        for row in rows
    ]
    held = max(row["seats_and_copies_of_five"] for row in rows) <= SAFE_SECONDS_MAX
    claim = f"Goal: in larger clusters, too, seats are filled and copies whole within {SAFE_SECONDS_MAX:g} s"
    return Conclusion(claim, "; ".join(parts), held)


def _seconds(value: float | None) -> str:
    return f"not within {RECOVERED_WITHIN // SECOND} s" if value is None else f"{value:.2f} s"


# The report ---------------------------------------------------------------------------------------------------------
def text(tables: Tables) -> str:
    """The body of the report."""
    return "\n\n".join((_METHOD, _table_1(tables), _tables_2_and_3(tables), _table_4(tables), _figure_8(), _LIMITS))


_METHOD: Final = """## What is measured

Brokers of the product (`core/node.py`) in the simulator: virtual time, each host on a line of 10 Mbps in each
direction to a router in the middle (frames take their size on both lines and wait for each other), 0.25 to 1.5 ms
between two hosts, disks with a commit of 1 to 2 ms, every seed the same again. Bytes are frames between brokers as they
are on the wire, without what TCP and the layers below add; KB are 1000 bytes.

*The paper's measurement* is network I/O on its recovery service, the landmark, which is the only one that watches and
the only one that restores. *Ours* gives the landmark's line as well, and beside it what all brokers send, since here
they watch each other and copy from each other."""


def _or_blank(deviation: float | None) -> float | str:
    return "" if deviation is None else deviation


def _table_1(tables: Tables) -> str:
    table = [
        {
            "Number of brokers": row["brokers"],
            "paper, KB/s": row["paper"],
            "deviation": row["paper_deviation"],
            "ours, KB/s": row["ours"],
            "deviation ": _or_blank(row["ours_deviation"]),
            "paper per broker": row["paper"] / row["brokers"],
            "ours per broker": row["landmark_per_broker"],
            "with headers": row["landmark_with_headers"],
            "signs of life and agents, all brokers": row["signs_and_agents"],
            "everything, all brokers": row["everything"],
        }
        for row in tables["table_1"]
    ]
    return f"""## Table 1: data rate of periodic control messages

{as_markdown(table)}

A quiet domain, from {QUIET // SECOND} s after the last change on and for {WATCHED // SECOND} s; a quarter of its
brokers are spares. *Ours* is what goes in and out of the landmark's line, all of it: signs of life, announcements,
reports, audits of groups, the ring. The last two columns are sent by each broker on average: every broker watches
about 20 others (16 neighbours on the ring, whoever holds copies with it, the landmark), and a link on which nothing was
heard for half the silence is asked for a sign of life. Once in {MAINTAIN_EVERY // SECOND} s a broker
sees after some entries of its routing table."""


def _tables_2_and_3(tables: Tables) -> str:
    parts = []
    for number, table, what in ((2, "table_2", "queues"), (3, "table_3", "routes")):
        rows = [
            {
                f"Number of {what}": row[what],
                "paper, KB": row["paper"],
                "deviation": row["paper_deviation"],
                "ours, KB": row["ours"],
                "deviation ": _or_blank(row["ours_deviation"]),
                "of that until all copies are whole": row["until_whole"],
                "of that on the landmark's line": row["landmark"],
            }
            for row in tables[table]
        ]
        parts.append(f"## Table {number}: traffic size of recovering {what}\n\n{as_markdown(rows)}")
    return f"""{parts[0]}

{parts[1]}

A domain of five brokers with seats and a spare; one with a seat is killed. A *queue* is a mailbox with one message of
100 bytes of which the failed broker held a copy; a *route* is a durable subscription whose mailbox and whose topic's
item it held. Everything is counted that brokers send each other from the kill until the spare has whole copies of all
that the failed broker had: elections, copies, the directory, repairs of the ring, signs of life. Also without any
queue a broker holds groups: the directory of births, the agents, its own seat and those of its neighbours. The work
is done twice: first the neighbours make the third copy again, within a fraction of a second, so that the next failure
harms nobody; a second later it moves to the spare that took the seat."""


def _table_4(tables: Tables) -> str:
    table = [
        {
            "Number of failures": row["failures"],
            "how": "hosts vanish" if row["silent"] else "killed",
            "paper, s": row["paper"],
            "deviation": row["paper_deviation"],
            "max": row["paper_max"],
            "min": row["paper_min"],
            "ours, s": row["ours"],
            "deviation ": _or_blank(row["ours_deviation"]),
            "max ": row["ours_max"],
            "min ": row["ours_min"],
            "seats filled and copies whole": row["seats_and_copies"],
            "copies whole": row["copies"],
        }
        for row in tables["table_4"]
    ]
    words = {"one_failure": _seconds, "five_failures": _seconds}
    beyond = [
        {name.replace("_", " "): words[name](value) if name in words else value for name, value in row.items()}
        for row in tables["beyond"]
    ]
    return f"""## Table 4: recovery latency of 24 brokers

![latency](recovery_latency.png)

{as_markdown(table)}

The paper does not say when its latency begins and ends; it measures a landmark that recreates one broker's queues and
routes on a backup after the other. Ours begins with the failure and ends when each spare has whole copies of all that
the broker had whose seat it took. Long before, every seat is filled and every group has three whole copies again, and
before that, messages flow: copies take over at once. 18 brokers have seats and 36 queues of 20 messages of 500 bytes;
those that fail are never two of the three that hold one group, since a group that lost its majority waits for one of
them. *Killed*: the connections break, as when a process ends. *Hosts vanish*: nobody is told, and silence is noticed
after 1.5 s. What is left of the time is mostly a pause on purpose: groups move when the ring has wanted it for a
second.

Past the paper, killed, seconds and KB/s:

{as_markdown(beyond)}

Larger clusters have domains of at most {ONE_RING_MAX} brokers on one ring. Seats are filled and copies whole as soon as
in small ones. A spare may stand anywhere on the ring, linked to nobody around the seat that it took: it looks for them
(`core/overlay/vicinity.py`), and they move to it what lies there."""


def _figure_8() -> str:
    return """## Figure 8: time sequence of correctness

![killed](timeline_killed.png)

![vanished](timeline_silent.png)

A message every 100 ms to a topic whose item and whose subscriber's mailbox are held by the broker that fails at 0 s;
the subscriber is connected to that broker too. What was published meanwhile is received when the subscriber is back,
in order, once. When a host vanishes, a client waits for 3 s without a sign of life before it turns to another broker;
that is longer than brokers need among themselves."""


_LIMITS: Final = """## What this does not say

Virtual time has no busy processors: a broker takes 20 µs for a turn and 2 µs for an event. Traffic of clients is left
out, as in the paper. The paper's subnet for Tables 2 and 3 has one broker that fails and one backup, and a queue there
exists once; ours exists on three brokers before and after."""
