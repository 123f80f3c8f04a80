"""No finding and no doubt in lakes of simulated runs with crashes, restarts, partitions, skew and redelivery, which the
simulator's own checkers found right. CAUSEWAY_LAKES says how many."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from causeway.pipeline.audit.doubts import DAMAGED, SILENT
from causeway.sim.faults import Options, options_swarm
from causeway.sim.run import SimRun
from causeway.types import SECOND
from tests.pipeline.fault_lake import Segments
from tests.pipeline.test_audit_faults import Verdict

LAKES = int(os.environ.get("CAUSEWAY_LAKES", "8"))
ALLOWED = ("clean", "clean with fewer copies")


def options(seed: int) -> Options:
    """As the swarm draws them, of a few seconds."""
    drawn = options_swarm(seed)
    few = {"safety": min(drawn.safety, 3 * SECOND), "clients": min(drawn.clients, 2), "rate": min(drawn.rate, 15.0)}
    return msgspec.structs.replace(drawn, **few)


def segments_in(lake: Path) -> Segments:
    found: Segments = {}
    for path in lake.glob("day=*/domain=*/kind=events/*.parquet"):
        domain = path.parts[-3].removeprefix("domain=")
        rows = pq.read_table(path, partitioning=None).to_pylist()
        found[path.name] = [row | {"domain": domain} for row in rows]
    return found


@pytest.mark.parametrize("seed", range(1, 1 + LAKES))
def test_lake_of_a_run_that_was_right_has_no_finding(seed: int, tmp_path: Path) -> None:
    assert SimRun(options(seed), lake=tmp_path).run().ok
    verdict = Verdict(segments_in(tmp_path))
    assert verdict.findings == []
    # A disk that rots is told by its broker; an application that was handed something and took nothing writes nothing.
    assert {one.doubt for one in verdict.doubts} <= {DAMAGED, SILENT}
    assert verdict.word in ALLOWED or verdict.doubts
