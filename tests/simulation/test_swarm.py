"""Smoke seeds of the swarm, the seeds that once caught something, and that a seed means the same every time.

CAUSEWAY_SEEDS=N runs N seeds instead of the few that `make test` has time for; `make soak` runs hundreds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from causeway.sim.faults import Options, options_swarm
from causeway.sim.run import SimRun

SEEDS = int(os.environ.get("CAUSEWAY_SEEDS", "20"))
REGRESSIONS = tomllib.loads((Path(__file__).parent / "regressions.toml").read_text())["regression"]
SMOKE_SECONDS = 6.0
"""Faults last so long in smoke runs; soak draws more."""


@pytest.mark.parametrize("seed", range(1000, 1000 + SEEDS))
def test_swarm_finds_nothing(seed: int) -> None:
    verdict = SimRun(options_swarm(seed, seconds=SMOKE_SECONDS)).run()
    assert verdict.ok, verdict.failure_line()
    assert verdict.observations["delivered"] > 0


@pytest.mark.parametrize("regression", REGRESSIONS, ids=lambda regression: f"seed-{regression['options']['seed']}")
def test_run_that_once_failed_does_not_any_more(regression: dict[str, object]) -> None:
    verdict = SimRun(msgspec.convert(regression["options"], Options)).run()
    assert verdict.ok, f"{regression['caught']}: {verdict.failure_line()}"


def digest(seed: int, hash_seed: str) -> str:
    code = (
        "from causeway.sim.faults import options_swarm\n"
        "from causeway.sim.run import SimRun\n"
        f"print(SimRun(options_swarm({seed}, seconds=3.0)).run().digest)\n"
    )
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_same_seed_gives_the_same_digest_under_another_hash_seed_and_another_seed_does_not() -> None:
    first = digest(1003, "1")
    assert len(first) == 64
    assert digest(1003, "2") == first
    assert digest(1004, "1") != first
