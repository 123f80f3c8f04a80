"""What the evaluation of GEMOM says in words: one conclusion per claim, and the text of the report.

Owns: sentences and the bounds by which a claim holds. Must not know: how anything was computed or drawn.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Final

from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.gemom_bursts import burst_conclusion, burst_text
from causeway.evaluate.paper_placement import OUR_ROUND_ROBIN, OURS, SOLUTION_1, SOLUTION_2, smallest_eigenvalue
from causeway.evaluate.placement_trials import (
    BROKERS,
    BY_ITEM,
    CORRELATION,
    EASED,
    GROUPS,
    ITEMS,
    NONE,
    USE,
    WHOLE,
)
from causeway.evaluate.writing import as_markdown, shown
from causeway.placement.comparisons import MEAN_LOAD, ROUND_ROBIN

PRINTED_TOLERANCE: Final = 0.00005
"""Half a unit of the last digit that Table III prints."""

EASED_USED_MAX: Final = 0.75
"""Where brokers that are left are used to no more than this after a failure, easing has something to choose from."""
MIRRORED_USED_MAX: Final = 0.85
"""Where they are used to more than this, whoever takes over may be overloaded with all it has."""
FITTING_USED: Final = 1.0
"""Where they are used to less than this, the load of all fits on them."""

Rows = Sequence[dict[str, Any]]
Tables = dict[str, list[dict[str, Any]]]


def row_of(rows: Rows, **wanted: object) -> dict[str, Any]:
    """The one row with these values."""
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


# Conclusions --------------------------------------------------------------------------------------------------------
def conclusions(tables: Tables) -> tuple[Conclusion, ...]:
    """One per claim."""
    return (
        _table_3(tables["risks"]),
        _threshold(tables["threshold"]),
        _optimum(tables["allocations"]),
        _gain_everywhere(tables["gains"]),
        _example_gain(tables["allocations"]),
        _never_riskier(tables["instance_gains"], ROUND_ROBIN),
        _never_riskier(tables["instance_gains"], MEAN_LOAD),
        _correlation(tables["correlation"]),
        _mirrored(tables["mirrors"]),
        _mirrors(tables["failure_trials"], 1),
        _mirrors(tables["failure_trials"], 2),
        _eased(tables["mirrors"]),
        burst_conclusion(tables["bursts"]),
    )


def _table_3(risks: Rows) -> Conclusion:
    parts, same = [], True
    for name in (SOLUTION_1, SOLUTION_2):
        rows = [row for row in risks if row["placement"] == name]
        same &= all(abs(row["printed"] - row["recomputed"]) <= PRINTED_TOLERANCE for row in rows)
        printed, ours = (" / ".join(f"{row[which]:.4f}" for row in rows) for which in ("printed", "recomputed"))
        parts.append(f"{name} {ours}, printed {printed}")
    claim = "Table III's overload probabilities follow from Tables I and II"
    return Conclusion(claim, "recomputed: " + "; ".join(parts), same, asserted=False)


def _threshold(rows: Rows) -> Conclusion:
    raw = row_of(rows, matrix="as printed")
    found = (
        f"{'no allocation keeps it, which is proven' if raw['proven'] else 'none was found'}; the least risky one is "
        f"{raw['least_risky']} with {raw['its_largest_risk']:.4f}"
        if not raw["feasible"]
        else f"{raw['least_risky']} keeps it"
    )
    claim = f"The six items can be placed with every risk below {raw['threshold']} (Table III)"
    return Conclusion(claim, found, raw["feasible"], asserted=False)


def _optimum(rows: Rows) -> Conclusion:
    first, ours = row_of(rows, placement=SOLUTION_1), row_of(rows, placement=OURS)
    found = (
        f"it is number {first['rank']} of {first['of']} with a utility of {first['utility']:,.3f}; the best, found and "
        f"proven by branch and bound, is {ours['items']} with {ours['utility']:,.3f}"
    )
    return Conclusion(
        "The paper's solution 1 has the greatest utility (Table III)", found, first["rank"] == 1, asserted=False
    )


def _gain_everywhere(rows: Rows) -> Conclusion:
    parts = []
    words = {"printed": "from the printed Table III", "recomputed": "from Tables I and II", "ours": "ours"}
    for who, how in words.items():
        gains = [row["gain"] for row in rows if row["of"] == who]
        parts.append(f"{how} {', '.join(f'{gain:.2f}' for gain in gains)}")
    held = all(row["gain"] > 0 for row in rows if row["of"] == "recomputed")
    found = f"gain at brokers 1, 2, 3: {'; '.join(parts)}. What is maximised is the utility of all brokers together"
    return Conclusion("Risk is smaller than round robin's at each broker (Fig. 2)", found, held, asserted=False)


def _example_gain(rows: Rows) -> Conclusion:
    ours, first, second, robin = (
        row_of(rows, placement=name) for name in (OURS, SOLUTION_1, SOLUTION_2, OUR_ROUND_ROBIN)
    )
    found = (
        f"utility {ours['utility']:,.3f} against {second['utility']:,.3f} of the paper's round robin and "
        f"{robin['utility']:,.3f} of round robin by its own rule; largest risk {ours['largest_risk']:.4f} against "
        f"{second['largest_risk']:.4f} and {robin['largest_risk']:.4f}"
    )
    held = ours["utility"] >= first["utility"] and ours["utility"] > max(second["utility"], robin["utility"])
    return Conclusion("In the example placement by risk loses less than round robin", found, held)


def _never_riskier(gains: Rows, other: str) -> Conclusion:
    mine = [row for row in gains if row["over"] == other]
    worse = sum(row["gain"] < 0 for row in mine)
    risky = sum(row["risk_gain"] < 0 for row in mine)
    found = (
        f"{worse} of {len(mine)} random instances lose more; the median of what is saved is "
        f"{statistics.median(row['gain'] for row in mine):.0%}. The largest risk of one broker, which is not what is "
        f"minimised, is greater in {risky}"
    )
    return Conclusion(f"Placement by risk never loses more than {other}", found, worse == 0, ours=other == MEAN_LOAD)


def _correlation(rows: Rows) -> Conclusion:
    first, last = rows[0], rows[-1]
    parts, held = [], True
    for other in (ROUND_ROBIN, MEAN_LOAD):
        key = other.replace(" ", "_")
        held &= last[f"over_{key}"] > first[f"over_{key}"]
        parts.append(f"over {other} from {first[f'over_{key}']:.0%} to {last[f'over_{key}']:.0%}")
    found = (
        f"median of what is saved, from a correlation of {first['correlation']:g} to {last['correlation']:g}: "
        f"{', '.join(parts)}. The others lose more and more, placement by risk {first['by_risk_loss']:.2f} % and "
        f"{last['by_risk_loss']:.2f} %"
    )
    return Conclusion("The more workloads rise together, the more is gained", found, held)


def _mirrors(trials: Rows, failures: int) -> Conclusion:
    def losses(mirrors: str) -> dict[tuple[float, int], float]:
        chosen = [row for row in trials if (row["mirrors"], row["failures"]) == (mirrors, failures)]
        return {(row["use"], row["seed"]): row["loss"] for row in chosen}

    mine, whole = losses(BY_ITEM), losses(WHOLE)
    fitting = [key for key in mine if used_after(key[0], failures) < FITTING_USED]
    crowded = [key for key in mine if key not in fitting]
    uses = [use for use, seed in fitting if mine[use, seed] > whole[use, seed]]
    worse = len(uses)
    full = f" (from {used_after(min(uses), failures):.0%} on)" if uses else ""
    found = (
        f"{worse} of {len(fitting)} instances lose more{full}; the mean loss is "
        f"{100 * statistics.fmean(mine[key] for key in fitting):.2f} % instead of "
        f"{100 * statistics.fmean(whole[key] for key in fitting):.2f} %"
    )
    if crowded:
        others = sum(mine[key] > whole[key] for key in crowded)
        found += f". Where they would be used to {FITTING_USED:.0%} or more, {others} of {len(crowded)} lose more"
        found += ": then it is better that few brokers have too much than that all have" if others else ""
    count = "one failure" if failures == 1 else "two failures"
    claim = (
        f"After {count}, where the others are then used to less than {FITTING_USED:.0%}, mirrors by item lose less "
        "than mirrors of whole brokers, on average"
    )
    held = all(_mean_at(mine, use) < _mean_at(whole, use) for use, _ in fitting)
    return Conclusion(claim, found, held, ours=True)


def _mean_at(losses: dict[tuple[float, int], float], use: float) -> float:
    return statistics.fmean(loss for (of, _), loss in losses.items() if of == use)


def used_after(use: float, failures: int) -> float:
    """How much of the brokers that are left is used."""
    return use * BROKERS / (BROKERS - failures)


def _mirrored(rows: Rows) -> Conclusion:
    parts, held = [], True
    for failures, broken in ((1, "one broken"), (2, "two broken")):
        words = []
        for use in sorted({row["use"] for row in rows}):
            none, mine = (row_of(rows, use=use, mirrors=way, failures=failures)["loss"] for way in (NONE, BY_ITEM))
            held &= mine < none or used_after(use, failures) > MIRRORED_USED_MAX
            words.append(f"{use:.0%} used {mine:.2f} % instead of {none:.2f} %")
        parts.append(f"{broken}, {', '.join(words)}")
    found = f"mean loss: {'; '.join(parts)}. Where they are used to more, whoever takes over may be overloaded"
    claim = (
        f"After one failure and two, where the others are then used to at most {MIRRORED_USED_MAX:.0%}, mirrors by "
        "item lose less than none"
    )
    return Conclusion(claim, found, held, ours=True)


def _eased(rows: Rows) -> Conclusion:
    parts, held = [], True
    for use in sorted({row["use"] for row in rows}):
        plain, eased = (row_of(rows, use=use, mirrors=way, failures=1)["largest_risk"] for way in (BY_ITEM, EASED))
        held &= eased < plain if used_after(use, 1) <= EASED_USED_MAX else eased <= plain
        parts.append(f"{use:.0%} used: {eased:.2g} instead of {plain:.2g}")
    found = f"largest risk after one failure, {'; '.join(parts)}{_riskier(rows)}"
    claim = (
        f"After one failure, where the others are then used to at most {EASED_USED_MAX:.0%}, owners chosen with it in "
        "mind are safer; where they are used to more, not riskier (past the paper)"
    )
    return Conclusion(claim, found, held, ours=True)


def _riskier(rows: Rows) -> str:
    """What easing costs where it was not meant to help; nothing is said where it costs nothing."""
    parts = []
    for failures, broken in ((0, "all brokers up"), (2, "two broken")):
        pairs = {
            use: [row_of(rows, use=use, mirrors=way, failures=failures)["largest_risk"] for way in (BY_ITEM, EASED)]
            for use in sorted({row["use"] for row in rows})
        }
        use, (plain, eased) = max(pairs.items(), key=lambda found: found[1][1] - found[1][0])
        if eased > plain:
            parts.append(f"with {broken} {eased:.2g} instead of {plain:.2g} at {use:.0%} use")
    return f". Otherwise it may be greater: {', '.join(parts)}" if parts else ""


# The report ---------------------------------------------------------------------------------------------------------
def text(tables: Tables) -> str:
    """The body of the report."""
    return "\n\n".join((_example(tables), _instances(tables), _failing(tables), burst_text(tables), _limits()))


def _example(tables: Tables) -> str:
    risks = [
        {
            "placement": row["placement"],
            "broker": row["broker"],
            "capacity": row["capacity"],
            "items": row["items"],
            "printed": "" if row["printed"] is None else f"{row['printed']:.4f}",
            "recomputed": f"{row['recomputed']:.4f}",
            "after repair": f"{row['repaired']:.4f}",
        }
        for row in tables["risks"]
    ]
    allocations = [
        {
            "placement": row["placement"],
            "brokers 1, 2, 3": row["items"],
            "utility": f"{row['utility']:,.3f}",
            "rank": f"{row['rank']} of {row['of']}",
            "largest risk": f"{row['largest_risk']:.4f}",
            "utility after repair": f"{row['utility_repaired']:,.3f}",
        }
        for row in tables["allocations"]
    ]
    return f"""## The paper's example (Table III and Fig. 2)

