from __future__ import annotations

from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.sim.verdict import Ending, commit
from causeway.types import SECOND


def test_endings_have_distinct_exit_codes() -> None:
    assert [int(ending) for ending in (Ending.OK, Ending.WRONG, Ending.STUCK, Ending.CRASH)] == [0, 3, 4, 5]


def test_failure_line_names_seed_and_commit() -> None:
    run = SimRun(options_calm(4, brokers=1, clients=2, safety=SECOND // 10, patience=0, workloads=["recoverable"]))
    verdict = run.run()
    assert not verdict.ok
    assert verdict.failure_line().startswith(f"seed=4 commit={commit()} stuck: ")
