"""The group protocol on its own, without overlay and mail: many seeds cost little, and a failure is easy to read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from causeway.sim.faults import Options, options_swarm
from causeway.sim.run_log import RunLog
from tests.simulation.group_run import GroupRun

REGRESSIONS = tomllib.loads((Path(__file__).parent / "group_regressions.toml").read_text())["regression"]
WHOLE = 1 << 30
"""Everything in one page: this test's register does not page."""


def check(options: Options) -> None:
    run = GroupRun(msgspec.structs.replace(options, leaves=0.0, window_bytes=WHOLE, page_rows=WHOLE), 3, RunLog())
    reason = run.run()
    assert reason is None, f"seed={options.seed}: {reason}"
    assert run.book.takeovers >= 3
    assert sum(map(len, run.book.committed.values())) > 100


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_groups_lose_nothing_and_become_whole(seed: int) -> None:
    check(options_swarm(seed))


@pytest.mark.parametrize("regression", REGRESSIONS, ids=lambda regression: f"seed-{regression['options']['seed']}")
def test_run_that_once_failed_does_not_any_more(regression: dict[str, Any]) -> None:
    check(msgspec.convert(regression["options"], Options))
