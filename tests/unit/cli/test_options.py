"""Addresses are parsed, or refused by name."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from causeway.cli.options import parse_address, reach, resolve_url
from causeway.errors import ConfigError, TransportError
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


def test_cluster_that_is_stopped_is_said_to_be_at_once_with_each_address_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        ports = [one.getsockname()[1], two.getsockname()[1]]
        runfile.save(tmp_path, RunFile([BrokerEntry("a", port=ports[0]), BrokerEntry("b", port=ports[1])]))
        two.close()
        assert reach(None, tmp_path) == f"causeway://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}", "one is enough"
    with pytest.raises(TransportError) as caught:
        reach(None, tmp_path)
    places = f"127.0.0.1:{ports[0]}, 127.0.0.1:{ports[1]}"
    assert str(caught.value) == f"nobody listens at {places}; start it with 'causeway up --data {tmp_path}'"
    with pytest.raises(TransportError, match="is the cluster running there"):
        reach(f"causeway://127.0.0.1:{ports[0]}", None)
