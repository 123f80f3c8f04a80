from __future__ import annotations

import pytest

from causeway.sim import soak
from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.sim.verdict import SimVerdict
from causeway.types import SECOND


def verdict_of(seed: int) -> SimVerdict:
    patience = 0 if seed == 2 else 20 * SECOND
    options = options_calm(
        seed, brokers=1, clients=2, safety=SECOND // 10, patience=patience, workloads=["recoverable"]
    )
    return SimRun(options).run()


def test_soak_names_failing_seeds_and_ends_with_their_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soak, "run_seed", verdict_of)
    assert soak.main(["--seeds", "2", "--jobs", "1"]) == 0
    assert soak.main(["--seeds", "3", "--jobs", "1"]) == 4
    shown = capsys.readouterr().out
    assert "failing seeds: 2" in shown
    assert "seed=2 commit=" in shown


def test_seed_that_computes_for_too_long_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(self: SimRun) -> None:
        while True:
            pass

    monkeypatch.setattr(SimRun, "_setup", endless)
    verdict = soak.run_seed(1, seconds_max=1)
    assert verdict.ending == "crash"
    assert "computed for more than 1 s" in verdict.evidence
