"""Table 2 of PBM, with the paper's prices and with others."""

from __future__ import annotations

import pytest

from causeway.evaluate.site_costs import ServerPrices, deployment_costs


def test_table_2() -> None:
    costs = {cost.deployment: (cost.site_usd, cost.times_pbm) for cost in deployment_costs()}
    assert costs == {
        "PBM": (2000, 1),
        "MSMQ with clustering": (11_000, 5.5),
        "MSMQ without clustering": (2000, 1),
    }


def test_only_pbm_can_leave_sites_without_a_broker() -> None:
    pbm, clustered, single = deployment_costs(400, 100, ServerPrices(3000, 5000))
    assert (pbm.equipped_sites, pbm.enterprise_usd) == (100, 300_000)
    assert (clustered.equipped_sites, clustered.enterprise_usd) == (400, 400 * 16_000)
    assert single.enterprise_usd == 4 * pbm.enterprise_usd
    assert clustered.times_pbm == pytest.approx(16 / 3)


def test_servers_for_nothing_compare_with_nothing() -> None:
    assert {cost.times_pbm for cost in deployment_costs(prices=ServerPrices(0, 0))} == {None}
