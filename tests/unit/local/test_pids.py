"""A process is known by number and start time; nobody else is ever signalled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from causeway.local.pids import identify, is_running, send_signal


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    yield child
    if child.poll() is None:
        child.kill()
    child.wait()


def test_identify_finds_a_living_process() -> None:
    me = identify(os.getpid())
    assert me is not None
    assert me.pid == os.getpid()
    assert me.started > 0
    assert me.boot
    assert is_running(me)


def test_identify_finds_nothing_under_a_number_nobody_has() -> None:
    assert identify(2**22 + 1) is None
    assert not is_running(None)


def test_process_is_not_running_once_it_is_a_zombie(sleeper: subprocess.Popen[bytes]) -> None:
    process = identify(sleeper.pid)
    assert process is not None
    assert is_running(process)
    assert send_signal(process, signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # ended, not reaped: a zombie
    assert not is_running(process)
    assert not send_signal(process, signal.SIGKILL)


def test_signal_is_not_sent_to_a_process_that_got_the_number_later(sleeper: subprocess.Popen[bytes]) -> None:
    process = identify(sleeper.pid)
    assert process is not None
    for stranger in (
        msgspec.structs.replace(process, started=process.started - 1),
        msgspec.structs.replace(process, boot="another boot"),
    ):
        assert not is_running(stranger)
        assert not send_signal(stranger, signal.SIGKILL)
    assert sleeper.poll() is None


def test_signal_to_a_process_that_is_gone_says_so(sleeper: subprocess.Popen[bytes]) -> None:
    process = identify(sleeper.pid)
    assert process is not None
    sleeper.kill()
    sleeper.wait()
    assert not send_signal(process, signal.SIGTERM)
