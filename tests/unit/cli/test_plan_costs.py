"""`causeway plan costs`: the paper's table, one's own prices, and what is said about mistakes."""

from __future__ import annotations

import json

import pytest

from causeway.cli.main import main


def test_paper_prices_give_the_paper_s_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "costs"]) == 0
    out = capsys.readouterr().out
    for said in ("11,000", "5.5", "MSMQ without clustering", "1,000 sites, a broker at every site: 2,000,000 USD"):
        assert said in out


def test_own_prices_and_sites_without_a_broker(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--sites", "400", "--brokers", "100", "--application-server-usd", "3000", "--database-server-usd", "5000"]
    assert main(["plan", "costs", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["prices"] == {"application_server": 3000.0, "database_server": 5000.0}
    pbm, clustered, _ = found["deployments"]
    assert (pbm["equipped_sites"], pbm["enterprise_usd"], clustered["enterprise_usd"]) == (100, 300_000, 6_400_000)
    assert main(["plan", "costs", *words]) == 0
    assert "a broker at 100 of them" in capsys.readouterr().out


def test_servers_for_nothing_are_no_division(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "costs", "--application-server-usd", "0"]) == 0
    assert "0 USD; MSMQ with clustering 7,000,000 USD, more." in capsys.readouterr().out
    assert main(["plan", "costs", "--application-server-usd", "0", "--database-server-usd", "0"]) == 0
    assert "0 USD; MSMQ with clustering 0 USD, too." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sites", "0"], "sites=0: must be 1 or more"),
        (["--sites", "9", "--brokers", "10"], "brokers=10: must lie in 1..9"),
        (["--database-server-usd", "-1"], "database-server-usd=-1.0: must be a price in USD"),
        (["--application-server-usd", "nan"], "application-server-usd=nan"),
        (["traffic.csv"], "table='traffic.csv': 'plan costs' reads nothing"),
        (["--url", "causeway://h:1"], "url='causeway://h:1': 'plan costs' reads nothing"),
        (["--seed", "3"], "seed=3: is for 'plan placement'"),
    ],
)
def test_mistakes_are_one_line_with_a_remedy(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["plan", "costs", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
