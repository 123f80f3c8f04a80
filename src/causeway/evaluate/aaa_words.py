"""What the evaluation of AAA says in words: one conclusion per claim of the paper, and the text of the report.

Owns: sentences and the bounds by which a claim holds. Must not know: how anything was measured or drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.fits import power_between
from causeway.evaluate.seat_costs import BROADCAST, PING, PING_ALL, SETTLED, TREE_CHILDREN, TREE_SEATS, UNICAST
from causeway.evaluate.writing import as_markdown, shown

QUADRATIC: Final = (1.8, 2.2)
LINEAR: Final = (0.85, 1.15)
"""Exponents within which a growth is called so."""

Rows = Sequence[dict[str, Any]]
Tables = Mapping[str, Rows]


def fit_of(fits: Rows, traffic: str, layout: str, metric: str) -> dict[str, Any]:
    """One of the fits."""
    return next(fit for fit in fits if (fit["traffic"], fit["layout"], fit["metric"]) == (traffic, layout, metric))


def rows_of(means: Rows, traffic: str, layout: str) -> list[dict[str, Any]]:
    """One curve's rows, by size."""
    return [row for row in means if (row["traffic"], row["layout"]) == (traffic, layout)]


def tree_ends(means: Rows) -> tuple[dict[str, Any], dict[str, Any]]:
    """The trees of about 100 seats and of about 1,000, or the smallest and the largest there are."""
    rows = rows_of(means, UNICAST, "tree")
    return next((row for row in rows[:-1] if row["seats"] >= 100), rows[0]), rows[-1]


def tree_power(means: Rows, metric: str = "operations") -> float:
    """The power by which the cost of a tree grows from about 100 seats to about 1,000."""
    first, last = tree_ends(means)
    return power_between(first["seats"], first[metric], last["seats"], last[metric])


def logarithm_power(means: Rows) -> float:
    """The power by which a logarithm itself grows between the same two sizes: nothing that is one grows faster."""
    first, last = (row["seats"] for row in tree_ends(means))
    return power_between(first, math.log(first), last, math.log(last))


def exponent(fit: dict[str, Any]) -> str:
    """With its interval; what every seed has alike has none."""
    if not fit["plus_minus"]:
        return f"n^{fit['exponent']:.2f}"
    return f"n^({fit['exponent']:.2f} ± {fit['plus_minus']:.2f})"


def logarithm(fit: dict[str, Any]) -> str:
    """The line over ln n."""
    sign = "-" if fit["per_ln_n"] < 0 else "+"
    return f"{shown(fit['at_one'])} {sign} {shown(abs(fit['per_ln_n']))} ln n"


# Conclusions --------------------------------------------------------------------------------------------------------
def conclusions(tables: Tables) -> tuple[Conclusion, ...]:
    """One per claim."""
    means, fits = tables["means"], tables["fits"]
    return (
        _power(fits, "flat", QUADRATIC, "Without domains a remote unicast costs what is quadratic in n (Fig. 8)"),
        _power(fits, "bus", LINEAR, "A bus of √n domains makes it linear (Fig. 11)"),
        _logarithm(means, fits),
        _formula(means),
        _gain(means),
        _tree_against_bus(means),
        _broadcast(means, fits),
        _ping_pong(means, fits),
    )


def _power(fits: Rows, layout: str, bounds: tuple[float, float], claim: str) -> Conclusion:
    cells, operations = (fit_of(fits, UNICAST, layout, metric) for metric in ("cells", "operations"))
    sizes = f"from {cells['from_seats']} to {cells['to_seats']} servers"
    held = all(bounds[0] <= fit["exponent"] <= bounds[1] for fit in (cells, operations))
    stamps = fit_of(fits, UNICAST, layout, "stamp_bytes")
    found = (
        f"{sizes} cells in stamps grow as {exponent(cells)}, clock operations as {exponent(operations)}. Not judged "
        f"are bytes of stamps, in which the numbers of many seats are longer: {exponent(stamps)}"
    )
    if not bounds[0] <= stamps["exponent"] <= bounds[1]:
        found += f", which is outside {bounds[0]:g} to {bounds[1]:g}"
    return Conclusion(claim, found, held)


