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
    assert soak.main(["--first", "0", "--seeds", "2", "--jobs", "1"]) == 0
    assert soak.main(["--first", "0", "--seeds", "3", "--jobs", "1"]) == 4
    shown = capsys.readouterr().out
    assert "failing seeds: 2" in shown
    assert "seed=2 commit=" in shown


def test_seeds_are_drawn_anew_and_printed_so_that_they_can_be_run_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[int] = []

    def run(seed: int) -> SimVerdict:
        ran.append(seed)
        return verdict_of(1)

    monkeypatch.setattr(soak, "run_seed", run)
    for _ in range(2):
        assert soak.main(["--seeds", "1", "--jobs", "1"]) == 0
    assert ran[0] != ran[1]
    shown = capsys.readouterr().out
    assert all(f"--first {seed} --seeds 1" in shown for seed in ran)


def test_no_seed_begins_after_the_time_given(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []

    def run(seed: int) -> SimVerdict:
        ran.append(seed)
        return verdict_of(1)

    monkeypatch.setattr(soak, "run_seed", run)
    assert soak.main(["--seeds", "50", "--jobs", "1", "--seconds", "0"]) == 0
    assert len(ran) == 1


def test_seed_that_computes_for_too_long_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(self: SimRun) -> None:
        while True:
            pass

    monkeypatch.setattr(SimRun, "_setup", endless)
    verdict = soak.run_seed(1, seconds_max=1)
    assert verdict.ending == "crash"
    assert "computed for more than 1 s" in verdict.evidence
