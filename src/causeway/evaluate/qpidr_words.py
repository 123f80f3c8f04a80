"""What the evaluation of QpidR says in words: one conclusion per claim and goal, and the text of the report.

Owns: sentences, our goals and the bounds by which they are met. Must not know: how anything was measured or drawn.
"""

from __future__ import annotations

from typing import Any, Final

from causeway.config import BrokerConfig
from causeway.core.links.pulse import BEATS_BEFORE_SILENCE
from causeway.core.overlay.leaves import SIDE
from causeway.core.overlay.upkeep import MAINTAIN_EVERY
from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.managed_domain import BITS_PER_SECOND
from causeway.evaluate.qpidr_paper import (
    SPARES,
    TABLE_1,
    TABLE_4,
    USUAL,
    line_of,
    paper_sentences,
    printed_ratio,
    turns_at,
)
from causeway.evaluate.recovery_costs import (
    LOAD_LETTER_BYTES,
    LOAD_LETTERS,
    LOAD_QUEUES_PER_SEAT,
    LOOK,
    PUBLISH_EVERY,
    QUEUE_LETTER_BYTES,
    QUIET,
    RECOVERED_WITHIN,
    WATCHED,
)
from causeway.evaluate.writing import Digits, as_markdown, shown
from causeway.types import MILLISECOND, SECOND

FIVE_TO_ONE_MAX: Final = 1.3
MONITORING_KB_MAX: Final = 0.25
SAFE_SECONDS_MAX: Final = 1.0
DOMAIN_BROKERS_MAX: Final = 50
"""Larger clusters have several domains, all of one size."""
HEADER_BYTES: Final = 54
"""Ethernet 14, IPv4 20, TCP 20, for each frame: a quiet broker's frames are never together in one packet."""
SILENCE: Final = BrokerConfig(name="usual").silence
"""Of a broker that is told nothing."""
NOTICED_LATER_MAX: Final = (SILENCE - (BEATS_BEFORE_SILENCE - 1) * BrokerConfig(name="usual").heartbeat) / SECOND
"""Seconds by which a silence may be noticed later than another: as long as a link is asked nothing, and a heartbeat."""

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


def latency(tables: Tables, failures: int, metric: str = "ours", *, silent: bool = False) -> float:
    """One figure of Table 4."""
    (row,) = [row for row in tables["table_4"] if (row["failures"], row["silent"]) == (failures, silent)]
    found: float = row[metric]
    return found


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
        _traffic_everywhere(tables, "table_2", "queues", "Table 2"),
        _traffic_everywhere(tables, "table_3", "routes", "Table 3"),
        *paper_sentences(tables),
        _correctness(tables),
        _beyond_safe(tables),
        _beyond(tables),
    )


def _in_parallel(tables: Tables, *, silent: bool) -> Conclusion:
    how = "whose hosts vanish" if silent else "that are killed"
    words, ratios, later = [], [], []
    for metric, what in (("ours", "spares have everything"), ("seats_and_copies", "seats are filled and copies whole")):
        one, five = (latency(tables, failures, metric, silent=silent) for failures in (1, 5))
        ratios.append(five / one)
        later.append(five - one)
        words.append(f"until {what}: {one:.2f} s for one, {five:.2f} s for five ({five / one:.2f} times)")
    if silent:
        # Each silence is noticed by itself, and the last of five later than that of one.
        held = max(later) <= NOTICED_LATER_MAX
        bound = f"at most {NOTICED_LATER_MAX:g} s later than one, by which silences differ until they are noticed"
    else:
        held = max(ratios) <= FIVE_TO_ONE_MAX
        bound = f"in at most {FIVE_TO_ONE_MAX} times the time of one"
    claim = f"Goal: five brokers {how} are recovered {bound} (Table 4)"
    paper = f". The paper: {TABLE_4[1][0]:.2f} s and {TABLE_4[5][0]:.2f} s ({printed_ratio():.2f} times)"
    return Conclusion(claim, "; ".join(words) + paper, held, ours=True)


