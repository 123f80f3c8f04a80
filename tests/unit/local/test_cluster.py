"""What the manager refuses and writes down, without starting a broker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from causeway.errors import ConfigError
from causeway.local import runfile
from causeway.local.cluster import ProcessCluster
from causeway.local.pids import identify
from causeway.local.plan import plan
from causeway.local.runfile import BrokerEntry, RunFile


def test_unknown_broker_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"broker='z'.*broker-1, broker-2"):
        ProcessCluster(tmp_path, plan(None)).entry("z")


async def test_broker_that_runs_is_not_started_again(tmp_path: Path) -> None:
    run = RunFile([BrokerEntry("a", port=1, process=identify(os.getpid()))])
    with pytest.raises(ConfigError, match="is running"):
        await ProcessCluster(tmp_path, run).restart("a")


async def test_broker_leaves_only_if_it_runs_and_another_can_take_over(tmp_path: Path) -> None:
    run = RunFile([BrokerEntry("a", port=1, process=identify(os.getpid())), BrokerEntry("b", port=2)])
    cluster = ProcessCluster(tmp_path, run)
    with pytest.raises(ConfigError, match=r"broker='b': is not running.*causeway up"):
        await cluster.leave("b")
    with pytest.raises(ConfigError, match=r"broker='a': nobody else runs.*causeway down"):
        await cluster.leave("a")
    assert cluster.names == ["a", "b"]


async def test_broker_that_left_by_another_command_is_not_written_down_again(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, RunFile([BrokerEntry("a", port=1), BrokerEntry("b", port=2)]))
    runfile.save(tmp_path, RunFile([BrokerEntry("a", port=1)], left=["b"]))
    await cluster.stop()
    run = runfile.load(tmp_path)
    assert run is not None
    assert ([entry.name for entry in run.brokers], run.left) == (["a"], ["b"])
    assert cluster.names == ["a"]
