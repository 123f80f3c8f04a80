"""The group protocol on its own, without overlay and mail: many seeds cost little, and a failure is easy to read."""

from __future__ import annotations

import msgspec
import pytest

from causeway.sim.faults import Options, options_swarm
from causeway.sim.journal import Journal
from tests.simulation.group_run import GroupRun

REGRESSIONS = {
    69: "an owner that had promised itself never proposed again after its attempt failed",
    73: "an owner took over without a rotten row that a member still had",
    89: "a chosen owner that missed the one Chosen was never told",
    178: "a delayed Prepare of the birth epoch revived a group at a broker that had left it",
    208: "a rotten row at the owner was dropped from all copies while the good copy was silent",
}


def options(seed: int) -> Options:
    drawn = options_swarm(seed)
    return msgspec.structs.replace(drawn, leaves=0.0, window_bytes=1 << 30)


@pytest.mark.parametrize("seed", [*REGRESSIONS, *range(2000, 2010)])
def test_groups_lose_nothing_and_become_whole(seed: int) -> None:
    run = GroupRun(options(seed), 3, Journal())
    reason = run.run()
    assert reason is None, f"{REGRESSIONS.get(seed, '')} seed={seed}: {reason}"
    assert run.book.takeovers >= 3
    assert sum(map(len, run.book.committed.values())) > 100