def _monitoring(tables: Tables) -> Conclusion:
    rows = tables["table_1"]
    rates = [row["landmark_per_broker"] for row in rows]
    printed = [rate / brokers for brokers, (rate, _deviation) in TABLE_1.items()]
    found = (
        f"{min(rates):.3f} to {max(rates):.3f} KB/s for each broker on the landmark's line, from {rows[0]['brokers']} "
        f"to {rows[-1]['brokers']} brokers; the paper has {min(printed):.2f} to {max(printed):.2f}. With "
        f"{HEADER_BYTES} bytes of headers for each frame {max(row['landmark_with_headers'] for row in rows):.2f}"
    )
    claim = f"Goal: monitoring takes less than {MONITORING_KB_MAX} KB/s per broker on the landmark's line (Table 1)"
    held = max(row["landmark_with_headers"] for row in rows) < MONITORING_KB_MAX
    return Conclusion(claim, found, held, ours=True)


def _monitoring_everywhere(tables: Tables) -> Conclusion:
    rows = tables["table_1"]
    parts = [f"{row['brokers']} brokers {row['signs_and_agents']:.2f}" for row in rows]
    found = (
        f"signs of life and the words of agents, sent by each broker in KB/s without headers: {', '.join(parts)}. In "
        "the paper only the landmark watches; here every broker watches its neighbours on the ring and whoever holds "
        "copies with it"
    )
    claim = f"Goal: all that brokers send to watch each other is less than {MONITORING_KB_MAX} KB/s for each of them"
    held = max(row["signs_and_agents"] for row in rows) < MONITORING_KB_MAX
    return Conclusion(claim, found, held, asserted=False, ours=True)


def _traffic(tables: Tables, table: str, what: str, where: str) -> Conclusion:
    """Like for like: what goes over the interface of whoever the landmark is."""
    rows = tables[table]
    found = f"on its line with headers {_growth(rows, what, 'landmark_with_headers')}"
    claim = f"Goal: recovery of {what} takes the landmark less traffic than QpidR's ({where})"
    held = all(row["landmark_with_headers"] < row["paper"] for row in rows)
    return Conclusion(claim, found, held, ours=True)


def _traffic_everywhere(tables: Tables, table: str, what: str, where: str) -> Conclusion:
    rows = tables[table]
    whole = line_of(rows, what, "until_whole").slope
    found = (
        f"with headers {_growth(rows, what, 'ours_with_headers')}. Without headers {_growth(rows, what, 'ours')}. By "
        f"the time all copies are whole again it is {whole:.1f} KB each, without headers; then everything moves once "
        "more, to the spare"
    )
    claim = f"Goal: recovery of {what} takes less traffic over all lines than QpidR's on its landmark's ({where})"
    held = all(row["ours_with_headers"] < row["paper"] for row in rows)
    return Conclusion(claim, found, held, asserted=False, ours=True)


def _growth(rows: Rows, what: str, who: str) -> str:
    """From the first row to the last beside the paper, and where the order turns."""
    first, last = rows[0], rows[-1]
    ours, paper, turn = line_of(rows, what, who).slope, line_of(rows, what, "paper").slope, turns_at(rows, what, who)
    turned = "both grow alike" if turn is None else f"from about {shown(round(turn))} on QpidR's is less"
    if turn is not None and turn > last[what]:
        turned += f", if both go on in straight lines beyond the {last[what]} that were measured"
    return (
        f"{shown(first[who])} KB for {first[what]} {what} and {shown(last[who])} for {last[what]}, {ours:.1f} for each "
        f"more (the paper: {first['paper']:.2f} and {last['paper']:.2f}, {paper:.1f} each): {turned}"
    )


def _correctness(tables: Tables) -> Conclusion:
    parts, well = [], []
    for silent, how in ((False, "killed"), (True, "vanished")):
        letters = [letter for letter in tables["timeline"] if letter["silent"] == silent]
        waits = [letter["received"] - letter["published"] for letter in letters]
        well.append(all(wait >= 0 for wait in waits) and sorted(letters, key=_arrival) == letters)
        order = "in order" if well[-1] else "NOT in order"
        parts.append(f"{how}: {len(letters)} messages arrived, {order}, the longest wait {max(waits):.2f} s")
    claim = "Messages published during the outage arrive after recovery (Fig. 8)"
    return Conclusion(claim, "; ".join(parts), all(well))


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
    times = [row[name] for row in rows for name in ("one_failure", "five_failures")]
    held = all(time is not None and time <= limit for time in times)
    claim = (
        f"In clusters of up to {rows[-1]['brokers']} brokers spares have everything in at most {FIVE_TO_ONE_MAX} times "
        f"what one failure of {rows[0]['brokers']} takes (past the paper)"
    )
    return Conclusion(claim, f"{'; '.join(parts)}. The bound is {limit:.2f} s", held, ours=True)


