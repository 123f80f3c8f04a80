"""Addresses are parsed, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.cli.options import parse_address, resolve_url
from causeway.errors import ConfigError
from causeway.local import runfile
from causeway.local.runfile import BrokerEntry, RunFile


@pytest.mark.parametrize("text", ["a", ":1", "a:", "a:0", "a:65536", "a:-1", "a:one"])
def test_bad_address_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError, match="seed="):
        parse_address("seed", text)


def test_given_url_wins_over_the_local_cluster(tmp_path: Path) -> None:
    assert resolve_url("causeway://elsewhere:1", tmp_path) == "causeway://elsewhere:1"


def test_url_of_the_local_cluster_is_found_in_its_data(tmp_path: Path) -> None:
    runfile.save(tmp_path, RunFile([BrokerEntry("a", port=7450)]))
    assert resolve_url(None, tmp_path) == "causeway://127.0.0.1:7450"


def test_cluster_that_never_had_a_port_says_how_to_start_it(tmp_path: Path) -> None:
    runfile.save(tmp_path, RunFile([BrokerEntry("a")]))
    with pytest.raises(ConfigError, match="causeway up"):
        resolve_url(None, tmp_path)