Six items on three brokers (Tables I to III). The matrix of Table II is no covariance: its smallest eigenvalue is
{smallest_eigenvalue():.0f}. *Recomputed* takes it as it stands, as the paper did; *after repair* it is the nearest
matrix that is one. The paper has the gain only as a figure; what is called printed is computed from its Table III.

{as_markdown(allocations)}

{as_markdown(risks)}

![gain](gain_at_brokers.png)

Nothing in Tables I and II gives the probabilities of Table III; they are all too small. The order of the two solutions
is right: solution 1 loses less than solution 2. Round robin by the paper's own rule (each item in turn to the broker
with the greatest reserve ratio) gives another allocation than its solution 2, and a worse one."""


def _instances(tables: Tables) -> str:
    rows = [
        {
            "correlation": f"{row['correlation']:g}",
            "instances": row["instances"],
            "loss by risk, %": f"{row['by_risk_loss']:.2f} ± {row['by_risk_plus_minus']:.2f}",
            "round robin": f"{row['round_robin_loss']:.2f} ± {row['round_robin_plus_minus']:.2f}",
            "mean load": f"{row['mean_load_loss']:.2f} ± {row['mean_load_plus_minus']:.2f}",
            "saved over round robin": _range(row, "over_round_robin"),
            "saved over mean load": _range(row, "over_mean_load"),
        }
        for row in tables["correlation"]
    ]
    return f"""## Random instances: how much correlation matters