def _beyond_safe(tables: Tables) -> Conclusion:
    rows = tables["beyond"]
    parts = [
        f"{row['brokers']} brokers {_seconds(row['seats_and_copies_of_one'])} after one failure, "
        f"{_seconds(row['seats_and_copies_of_five'])} after five"
        for row in rows
    ]
    held = max(row["seats_and_copies_of_five"] for row in rows) <= SAFE_SECONDS_MAX
    claim = f"Goal: in larger clusters, too, seats are filled and copies whole within {SAFE_SECONDS_MAX:g} s"
    return Conclusion(claim, "; ".join(parts), held, ours=True)


def _safe_after(rows: Rows) -> str:
    """How long seats and copies take at most, in any cluster."""
    longest = max(row[f"seats_and_copies_of_{failures}"] for row in rows for failures in ("one", "five"))
    return "within a second" if longest <= SAFE_SECONDS_MAX else f"within {longest:.2f} s"


def _seconds(value: float | None) -> str:
    return f"not within {RECOVERED_WITHIN // SECOND} s" if value is None else f"{value:.2f} s"


# The report ---------------------------------------------------------------------------------------------------------
def text(tables: Tables) -> str:
    """The body of the report."""
    return "\n\n".join((_METHOD, _table_1(tables), _tables_2_and_3(tables), _table_4(tables), _figure_8(), _LIMITS))


_METHOD: Final = f"""## What is measured

Brokers of the product (`core/node.py`) in the simulator: virtual time, each host on a line of
{BITS_PER_SECOND // 1_000_000} Mbps in each direction to a router in the middle (frames take their size on both lines
and wait for each other), 0.25 to 1.5 ms between two hosts, disks with a commit of 1 to 2 ms, every seed the same again.
Bytes are frames between brokers as they are on the wire; *with headers* are {HEADER_BYTES} bytes more for each frame,
as if none shared a packet with another. KB are 1000 bytes. *One more seed* is the range around the mean in which
another seed's figure lies (95 %, Student's t).

*The paper's measurement* is network I/O on the interface of its recovery service, the landmark, which is the only one
that watches and the only one that restores. *Ours* gives the landmark's line as well, and beside it what all brokers
send, since here they watch each other and copy from each other."""


def _seeds(row: dict[str, Any]) -> dict[str, float | str]:
    """How far seeds lie from each other; of one seed nothing is known."""
    names = {"ours, deviation": "ours_deviation", "ours, one more seed ±": "ours_range"}
    return {column: "" if row[name] is None else row[name] for column, name in names.items()}


def _printed(row: dict[str, Any], unit: str, *more: str) -> dict[str, Digits]:
    """The paper's columns, with the digits that it prints."""
    names = {f"paper, {unit}": "paper", "paper, deviation": "paper_deviation"} | {
        f"paper, {name}": f"paper_{name}" for name in more
    }
    return {column: Digits(f"{row[name]:.2f}") for column, name in names.items()}


def _table_1(tables: Tables) -> str:
    table = [
        {
            "Number of brokers": row["brokers"],
            **_printed(row, "KB/s"),
            "ours, KB/s": row["ours"],
            **_seeds(row),
            "ours with headers": row["ours_with_headers"],
            "paper per broker": row["paper"] / row["brokers"],
            "ours per broker": row["landmark_per_broker"],
            "that with headers": row["landmark_with_headers"],
            "signs of life and agents, all brokers": row["signs_and_agents"],
            "everything, all brokers": row["everything"],
        }
        for row in tables["table_1"]
    ]
    return f"""## Table 1: data rate of periodic control messages

{as_markdown(table)}

A quiet domain, from {QUIET // SECOND} s after the last change on and for {WATCHED // SECOND} s; a quarter of its
brokers are spares. *Ours* is what goes in and out of the landmark's line, all of it: signs of life, announcements,
reports, audits of groups, the ring. The last two columns are sent by each broker on average, without headers: every
broker watches its {2 * SIDE} neighbours on the ring, whoever holds copies with it, and the landmark, and a link on
which nothing was heard for half the silence is asked for a sign of life. Once in {MAINTAIN_EVERY // SECOND} s a broker
sees after some entries of its routing table."""


