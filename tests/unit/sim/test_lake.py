from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from causeway.errors import ConfigError
from causeway.sim.faults import Options, options_calm
from causeway.sim.run import SimRun
from causeway.sim.verdict import SimVerdict
from causeway.trace import Step
from causeway.types import SECOND
from tests.unit.lake.lakes import rows_of


def small(**options: Any) -> Options:
    known: dict[str, Any] = {"brokers": 3, "clients": 2, "safety": SECOND, "patience": 20 * SECOND}
    return options_calm(1, **{**known, "workloads": ["transactional", "topics"], **options})


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SimVerdict]:
    lake = tmp_path_factory.mktemp("lake")
    return lake, SimRun(small(), lake=lake).run()


def files_of(lake: Path) -> dict[Path, bytes]:
    return {path.relative_to(lake): path.read_bytes() for path in lake.rglob("*.parquet")}


def test_same_run_writes_the_same_lake(ran: tuple[Path, SimVerdict], tmp_path: Path) -> None:
    lake, verdict = ran
    assert SimRun(small(), lake=tmp_path).run() == verdict
    assert files_of(tmp_path) == files_of(lake) != {}


def test_lake_changes_nothing_in_a_run(ran: tuple[Path, SimVerdict]) -> None:
    assert SimRun(small()).run() == ran[1]
    assert ran[1].ok


def test_lake_has_what_the_checkers_saw(ran: tuple[Path, SimVerdict]) -> None:
    counts: Counter[Step] = Counter()
    for row in rows_of(ran[0]):
        if row["role"] == "application" and row["step"] < Step.BROKER_FAILED:
            counts[Step(row["step"])] += row["last"] - row["first"] + 1
    seen = ran[1].observations
    assert counts[Step.SENT] == seen["sent"]
    assert counts[Step.ACKNOWLEDGED] == seen["acknowledged"]
    assert counts[Step.RECEIVED] == seen["delivered"]
    assert counts[Step.SETTLED] == seen["settled"]


def test_lives_that_crash_are_whole_and_told_apart(tmp_path: Path) -> None:
    options = small(workloads=["recoverable"], safety=3 * SECOND, client_crashes=240.0, crashes=60.0)
    assert SimRun(options, lake=tmp_path).run().ok
    lives: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for row in rows_of(tmp_path):
        lives.setdefault((row["writer"], row["life"]), []).append((row["sequence"], row["step"]))
    assert len(lives) > len({writer for writer, _ in lives})
    for events in lives.values():
        assert [sequence for sequence, _ in events] == list(range(1, len(events) + 1))
        assert [step for _, step in events].index(Step.ENDED) == len(events) - 1


def test_folder_with_a_lake_is_refused(tmp_path: Path) -> None:
    (tmp_path / "day=1970-01-01").mkdir()
    with pytest.raises(ConfigError, match="empty folder"):
        SimRun(small(), lake=tmp_path)
