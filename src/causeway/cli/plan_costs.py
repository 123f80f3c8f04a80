"""`causeway plan costs`: what servers for brokers cost beside those of MSMQ, by Table 2 of PBM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from causeway.cli.output import EXIT_OK, console, print_json
from causeway.errors import ConfigError
from causeway.evaluate.site_costs import DeploymentCost, ServerPrices, deployment_costs

Sites = Annotated[int, typer.Option(help="costs: number of sites of the enterprise.")]
Brokers = Annotated[
    int | None, typer.Option(help="costs: number of sites with a broker, which the others use. Default: all.")
]
ApplicationServerUsd = Annotated[float, typer.Option(help="costs: price of a server for a broker.")]
DatabaseServerUsd = Annotated[
    float, typer.Option(help="costs: price of a server for the database that a cluster of MSMQ shares.")
]


def show_costs(
    given: dict[str, str | None], sites: int, brokers: int | None, prices: ServerPrices, *, as_json: bool
) -> int:
    """Check, compute, print. `given` are the inputs of other plans, which this one does not read."""
    for field, value in given.items():
        if value is not None:
            raise ConfigError(field, value, "'plan costs' reads nothing; leave it out, and give --sites and prices")
    if sites < 1:
        raise ConfigError("sites", sites, "must be 1 or more")
    if brokers is not None and not 1 <= brokers <= sites:
        raise ConfigError("brokers", brokers, f"must lie in 1..{sites}, the number of --sites; or leave it out")
    for field, price in (
        ("application-server-usd", prices.application_server),
        ("database-server-usd", prices.database_server),
    ):
        if not (math.isfinite(price) and price >= 0):
            raise ConfigError(field, price, "must be a price in USD, 0 or more")
    found = deployment_costs(sites, brokers, prices)
    if as_json:
        print_json({"sites": sites, "prices": prices, "deployments": found})
        return EXIT_OK
    console().print(_table(found))
    console().print(verdict(found, sites), soft_wrap=True, markup=False)
    return EXIT_OK


def verdict(found: Sequence[DeploymentCost], sites: int) -> str:
    """What was found, in words."""
    pbm, clustered = found[:2]
    where = "at every site" if pbm.equipped_sites == sites else f"at {pbm.equipped_sites:,} of them"
    if pbm.enterprise_usd:
        beside = f", {clustered.enterprise_usd / pbm.enterprise_usd:.3g} times that"
    else:
        beside = ", more" if clustered.enterprise_usd else ", too"
    return (
        f"{sites:,} sites, a broker {where}: {pbm.enterprise_usd:,.0f} USD; MSMQ with clustering "
        f"{clustered.enterprise_usd:,.0f} USD{beside}. Servers only: nobody's work is in it"
    )


def _table(found: Sequence[DeploymentCost]) -> Table:
    table = Table(title="cost of servers, USD", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("deployment", no_wrap=True)
    for column in ("servers", "a site", "times PBM", "sites", "all of them"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in found:
        servers = f"{one.application_servers}" + (f" + {one.database_servers} db" if one.database_servers else "")
        times = "-" if one.times_pbm is None else f"{one.times_pbm:.3g}"
        totals = (f"{one.site_usd:,.0f}", times, f"{one.equipped_sites:,}", f"{one.enterprise_usd:,.0f}")
        table.add_row(one.deployment, servers, *totals)
    return table