def _logarithm(means: Rows, fits: Rows) -> Conclusion:
    operations = fit_of(fits, UNICAST, "tree", "operations")
    first, last = tree_ends(means)
    power, cells = tree_power(means), tree_power(means, "cells")
    most = logarithm_power(means)
    found = (
        f"from {first['seats']} to {last['seats']} servers clock operations grow from "
        f"{shown(first['operations'])} to {shown(last['operations'])} a message (as n^{power:.2f}), and cells in "
        f"stamps from {shown(first['cells'])} to {shown(last['cells'])} (as n^{cells:.2f}); ln n itself grows as "
        f"n^{most:.2f} there. Hops are what grows with ln n. Over all sizes: {logarithm(operations)}, "
        f"R² {operations['logarithm_r2']:.2f}; as a power {exponent(operations)}, R² {operations['power_r2']:.2f}. "
        "It is no more than a logarithm; these sizes cannot tell it from a small power"
    )
    return Conclusion("A tree of fixed s and k makes it logarithmic", found, max(power, cells) <= most)


def _formula(means: Rows) -> Conclusion:
    """Judged by what clocks do: how many cells a stamp can have at all is less than that."""
    parts, held = [], True
    for layout in ("flat", "bus", "daisy", "tree"):
        rows = rows_of(means, UNICAST, layout)
        shares = [row["operations"] / row["formula"] for row in rows]
        held &= max(shares) <= 1
        parts.append(f"{layout} {min(shares):.2f} to {max(shares):.2f}")
    found = (
        f"clock operations as a share of it: {', '.join(parts)}. In one domain it is an estimate; with domains it is a "
        "bound, and less of it is used the more the traffic of a domain runs through its routers"
    )
    return Conclusion("A message costs at most about (2d+1)s²", found, held)


def _nearest(rows: list[dict[str, Any]], seats: int) -> dict[str, Any]:
    return min(rows, key=lambda row: abs(row["seats"] - seats))


def _gain(means: Rows) -> Conclusion:
    """At every size that both were measured at."""
    bus = {row["seats"]: row["operations"] for row in rows_of(means, UNICAST, "bus")}
    pairs = [(row["seats"], row["operations"]) for row in rows_of(means, UNICAST, "flat") if row["seats"] in bus]
    parts = [
        f"{seats} servers {shown(one)} in one domain, {shown(bus[seats])} on a bus, {shown(one / bus[seats])} times "
        "fewer"
        for seats, one in pairs
    ]
    held = bool(pairs) and all(one > bus[seats] for seats, one in pairs)
    return Conclusion("Domains pay (Fig. 12)", f"clock operations per message: {'; '.join(parts)}", held)


def _tree_against_bus(means: Rows) -> Conclusion:
    tree, bus = rows_of(means, UNICAST, "tree"), rows_of(means, UNICAST, "bus")
    pairs = [(row, near) for row in tree if 0.7 < row["seats"] / (near := _nearest(bus, row["seats"]))["seats"] < 1.4]
    parts = [
        f"{t['seats']} servers: tree {shown(t['operations'])}, bus {shown(b['operations'])} (at {b['seats']})"
        for t, b in pairs
    ]
    dearer = [t["seats"] for t, b in pairs if t["operations"] > b["operations"]]
    found = (
        "clock operations for "
        + "; ".join(parts)
        + (
            f". The tree is dearer up to {max(dearer)} servers"
            if dearer
            else ". The tree is never dearer in operations"
        )
    )
    return Conclusion("A tree may be less efficient than a bus (K' > K)", found, bool(dearer))


def _broadcast(means: Rows, fits: Rows) -> Conclusion:
    """Judged by the paper's own traffic; what everybody's broadcasts cost is said beside it."""
    cells, operations = (fit_of(fits, PING_ALL, "flat", metric) for metric in ("cells", "operations"))
    flat, bus, daisy = (fit_of(fits, BROADCAST, layout, "cells") for layout in ("flat", "bus", "daisy"))
    found = (
        f"as the paper has it, one agent asking and all answering, from {cells['from_seats']} to {cells['to_seats']} "
        f"servers: cells grow as {exponent(cells)}, clock operations as {exponent(operations)}{_exactly(means)}. When "
        f"everybody publishes it is more: the n-1 stamps of one broadcast together have {exponent(flat)} cells, on a "
        f"bus {exponent(bus)}, on a daisy {exponent(daisy)}"
    )
    held = all(QUADRATIC[0] <= fit["exponent"] <= QUADRATIC[1] for fit in (cells, operations))
    return Conclusion("Without domains a broadcast is quadratic (Fig. 9)", found, held)


def _exactly(means: Rows) -> str:
    """Answers of all to one are counted exactly, whatever the seed; said only where it is so."""
    rows = rows_of(means, PING_ALL, "flat")
    same = all(
        (row["cells_least"], row["cells_greatest"]) == (2 * (n - 1) * (n - 2),) * 2
        and (row["operations_least"], row["operations_greatest"]) == (8 * (n - 1) ** 2,) * 2
        for row in rows
        for n in (row["seats"],)
    )
    return "; with every seed they are exactly 2(n-1)(n-2) and 8(n-1)²" if same else ""


