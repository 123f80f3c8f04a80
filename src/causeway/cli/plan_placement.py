"""`causeway plan placement`: which broker should own and mirror which item, by the risk of overload."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from causeway.cli.options import read_text
from causeway.cli.output import EXIT_OK, console, print_json
from causeway.client.url import parse_url
from causeway.core.placing import NOBODY
from causeway.errors import ConfigError
from causeway.local.everybody import reports_of
from causeway.local.landmarks import domain_loads
from causeway.placement.instance import Instance
from causeway.placement.live import instance_of, present_of
from causeway.placement.plan import PlacementPlan, plan_placement
from causeway.placement.replan import MOVE_COST
from causeway.placement.tables import read_description

SHOWN_MAX: Final = 40
"""Lines of a table for people; --json has them all."""
FAILURES_SHOWN_MAX: Final = 8
"""Brokers up to which the risk after every failure has a column; beyond, only the worst is shown."""


Bounds = tuple[float | None, int | None, bool]
"""Largest risk of a broker, topics that one may own, whether items have mirrors."""


def plan_items(
    table: str | None, url: str | None, bounds: Bounds, *, seed: int, move_cost: float | None, as_json: bool
) -> int:
    """From a table, or from what the landmarks of a running cluster have measured."""
    cost = MOVE_COST if move_cost is None else move_cost
    threshold, topics_max, mirrors = bounds
    if (table is None) == (url is None):
        raise ConfigError("table", table, "give a table of brokers and rates, or --url of a running cluster")
    if table is not None:
        return _show_placement(table, bounds, seed=seed, cost=cost, as_json=as_json)
    if topics_max is not None or not mirrors:
        raise ConfigError("url", url, "a running cluster has its own bounds; leave --topics-max and --no-mirrors out")
    assert url is not None
    return _show_running(url, threshold, seed=seed, cost=cost, as_json=as_json)


def _show_placement(table: str, bounds: Bounds, *, seed: int, cost: float, as_json: bool) -> int:
    """Read a description, plan, print."""
    threshold, topics_max, mirrors = bounds
    given = read_description(read_text("table", table))
    instance = Instance(given.model, given.brokers, threshold=threshold, topics_max=topics_max, mirrors=mirrors)
    found = plan_placement(instance, present=given.present, seed=seed, move_cost=cost)
    if as_json:
        print_json(found)
    else:
        _show(found, has_present=given.present is not None)
    return EXIT_OK


def _show_running(url: str, threshold: float | None, *, seed: int, cost: float, as_json: bool) -> int:
    """Ask the landmarks of a running cluster what they have measured, plan each domain from that, print."""
    loads = domain_loads(asyncio.run(reports_of(parse_url(url))))
    if not loads:
        raise ConfigError("url", url, "no landmark answered: its brokers are in no domain, or it is being elected")
    plans = {}
    for domain, request in loads.items():
        if not any(map(any, request.samples)):
            if not as_json:
                console().print(f"domain {escape(domain)}: nothing was published to its items yet")
            continue
        asked = request if threshold is None else msgspec.structs.replace(request, threshold=round(1000 * threshold))
        instance = instance_of(asked)
        placed = all(owner != NOBODY for owner in asked.owners)
        present = present_of(asked, instance) if placed else None
        plans[domain] = plan_placement(instance, present=present, seed=seed, move_cost=cost)
        if not as_json:
            console().print(
                f"[bold]domain {escape(domain)}[/]: {len(asked.samples)} samples of {len(asked.items)} items"
            )
            _show(plans[domain], has_present=placed)
    if as_json:
        print_json({"domains": plans})
    return EXIT_OK


def _show(found: PlacementPlan, *, has_present: bool) -> None:
    out = console()
    out.print(_item_table(found))
    _print_rest(len(found.items))
    out.print(_broker_table(found))
    _print_rest(len(found.brokers))
    out.print(_alternative_table(found))
    if found.changes:
        out.print(_change_table(found))
        _print_rest(len(found.changes))
    for line in verdict(found, has_present=has_present):
        out.print(escape(line), soft_wrap=True)


def verdict(found: PlacementPlan, *, has_present: bool) -> list[str]:
    """What was found, in words."""
    lines = []
    if found.repair.repaired:
        lines.append(
            "the matrix given cannot be a covariance (its smallest eigenvalue is "
            f"{found.repair.smallest_eigenvalue:,.1f}); it was replaced by the nearest one that can, "
            f"at a distance of {found.repair.distance:,.1f}: no risk is smaller for it"
        )
    if not found.feasible:
        sure = "no placement keeps" if found.hopeless else "no placement was found that keeps"
        lines.append(
            f"{sure} every risk below {found.threshold:g}; this is the least risky, its largest risk is "
            f"{_risk(found.largest_risk)}"
        )
    gap = "nothing is better" if found.proven else f"at most {100 * found.gap:.2g} % below the best"
    bound = "" if found.proven else f" of at most {found.bound:,.3f}"
    lines.append(f"utility {found.utility:,.3f}{bound} messages/s: {gap} ({found.method})")
    if has_present:
        moved = sum(1 for change in found.changes if change.what == "owner")
        lines.append(
            f"{moved} items move, {len(found.changes) - moved} mirrors change"
            if found.changes
            else f"nothing gains more than {found.move_cost:g} messages/s per move: keep the present placement"
        )
    return lines


# Tables -------------------------------------------------------------------------------------------------------------
def _item_table(found: PlacementPlan) -> Table:
    table = _table("placement", ["item", "owner", "mirror"], ["topics", "messages/s", "deviation"])
    for item in found.items[:SHOWN_MAX]:
        numbers = (str(item.topics), f"{item.rate:,.1f}", f"{item.deviation:,.1f}")
        table.add_row(escape(item.name), escape(item.owner), escape(item.mirror) or "-", *numbers)
    return table


def _broker_table(found: PlacementPlan) -> Table:
    every = [broker.name for broker in found.brokers] if len(found.brokers) <= FAILURES_SHOWN_MAX else []
    failed = [f"{name} down" for name in every] if any(one.after for one in found.brokers) else []
    numbers = ["capacity", "items", "messages/s", "risk", *(failed or ["worst after a failure"])]
    table = _table("brokers", ["broker"], numbers)
    for broker in found.brokers[:SHOWN_MAX]:
        after = [_risk(broker.after[name]) if name in broker.after else "-" for name in every] if failed else []
        worst = max(broker.after, key=lambda name: broker.after[name], default="")
        table.add_row(
            escape(broker.name),
            f"{broker.capacity:,.0f}",
            str(broker.items),
            f"{broker.rate:,.1f}",
            _risk(broker.risk),
            *(after or [f"{_risk(broker.after[worst])} ({escape(worst)})" if worst else "-"]),
        )
    return table


def _alternative_table(found: PlacementPlan) -> Table:
    table = _table("beside others", ["placement"], ["utility", "largest risk", "brokers over"])
    over = 0 if found.threshold is None else sum(1 for one in found.brokers if one.risk >= found.threshold)
    table.add_row("by risk", f"{found.utility:,.3f}", _risk(found.largest_risk), str(over))
    for other in found.alternatives:
        table.add_row(other.name, f"{other.utility:,.3f}", _risk(other.largest_risk), str(other.brokers_over))
    return table


def _change_table(found: PlacementPlan) -> Table:
    table = _table("changes", ["item", "what", "from", "to"], [])
    for change in found.changes[:SHOWN_MAX]:
        table.add_row(escape(change.item), change.what, escape(change.source) or "-", escape(change.target) or "-")
    return table


def _table(title: str, words: list[str], numbers: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for word in words:
        table.add_column(word)
    for number in numbers:
        table.add_column(escape(number), justify="right")
    return table


def _print_rest(count: int) -> None:
    if count > SHOWN_MAX:
        console().print(f"{count - SHOWN_MAX} more, all of them with --json")


def _risk(value: float) -> str:
    return "0" if value == 0 else f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"