{ITEMS} items with rates of different sizes (lognormal, their deviation a fifth to a half of the mean) in {GROUPS}
groups, on {BROKERS} brokers of unequal capacity, {USE:.0%} of it used on average. Items of one group have the
correlation of the first column, others none; an instance of one seed differs from line to line in nothing else. Items
come in random order, which is what round robin goes by. The *loss* is the paper's: the sum over brokers of mean rate
times probability of overload, here as a part of all rates. What is saved is the paper's gain (5) for whole
placements: median, and 10 to 90 % of the instances. ± is the range in which the mean of as many other instances lies
(95 %, Student's t).

{as_markdown(rows)}

![gain](gain_by_correlation.png)

![loss](loss_by_correlation.png)

Round robin by reserve ratio loses most because it is not even in means: it gives the largest item to whoever comes
next. Placement by mean load is even in means, and loses by correlation alone."""


def _range(row: dict[str, Any], key: str) -> str:
    return f"{row[key]:.0%} ({row[f'{key}_low']:.0%} to {row[f'{key}_high']:.0%})"


def _failing(tables: Tables) -> str:
    rows = [
        {
            "use": f"{row['use']:.0%}",
            "broken": row["failures"],
            "mirrors": row["mirrors"],
            "loss, %": shown(row["loss"]),
            "largest risk": shown(row["largest_risk"]),
            "after the worst": shown(row["worst_risk"]),
        }
        for row in tables["mirrors"]
        if row["failures"] or row["mirrors"] in (BY_ITEM, EASED)
    ]
    return f"""## Mirrors after one and two failures

The same kind of instance with a correlation of {CORRELATION:g}. Owners are placed by risk. *By item*: each item has the
mirror that placement chose. *Owners eased*: `ease_failures` has moved some owners first, as a landmark does. *Whole
broker*: all items of a broker have one mirror, as in a high-availability pair, and the best of all brokers for it. *No
mirrors*: what a broken broker had is not served, which is a risk of 1 and a loss of all of it. The figures are means
over every set of so many broken brokers: all {BROKERS}, or all {BROKERS * (BROKERS - 1) // 2} pairs. Where the mirror
is broken too, items go one by one to where the risk grows least, with mirrors of every kind.

![failures](risk_after_failures.png)

![loss](loss_after_failures.png)

{as_markdown(rows)}

Mirrors by item spread what a broker had over all others. That is worth most where the load of the broken ones still
fits: with one of {BROKERS} broken the others are used to {FITTING_USED:.0%} if all were to {1 - 1 / BROKERS:.0%}
before, with two if all were to {1 - 2 / BROKERS:.0%}. Near that and beyond all are
overloaded instead of some, and by the paper's measure an overloaded broker loses all it has: then even no mirrors lose
less. Easing is for one failure. After two it {_after_two(tables)}, and with all brokers up it gives away up to
{_given_away(tables)} % of the rate."""


def _after_two(tables: Tables) -> str:
    """What easing does where it was not meant to."""
    rows = [row for row in tables["mirrors"] if row["failures"] == 2]
    more = {
        use: row_of(rows, use=use, mirrors=EASED)["loss"] - row_of(rows, use=use, mirrors=BY_ITEM)["loss"]
        for use in sorted({row["use"] for row in rows})
    }
    use = max(more, key=lambda use: abs(more[use]))
    return f"loses {abs(more[use]):.2g} % of the rate {'more' if more[use] > 0 else 'less'} at {use:.0%} use"


def _given_away(tables: Tables) -> str:
    """What easing loses more with all brokers up, at worst."""
    up = {(row["use"], row["mirrors"]): row["loss"] for row in tables["mirrors"] if row["failures"] == 0}
    return f"{max(loss - up[use, BY_ITEM] for (use, way), loss in up.items() if way == EASED):.2g}"


def _limits() -> str:
    return """## What this does not say

Rates of random instances are normal because the model of placement is: these figures say what is gained if it is right;
bursts are one other kind of rates, and docs/placement.md replays an hour of them by arithmetic alone. Capacities are
given; what a real broker sustains is measured (docs/operations.md)."""
