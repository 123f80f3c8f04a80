"""PBM's Table 2: what the servers of a site cost, and those of an enterprise, for any prices.

Owns: the paper's deployments and prices, and the arithmetic. Must not know: what anything is used for.
"""

from __future__ import annotations

from typing import Final

import msgspec


class ServerPrices(msgspec.Struct, frozen=True):
    """USD; the paper's, unless said otherwise."""

    application_server: float = 2000
    database_server: float = 3500


PAPER_PRICES: Final = ServerPrices()
PAPER_SITES: Final = 1000
"""Of the paper's example: the sales centres of an enterprise over a country (section 4.6)."""


class Deployment(msgspec.Struct, frozen=True):
    """What is bought for a site."""

    name: str
    application_servers: int
    database_servers: int
    everywhere: bool = True
    """Every site needs it; with PBM applications use the brokers of other sites."""


DEPLOYMENTS: Final = (
    Deployment("PBM", 1, 0, everywhere=False),
    Deployment("MSMQ with clustering", 2, 2),
    Deployment("MSMQ without clustering", 1, 0),
)


class DeploymentCost(msgspec.Struct, frozen=True):
    """One line of Table 2, and what an enterprise pays."""

    deployment: str
    application_servers: int
    database_servers: int
    site_usd: float
    times_pbm: float | None
    """Per site; None when a broker of PBM costs nothing."""
    equipped_sites: int
    enterprise_usd: float


def site_cost_usd(deployment: Deployment, prices: ServerPrices = PAPER_PRICES) -> float:
    """Per site that has one."""
    servers = deployment.application_servers * prices.application_server
    return servers + deployment.database_servers * prices.database_server


def deployment_costs(
    sites: int = PAPER_SITES, brokers: int | None = None, prices: ServerPrices = PAPER_PRICES
) -> tuple[DeploymentCost, ...]:
    """Of each deployment; `brokers` is how many sites have one with PBM, all of them unless said otherwise."""
    pbm = site_cost_usd(DEPLOYMENTS[0], prices)
    found = []
    for one in DEPLOYMENTS:
        each = site_cost_usd(one, prices)
        equipped = sites if one.everywhere or brokers is None else brokers
        times = each / pbm if pbm else None
        servers = (one.application_servers, one.database_servers)
        found.append(DeploymentCost(one.name, *servers, each, times, equipped, equipped * each))
    return tuple(found)
