"""`causeway plan`: which domains suit the traffic. Placements are in plan_placement.py, costs in plan_costs.py."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from causeway.cli.domains import domain_row, latest
from causeway.cli.options import AsJson, read_text
from causeway.cli.output import EXIT_OK, console, notices, print_json
from causeway.cli.plan_costs import ApplicationServerUsd, Brokers, DatabaseServerUsd, Sites, show_costs
from causeway.client.url import parse_url
from causeway.domains.layouts import Layout
from causeway.domains.limits import SEATS_PER_DOMAIN_MAX
from causeway.domains.plan import Proposal, propose
from causeway.domains.tables import read_seats, read_traffic, seats_of, written_seats
from causeway.domains.traffic import CELL_COST, HOP_COST, Prices
from causeway.errors import ConfigError
from causeway.evaluate.site_costs import PAPER_PRICES, PAPER_SITES, ServerPrices
from causeway.extras import ARRAYS, require
from causeway.local.everybody import reports_of

SHOWN_DOMAINS_MAX: Final = 40
"""Lines for people; --json and --out have them all."""
QUIET_SECONDS: Final = 1.0
"""What is done sooner needs no bar."""

OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "domains": ("present", "domain_size_max", "cell_cost", "hop_cost", "out"),
    "placement": ("threshold", "topics_max", "no_mirrors", "seed", "move_cost"),
    "costs": ("sites", "brokers", "application_server_usd", "database_server_usd"),
}
"""What can be planned, and which options are about that alone."""

What = Annotated[
    str, typer.Argument(metavar="domains|placement|costs", help="What to plan: domains, placement or costs.")
]
TableFile = Annotated[
    str | None,
    typer.Argument(
        help="domains: traffic between applications, CSV or JSON with from, to, rate. placement: brokers with "
        "capacities, topics and their rates, CSV or JSON (docs/placement.md); none with --url. costs: none. "
        "- reads standard input."
    ),
]
Threshold = Annotated[float | None, typer.Option(help="placement: every broker's risk of overload stays below this.")]
TopicsMax = Annotated[int | None, typer.Option(help="placement: largest number of topics that a broker may own.")]
MoveCost = Annotated[
    float | None, typer.Option(help="placement: move an item only for a gain above this, in messages/s (1).")
]


def plan(
    context: typer.Context,
    *,
    what: What,
    table: TableFile = None,
    present: Annotated[
        Path | None, typer.Option(help="The present split: JSON, name -> list of domains, as --out writes it.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", help="causeway://host:port: take the present split or measured rates from this cluster."),
    ] = None,
    domain_size_max: Annotated[int, typer.Option(help="Largest number of seats in a domain.")] = SEATS_PER_DOMAIN_MAX,
    cell_cost: Annotated[float, typer.Option(help="Cost of each cell of a clock, per message and hop.")] = CELL_COST,
    hop_cost: Annotated[float, typer.Option(help="Cost of a hop besides its cells.")] = HOP_COST,
    out: Annotated[Path | None, typer.Option(help="Write the proposal here, for 'causeway up --seats FILE'.")] = None,
    threshold: Threshold = None,
    topics_max: TopicsMax = None,
    no_mirrors: Annotated[bool, typer.Option("--no-mirrors", help="placement: no item has a mirror.")] = False,
    seed: Annotated[int, typer.Option(help="placement: seed of the search; the same seed gives the same answer.")] = 0,
    move_cost: MoveCost = None,
    sites: Sites = PAPER_SITES,
    brokers: Brokers = None,
    application_server_usd: ApplicationServerUsd = PAPER_PRICES.application_server,
    database_server_usd: DatabaseServerUsd = PAPER_PRICES.database_server,
    as_json: AsJson = False,
) -> int:
    """Propose domains for a table of traffic, or a placement for a table of rates; or compute what servers cost.

    domains: a message pays for every hop between seats: hop-cost, plus cell-cost times the cells of the domain's clock,
    which are the square of its seats. Columns from_seat and to_seat say where applications have their seats; without
    them every application gets a seat. The proposal never costs more than a present split that keeps to the bounds.
    With --json it prints one object: "cost", "rate", "changed" (false: the present split is the proposal),
    "present_cost" (or null), "present_fault", "seats" (name: domains), "domains" and "present" (each "name", "members",
    "routers", "rate", "cost").

    placement: an item is a set of topics. The placement says which broker owns each item and which mirrors it, so that
    the risk of overload costs least. With --json it prints "items" and "brokers" with their risks, "utility", "bound",
    "gap", "feasible", "alternatives", "changes" and more. With --url instead of a table it asks the landmarks of a
    running cluster, and prints "domains", one such object for each.

    costs: Table 2 of PBM with your prices. A broker is one server. A cluster of MSMQ is two servers and two for the
    database; MSMQ without clustering is one server, which nothing replaces when it fails. MSMQ needs these at every
    site; not every site needs a broker. With --json it prints "sites", "prices" and "deployments", each with
    "application_servers", "database_servers", "site_usd", "times_pbm", "equipped_sites" and "enterprise_usd".
    """
    _check_options(context, what)
    if what == "costs":
        given = {"table": table, "url": url}
        servers = ServerPrices(application_server_usd, database_server_usd)
        return show_costs(given, sites, brokers, servers, as_json=as_json)
    if what == "placement":
        require("placement", *ARRAYS, field="plan", value=what)
        from causeway.cli.plan_placement import plan_items

        bounds = (threshold, topics_max, not no_mirrors)
        return plan_items(table, url, bounds, seed=seed, move_cost=move_cost, as_json=as_json)
    if present is not None and url is not None:
        raise ConfigError("present", str(present), "and --url both give the present split; give one")
    if table is None:
        raise ConfigError("table", table, "give a table of who talks to whom; - for stdin")
    traffic = read_traffic(read_text("table", table))
    prices = Prices(cell_cost, hop_cost)
    seats = _present(present, url)
    if seats is not None:
        _check_known(traffic.units, seats, seated=traffic.seated)
    with _progress(quiet=as_json) as told:
        found = propose(traffic.units, traffic.rates, prices=prices, present=seats, size_max=domain_size_max, told=told)
    _tell(found, out, as_json=as_json)
    return EXIT_OK


def _tell(found: Proposal, out: Path | None, *, as_json: bool) -> None:
    if out is not None:
        _write(out, written_seats(found.seats))
    if as_json:
        print_json(found)
    else:
        _show(found, out)


def _check_options(context: typer.Context, what: str) -> None:
    """No option of one plan is silently ignored by another."""
    if what not in OPTIONS:
        raise ConfigError("plan", what, f"must be {' or '.join(map(repr, OPTIONS))}")
    for other, options in OPTIONS.items():
        for option in options if other != what else ():
            source = context.get_parameter_source(option)
            if source is not None and source.name == "COMMANDLINE":
                flag = option.replace("_", "-")
                raise ConfigError(flag, context.params[option], f"is for 'plan {other}'; leave it out")


# What comes in ------------------------------------------------------------------------------------------------------
def _present(present: Path | None, url: str | None) -> Layout | None:
    if present is not None:
        return read_seats("present", read_text("present", str(present)))
    if url is None:
        return None
    found = latest(asyncio.run(reports_of(parse_url(url))))
    if not found.domains:
        raise ConfigError("url", url, "its brokers are in no domain; leave --url out, or give --present FILE")
    return seats_of({line.name: line.seats for line in found.domains})


def _check_known(units: tuple[str, ...], seats: Layout, *, seated: bool) -> None:
    for unit in units:
        if unit not in seats:
            what = "seat" if seated else "application"
            remedy = f"this {what} of the table is in no domain of the present split; give its domains there" + (
                "" if seated else ", or say in columns from_seat and to_seat which seats applications have"
            )
            raise ConfigError("present", unit, remedy)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """A bar for people, if it takes long."""
    if quiet:
        yield None
        return
    began = time.monotonic()
    columns = (TextColumn("looking for a better split"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    progress = Progress(*columns, console=notices(), transient=True)
    task = progress.add_task("", total=1.0)

    def told(done: float) -> None:
        if not progress.live.is_started:
            if time.monotonic() - began < QUIET_SECONDS:
                return
            progress.start()
        progress.update(task, completed=done)

    try:
        yield told
    finally:
        if progress.live.is_started:  # stopping what never began prints an empty line
            progress.stop()


# What goes out ------------------------------------------------------------------------------------------------------
def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise ConfigError("out", str(path), f"{error.strerror}; give a file that you may write") from error


def _show(found: Proposal, written: Path | None) -> None:
    out = console()
    out.print(_table(found))
    if len(found.domains) > SHOWN_DOMAINS_MAX:
        out.print(f"{len(found.domains) - SHOWN_DOMAINS_MAX} more, all of them with --json or --out FILE")
    for line in verdict(found):
        out.print(escape(line), soft_wrap=True)
    if written is not None:
        out.print(
            f"written to {escape(str(written))}; 'causeway up --seats {escape(str(written))}' starts such brokers"
        )


def verdict(found: Proposal) -> list[str]:
    """What was found, in words."""
    lines: list[str] = []
    if found.present_fault:
        lines.append(f"the present split is not possible: {found.present_fault}")
    each = f" ({_number(found.cost / found.rate)} per message)" if found.rate else ""
    if not found.changed:
        lines.append(f"cost now {_number(found.cost)}{each}; nothing cheaper was found: keep the present split")
        return lines
    if found.present_cost is None:
        lines.append(f"cost {_number(found.cost)}{each}")
    elif found.cost > 0:
        times = found.present_cost / found.cost
        lines.append(
            f"cost now {_number(found.present_cost)}, then {_number(found.cost)}{each}: {times:.1f} times less"
        )
    else:
        lines.append(f"cost now {_number(found.present_cost)}, then nothing")
    return lines


def _table(found: Proposal) -> Table:
    title = "proposed domains" if found.changed else "present domains"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("domain", no_wrap=True)
    for column in ("seats", "messages/s", "cost"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("routers")
    table.add_column("other seats")
    for line in found.domains[:SHOWN_DOMAINS_MAX]:
        name, routers, others = domain_row(line.name, line.members, line.routers)
        numbers = (str(len(line.members)), _number(line.rate), _number(line.cost))
        table.add_row(name, *numbers, routers, others)
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
