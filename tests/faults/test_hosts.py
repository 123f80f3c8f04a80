"""Nobody serves a network by accident: the program that may is for hosts of a campaign alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from faults import hosts
from faults.__main__ import EXIT_SKIPPED, main
from tests.tidy.tree import ROOT


@pytest.mark.parametrize("told", [False, True], ids=["unasked", "with the variable of a campaign"])
def test_a_broker_that_serves_networks_does_not_run_here(told: bool) -> None:
    environ = {name: value for name, value in os.environ.items() if name != hosts._INSIDE}
    environ |= {hosts._INSIDE: "1"} if told else {}
    line = [sys.executable, "-m", "faults.broker", "broker", "--name", "a", "--host", "10.77.0.1", "--founder"]
    done = subprocess.run(line, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "only on a host that a campaign made" in done.stderr


def test_overlapping_cuts_hold_until_the_last_is_lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    world = hosts.Hosts()
    monkeypatch.setattr(hosts, "_batch", lambda _host, _lines: None)
    world.add(["a", "b"])
    pair = ("a", "b")

    def lead(*roads: hosts.Road) -> str:
        world._roads[pair] = list(roads)
        return world._line(*pair).split()[4]

    assert lead() == world.mac("b")
    assert lead(hosts.Road.SLOW) == hosts.SLOWLY
    assert lead(hosts.Road.SLOW, hosts.Road.CUT) == hosts.NOWHERE
    assert lead(hosts.Road.CUT) == hosts.NOWHERE


def test_who_may_not_make_hosts_is_told_why_and_that_nothing_was_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["calm"]) == EXIT_SKIPPED
    assert "skipped: only root" in capsys.readouterr().err


def test_an_unknown_phase_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calm", "no-such-phase"]) == 2
    assert "no-such-phase" in capsys.readouterr().err