def _ping_pong(means: Rows, fits: Rows) -> Conclusion:
    one = rows_of(means, PING, "flat")
    found = (
        f"not in our counters: a round trip takes {shown(one[0]['operations'])} clock operations among "
        f"{one[0]['seats']} servers and {shown(one[-1]['operations'])} among {one[-1]['seats']}, with empty stamps. "
        f"With everybody answering it grows as {exponent(fit_of(fits, PING_ALL, 'flat', 'operations'))}"
    )
    grows = power_between(one[0]["seats"], one[0]["operations"], one[-1]["seats"], one[-1]["operations"])
    claim = "The ping-pong of two agents itself is quadratic in n (Fig. 8)"
    return Conclusion(claim, found, grows >= QUADRATIC[0], asserted=False)


# The report ---------------------------------------------------------------------------------------------------------
def text(tables: Tables) -> str:
    """The body of the report."""
    means, fits = tables["means"], tables["fits"]
    return "\n\n".join((_method(means), _unicast(means, fits), _published(means), _paper(means), _limits()))


def _method(means: Rows) -> str:
    worst = max(row["worst_agreement"] for row in means)
    return f"""## What is measured

The seats of the product (`src/causeway/core/causal`) in a network of their own (`sim/seats.py`): no brokers, no
replicas, virtual time, and the counters that every seat keeps. One application sits at each seat and sends every 20
ms on average; a message takes 1 to 2 ms from seat to seat. *Cells* are what is put into stamps, *operations* are
cells that clocks look at or change, both summed over all hops of a message. They are the same on every machine, and
the same again with the same seed. *Rows* are what seats write to one copy of their groups: lines of the clock, and
the batches on their way.

Random pairs: source and destination are drawn evenly. A run begins with clocks that know nothing. A stamp holds
what has changed since the last one for the same receiver, so it has its final size when every pair that matters has
been drawn: in one domain after some n² messages (the warm-up is 1.5 n², which gives 95 % of the limit for every n),
with domains after some n. Then two halves are measured, and if they differ by more than 5 %, the first counts as
warm-up and another one follows; the greatest difference that was left is {100 * worst:.1f} %. On a bus and in a
tree, pairs of neighbours inside one domain are drawn only every n² messages and are not at their limit, so figures
there may be too low. How much they differ from those after a warm-up of 6 n² messages in one domain and 3 n²
elsewhere is measured in small networks: {_settled(means)}. In larger networks nobody has waited so long; there such
pairs are a smaller part of all.

Intervals are 95 % over seeds (Student's t), for the exponent of a line through the logarithms; *one more seed* is the
wider interval in which the exponent of another seed lies."""


def _settled(means: Rows) -> str:
    """What the usual warm-up leaves out."""
    parts = []
    for row in means:
        if row["traffic"] == SETTLED:
            usual = _nearest(rows_of(means, UNICAST, row["layout"]), row["seats"])
            cells, operations = (100 * (usual[metric] / row[metric] - 1) for metric in ("cells", "operations"))
            parts.append(f"{row['layout']} of {row['seats']} {cells:+.1f} % cells, {operations:+.1f} % operations")
    return "; ".join(parts)


