"""What is started with which arguments, without starting it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from causeway.cli import runfile
from causeway.cli.cluster import ProcessCluster, plan
from causeway.cli.runfile import BrokerEntry, RunFile
from causeway.errors import ConfigError


def _plan(data: Path, *, brokers: int | None = None, durability: str | None = None, port: int = 0) -> RunFile:
    return plan(data, brokers=brokers, durability=durability, copies=None, port=port)


def test_new_cluster_has_three_brokers_on_disk_unless_told(tmp_path: Path) -> None:
    run = _plan(tmp_path)
    assert [entry.name for entry in run.brokers] == ["broker-1", "broker-2", "broker-3"]
    assert (run.durability, run.copies, run.formed) == ("disk", 3, False)


def test_ports_follow_the_first(tmp_path: Path) -> None:
    assert [entry.port for entry in _plan(tmp_path, port=7400).brokers] == [7400, 7401, 7402]


def test_cluster_in_the_data_directory_is_resumed_on_its_ports(tmp_path: Path) -> None:
    runfile.save(tmp_path, RunFile([BrokerEntry("x", port=9), BrokerEntry("y", port=5)], copies=2, formed=True))
    run = _plan(tmp_path, port=7400)
    assert [(entry.name, entry.port) for entry in run.brokers] == [("x", 9), ("y", 5)]
    assert (run.copies, run.formed) == (2, True)


def test_cluster_in_the_data_directory_grows_when_asked(tmp_path: Path) -> None:
    runfile.save(tmp_path, RunFile([BrokerEntry("broker-1", port=7400)], formed=True))
    run = _plan(tmp_path, brokers=2, port=7400)
    assert [(entry.name, entry.port) for entry in run.brokers] == [("broker-1", 7400), ("broker-2", 7401)]


def test_cluster_in_the_data_directory_does_not_shrink_by_accident(tmp_path: Path) -> None:
    runfile.save(tmp_path, RunFile([BrokerEntry("a"), BrokerEntry("b")]))
    with pytest.raises(ConfigError, match=r"brokers=1.*has 2"):
        _plan(tmp_path, brokers=1)


def test_durability_of_a_cluster_is_not_changed_by_accident(tmp_path: Path) -> None:
    runfile.save(tmp_path, RunFile([BrokerEntry("a")]))
    with pytest.raises(ConfigError, match=r"durability='memory'.*has disk"):
        _plan(tmp_path, durability="memory")


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"brokers": 0}, "brokers=0"),
        ({"brokers": 65}, "brokers=65"),
        ({"durability": "tape"}, "durability='tape'"),
        ({"port": -1}, "port=-1"),
        ({"port": 65534}, "port=65534"),
    ],
)
def test_bad_wishes_are_refused_by_name(tmp_path: Path, wanted: dict[str, int], field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        _plan(tmp_path, **wanted)  # type: ignore[arg-type]


def test_only_the_first_broker_of_a_cluster_never_formed_is_a_founder(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, _plan(tmp_path, port=7400))
    assert [_founds(cluster, name) for name in cluster.names] == [True, False, False]
    cluster.run.formed = True
    assert [_founds(cluster, name) for name in cluster.names] == [False, False, False]


def test_broker_joins_through_every_other_known_address(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, _plan(tmp_path, port=7400))
    arguments = cluster._arguments(cluster.entry("broker-2"))
    seeds = [after for before, after in pairwise(arguments) if before == "--seed"]
    assert seeds == ["127.0.0.1:7400", "127.0.0.1:7402"]


def test_brokers_in_memory_get_no_data_directory(tmp_path: Path) -> None:
    for durability, expected in (("disk", True), ("memory", False)):
        run = RunFile([BrokerEntry("a")], durability)
        cluster = ProcessCluster(tmp_path, run)
        assert ("--data" in cluster._arguments(cluster.entry("a"))) is expected


def test_unknown_broker_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"broker='z'.*broker-1, broker-2"):
        ProcessCluster(tmp_path, _plan(tmp_path)).entry("z")


def _founds(cluster: ProcessCluster, name: str) -> bool:
    return "--founder" in cluster._arguments(cluster.entry(name))
