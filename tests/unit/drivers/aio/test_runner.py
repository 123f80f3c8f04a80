"""A broker's process as whoever starts it sees it: one line when ready, signals, exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from causeway.config import BrokerConfig
from causeway.drivers.aio.exits import Exit
from causeway.drivers.aio.runner import choose_store, run_broker
from causeway.errors import ConfigError
from causeway.store.disk import DiskStore
from causeway.store.memory import MemoryStore

SECONDS_MAX = 20

PROGRAM = """
import logging, sys
from pathlib import Path
from causeway.config import BrokerConfig
from causeway.core.effects import Effects, Persist
from causeway.core.events import LeaveRequested
from causeway.drivers.aio.runner import run_broker
from causeway.store.base import Put

logging.basicConfig(level="INFO")
mode, data = sys.argv[1:]

class Actor:
    left = False

    def __init__(self, config, me, incarnation, rng):
        self.number = 0

    def handle(self, events, now):
        effects = Effects()
        if mode == "crash" and self.number:
            raise ZeroDivisionError("planted")
        if mode in ("crash", "fill"):
            self.number += 1
            write = Put(b"g" * 16, b"%d" % self.number, self.number, b"x" * 100_000)
            effects.persists.append(Persist([write], token=self.number))
        if mode == "polite" and any(isinstance(event, LeaveRequested) for event in events):
            self.left = True
        return effects

    def next_deadline(self):
        return None

def ready(me):
    print(me.host, me.port, flush=True)

sys.exit(run_broker(BrokerConfig(name="actor"), Path(data), ready=ready, make_node=Actor))
"""


@contextmanager
def started(mode: str, data: Path, limit_bytes: int | None = None) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROGRAM, mode, str(data)]
    if limit_bytes is not None:
        command = ["prlimit", f"--fsize={limit_bytes}", *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ready_port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    host, port = process.stdout.readline().split()
    assert host == "127.0.0.1"
    return int(port)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_broker_at_once_with_zero(number: signal.Signals, tmp_path: Path) -> None:
    with started("stubborn", tmp_path / "data") as process:
        assert ready_port(process) > 0
        process.send_signal(number)
        _, errors = process.communicate(timeout=4)
        assert process.returncode == Exit.OK
        assert f"{number.name}: stopping" in errors


def test_a_hangup_does_not_end_the_broker_and_is_in_its_log(tmp_path: Path) -> None:
    with started("polite", tmp_path / "data") as process:
        ready_port(process)
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        while "SIGHUP" not in (line := process.stderr.readline()):
            assert line, "it ended without a word"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=4)
        assert process.returncode == Exit.OK


def test_sigusr1_lets_the_broker_hand_over_and_leave(tmp_path: Path) -> None:
    with started("polite", tmp_path / "data") as process:
        ready_port(process)
        process.send_signal(signal.SIGUSR1)
        _, errors = process.communicate(timeout=SECONDS_MAX)
        assert process.returncode == Exit.OK
        assert "leaving" in errors


def test_sigterm_ends_a_broker_that_cannot_hand_over(tmp_path: Path) -> None:
    with started("stubborn", tmp_path / "data") as process:
        ready_port(process)
        process.send_signal(signal.SIGUSR1)
        assert process.stderr is not None
        while "leaving" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=4)
        assert process.returncode == Exit.OK


def test_bug_in_the_machine_ends_the_process_with_its_own_code_and_a_traceback(tmp_path: Path) -> None:
    with started("crash", tmp_path / "data") as process:
        _, errors = process.communicate(timeout=SECONDS_MAX)
        assert process.returncode == Exit.CRASH
        assert "ZeroDivisionError: planted" in errors
        assert "Traceback" in errors


@pytest.mark.skipif(not any(Path(path, "prlimit").exists() for path in os.get_exec_path()), reason="needs prlimit")
def test_disk_that_refuses_ends_the_process_with_its_own_code_and_the_remedy(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with started("fill", data, limit_bytes=1_000_000) as process:
        _, errors = process.communicate(timeout=SECONDS_MAX)
        assert process.returncode == Exit.STORE
        assert f"{data}: the disk " in errors


def test_killed_broker_leaves_its_directory_free_for_the_next(tmp_path: Path) -> None:
    for _ in range(2):
        with started("stubborn", tmp_path / "data") as process:
            ready_port(process)
            process.kill()
            process.wait(SECONDS_MAX)


def test_stable_storage_needs_a_directory_and_memory_must_be_asked_for(tmp_path: Path) -> None:
    disk, memory = BrokerConfig(name="a"), BrokerConfig(name="a", durability="memory")
    assert isinstance(choose_store(disk, tmp_path), DiskStore)
    assert isinstance(choose_store(memory, None), MemoryStore)
    assert isinstance(choose_store(memory, tmp_path), MemoryStore)
    with pytest.raises(ConfigError, match="needs a data directory") as caught:
        choose_store(disk, None)
    assert caught.value.field == "data"


def test_wrong_settings_are_refused_before_anything_is_touched(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="copies"):
        run_broker(BrokerConfig(name="a", copies=0), tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_unknown_probe_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no probe has this name"):
        run_broker(BrokerConfig(name="actor", probes="cpu=1, disc=1GiB"), tmp_path / "data")
    assert not (tmp_path / "data").exists()