def _tables_2_and_3(tables: Tables) -> str:
    parts = []
    for number, table, what in ((2, "table_2", "queues"), (3, "table_3", "routes")):
        rows = [
            {
                f"Number of {what}": row[what],
                **_printed(row, "KB"),
                "landmark's line with headers": row["landmark_with_headers"],
                "that without": row["landmark"],
                "all lines with headers": row["ours_with_headers"],
                "ours without, KB": row["ours"],
                **_seeds(row),
                "of that until all copies are whole": row["until_whole"],
            }
            for row in tables[table]
        ]
        parts.append(f"## Table {number}: traffic size of recovering {what}\n\n{as_markdown(rows)}")
    return f"""{parts[0]}

{parts[1]}

The paper's figures are to be compared with those of the landmark's line with headers. *Ours* is over all lines. A
domain of five brokers with seats and a spare; one with a seat is killed. A *queue* is a mailbox with one message of
{QUEUE_LETTER_BYTES} bytes of which the failed broker held a copy; a *route* is a durable subscription whose mailbox and
whose topic's item it held. Everything is counted that brokers send each other from the kill until the spare has whole
copies of all that the failed broker had: elections, copies, the directory, repairs of the ring, signs of life. Also
without any queue a broker holds groups: the directory of births, the agents, its own seat and those of its neighbours.
The work is done twice: first the neighbours make the third copy again, within a fraction of a second, so that the next
failure harms nobody; a second later it moves to the spare that took the seat. So over all
lines each queue costs more than QpidR's, and the beginning, where QpidR opens and closes a session,
costs less."""


def _table_4(tables: Tables) -> str:
    table = [
        {
            "Number of failures": row["failures"],
            "how": "hosts vanish" if row["silent"] else "killed",
            **_printed(row, "s", "max", "min"),
            "ours, s": row["ours"],
            **_seeds(row),
            "ours, max": row["ours_max"],
            "ours, min": row["ours_min"],
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
    seats = USUAL - SPARES
    return f"""## Table 4: recovery latency of {USUAL} brokers

![latency](recovery_latency.png)

{as_markdown(table)}

The paper does not say when its latency begins and ends; it measures a landmark that recreates one broker's queues and
routes on a backup after the other. Ours begins with the failure and ends when each spare has whole copies of all that
the broker had whose seat it took. Long before, every seat is filled and every group has three whole copies again, and
before that, messages flow: copies take over at once. {seats} brokers have seats and {LOAD_QUEUES_PER_SEAT * seats}
queues of {LOAD_LETTERS} messages of {LOAD_LETTER_BYTES} bytes; those that fail are never two of the three that hold one
group, since a group that lost its majority waits for one of them. *Killed*: the connections break, as when a process
ends. *Hosts vanish*: nobody is told, and silence is noticed after {SILENCE / SECOND:g} s. What is left
of the time is mostly a pause on purpose: groups move when the ring has wanted it for a second. A recovery is looked at
every {LOOK // MILLISECOND} ms: where all seeds are alike to that, their deviation is 0, and one more may still differ
by so much.

Past the paper, killed, seconds and KB/s:

{as_markdown(beyond)}

Clusters of more than {DOMAIN_BROKERS_MAX} brokers have several domains, all of one size, on one ring. Seats are filled
and copies whole {_safe_after(tables["beyond"])} in larger ones, too. A spare may stand anywhere on the ring, linked to
nobody around the seat that it took: it looks for them (`core/overlay/vicinity.py`), and they move to it what lies
there."""


def _figure_8() -> str:
    return f"""## Figure 8: time sequence of correctness

![killed](timeline_killed.png)

![vanished](timeline_silent.png)

A message every {PUBLISH_EVERY // MILLISECOND} ms to a topic whose item and whose subscriber's mailbox are held by the
broker that fails at 0 s; the subscriber is connected to that broker too. What was published meanwhile is received when
the subscriber is back, in order, once. When a host vanishes, a client waits for 3 s without a sign of life before it
turns to another broker; that is longer than brokers need among themselves."""


_LIMITS: Final = """## What this does not say

Virtual time has no busy processors: a broker takes 20 µs for a turn and 2 µs for an event. Clients that send or receive
are left out of Tables 1 to 3, as in the paper; in Table 4, too, nobody sends while brokers recover, where the paper's
network has some background traffic. The paper's subnet for Tables 2 and 3 has one broker that fails and one backup,
and a queue there exists once; ours exists on three brokers before and after."""