def _unicast(means: Rows, fits: Rows) -> str:
    table = [
        {
            "layout": row["layout"],
            "servers": row["seats"],
            "domains": row["domains"],
            "s": row["domain_seats"],
            "d": row["depth"],
            "hops": row["hops"],
            "cells": row["cells"],
            "(2d+1)s²": row["formula"],
            "operations": row["operations"],
            "stamp bytes": row["stamp_bytes"],
            "row bytes": row["row_bytes"],
        }
        for row in means
        if row["traffic"] == UNICAST
    ]
    grown = [
        {
            "layout": fit["layout"],
            "metric": fit["metric"].replace("_", " "),
            "servers": f"{fit['from_seats']} to {fit['to_seats']}",
            "as a power": exponent(fit),
            "one more seed": f"± {fit['another_seed']:.2f}" if fit["another_seed"] is not None else "",
            "R² of that": fit["power_r2"],
            "as a logarithm": logarithm(fit),
            "R² of it": fit["logarithm_r2"],
        }
        for fit in fits
        if fit["traffic"] == UNICAST
    ]
    grows = {
        (layout, metric): exponent(fit_of(fits, UNICAST, layout, metric))
        for layout in ("flat", "bus")
        for metric in ("cells", "stamp_bytes")
    }
    lines = fit_of(fits, UNICAST, "flat", "row_bytes")
    return f"""## Remote unicast, random pairs (Fig. 8, 11 and 12)

![cells](unicast_cells.png)

![operations](unicast_operations.png)

{as_markdown(table)}

{as_markdown(grown)}

{_beyond(means, fits)}*Bytes.* A cell of a stamp is three numbers: 3 bytes among few servers, more among many,
since seats have numbers that are unique in the whole network, and one above 127 takes 2 bytes, above 255 three.
Values grow by and by too, to 5 bytes each. In one domain, which has few seats here, bytes grow as cells do:
{grows["flat", "stamp_bytes"]} and {grows["flat", "cells"]}. On the bus, which has many, they grow faster:
{grows["bus", "stamp_bytes"]} and {grows["bus", "cells"]}. Rows have a part that does not grow (the batch on its
way) and one that does, together {exponent(lines)} in one domain: a message that tells a seat of some n changed cells
touches most lines of its clock, and a line is written as a whole.

![bytes](unicast_bytes.png)

*The tree* (s = {TREE_SEATS}, k = {TREE_CHILDREN}) costs less than the paper's logarithm: the number of hops grows
with ln n, but the nearer a router is to the root, the more messages pass it between two of its neighbours, and the
fewer cells have changed since the last one. The daisy, of which the paper shows no measurement, gains from the
same: its hops grow with √n, and its stamps are short."""


def _beyond(means: Rows, fits: Rows) -> str:
    """Sizes measured with one seed, beside what the fit of the smaller ones says."""
    fit = fit_of(fits, UNICAST, "flat", "cells")
    parts = []
    for row in rows_of(means, UNICAST, "flat"):
        if row["seats"] > fit["to_seats"]:
            said = fit["factor"] * row["seats"] ** fit["exponent"]
            parts.append(f"{row['seats']} servers: {shown(row['cells'])} cells, foretold {shown(said)}")
    return f"Beyond the fit, one seed each, in one domain: {'; '.join(parts)}.\n\n" if parts else ""


def _published(means: Rows) -> str:
    table = [
        {
            "layout": row["layout"],
            "servers": row["seats"],
            "hops": row["hops"],
            "cells": row["cells"],
            "cells per delivery": row["cells"] / (row["seats"] - 1),
            "operations": row["operations"],
            "stamp bytes": row["stamp_bytes"],
            "row bytes": row["row_bytes"],
        }
        for row in means
        if row["traffic"] == BROADCAST
    ]
    return f"""## Broadcast (Fig. 9)

![broadcast](broadcast_cells.png)

{as_markdown(table)}

Everybody publishes once in each round, in random order. A broadcast reaches every seat once, along the tree of
domains, with one stamp per seat. In one domain each of the n-1 stamps has up to n² cells when anybody may publish;
the paper's one publisher meets the easier case below."""


def _paper(means: Rows) -> str:
    table = [
        {
            "traffic": row["traffic"],
            "layout": row["layout"],
            "servers": row["seats"],
            "hops": row["hops"],
            "cells": row["cells"],
            "operations": row["operations"],
            "stamp bytes": row["stamp_bytes"],
            "row bytes": row["row_bytes"],
        }
        for row in means
        if row["traffic"] in (PING, PING_ALL)
    ]
    return f"""## The paper's own traffic: ping-pong

![ping-pong](ping_pong_operations.png)

Per round trip:

{as_markdown(table)}

The paper times a round trip between an agent on server 0 and one that sends back what it gets, and sees a quadratic
growth. Between two agents nothing else is sent: with the Updates algorithm a stamp has no cells at all, because the
only cells that change are those that the receiver knows. So neither bytes nor clock operations depend on n, and
ours do not. What the paper measured is the rest: its servers keep, check and *save* a whole matrix of n² cells for
every message, and its time includes that (4n² in the figure: at both ends of both messages). Our seats look at
cells that changed and write lines that changed. The growth that the paper explains is that of a network in which
everybody talks, and there we find it (above); when all answer one agent, every question tells each of n servers of
n answers, and the quadratic growth is back."""


def _limits() -> str:
    return """## What this does not say

Counters are not seconds. A message has costs that no clock has (frames, disks, copies on other brokers), and among
ten servers these are most of it: see docs/benchmarks.md for the throughput with and without order. Evenly drawn
pairs are hard on domains; traffic that stays inside them costs less. Brokers refuse more than 64 seats in one
domain: the larger flat networks exist only here."""
