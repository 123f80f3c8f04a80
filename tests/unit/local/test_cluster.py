"""What the manager refuses and writes down, without starting a broker."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.errors import ConfigError, DeadlineExceeded, TransportError
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


@pytest.mark.parametrize(("code", "said"), [(75, "stopped before it had handed over"), (70, "exit code 70")])
async def test_broker_that_ends_without_handing_over_stays_part_of_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str
) -> None:
    program = (
        "import os, signal; "
        f"signal.signal(signal.SIGUSR1, lambda *_: os._exit({code})); print(flush=True); signal.pause()"
    )
    here = identify(os.getpid())
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        run = RunFile([BrokerEntry("a", port=1, process=identify(child.pid)), BrokerEntry("b", port=2, process=here)])
        cluster = ProcessCluster(tmp_path, run)
        cluster._children["a"] = child

        async def status(name: str, *, whole: bool = True) -> dict[str, object]:
            return {"broker": name, "groups": []}

        monkeypatch.setattr(cluster, "status", status)
        with pytest.raises(DeadlineExceeded, match=rf"{said}.*'causeway up' starts it again"):
            await cluster.leave("a")
    assert cluster.names == ["a", "b"]
    assert run.left == []


async def test_broker_that_left_by_another_command_is_not_written_down_again(tmp_path: Path) -> None:
    cluster = ProcessCluster(tmp_path, RunFile([BrokerEntry("a", port=1), BrokerEntry("b", port=2)]))
    runfile.save(tmp_path, RunFile([BrokerEntry("a", port=1)], left=["b"]))
    await cluster.stop()
    run = runfile.load(tmp_path)
    assert run is not None
    assert ([entry.name for entry in run.brokers], run.left) == (["a"], ["b"])
    assert cluster.names == ["a"]


async def test_broker_that_ends_while_the_cluster_starts_is_named_at_once_whoever_started_it(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        process = identify(stranger.pid)
    cluster = ProcessCluster(tmp_path, RunFile([BrokerEntry("a", port=1, process=process)]))
    cluster.log("a").parent.mkdir()
    cluster.log("a").write_text("first\nthe disk is on fire\n")
    with pytest.raises(TransportError, match=r"a: ended; mend what its log says.*a\.log.*the disk is on fire"):
        await cluster.wait_active(0.5)


def test_port_in_use_is_found_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        run = RunFile([BrokerEntry("a", port=busy.getsockname()[1]), BrokerEntry("b")])
        with pytest.raises(ConfigError, match=r"port=\d+: is in use by another program"):
            ProcessCluster(tmp_path, run).check_ports()
    ProcessCluster(tmp_path, run).check_ports()
    assert list(tmp_path.iterdir()) == []


async def test_what_launches_brokers_makes_their_command_line(tmp_path: Path) -> None:
    seen: list[str] = []

    def launch(entry: BrokerEntry, line: list[str]) -> list[str]:
        seen.extend([entry.name, *line])
        return [sys.executable, "-c", "raise SystemExit(3)"]

    with pytest.raises(TransportError, match="exit code 3"):
        await ProcessCluster(tmp_path, plan(None, brokers=1), launch).start(seconds_max=20)
    assert seen[0] == "broker-1"
    assert "broker" in seen
