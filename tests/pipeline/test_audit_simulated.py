"""No finding and no doubt in lakes of simulated runs with crashes, restarts, partitions, skew and redelivery, which the
simulator's own checkers found right. CAUSEWAY_LAKES says how many; a few more have seeds that nobody has run before."""

from __future__ import annotations

import os
import secrets
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
SEEDS = sorted({*range(1, 1 + LAKES), 49})
"""In 49 an only broker dies while it stores a message, and knows it again in its next life."""
FRESH = 3
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


@pytest.mark.parametrize("seed", SEEDS)
def test_lake_of_a_run_that_was_right_has_no_finding(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


def test_lakes_of_seeds_that_nobody_has_run_have_no_finding(tmp_path: Path) -> None:
    for number in range(FRESH):
        check(secrets.randbits(31), tmp_path / str(number))


def check(seed: int, lake: Path) -> None:
    lake.mkdir(exist_ok=True)
    assert SimRun(options(seed), lake=lake).run().ok, seed
    verdict = Verdict(segments_in(lake))
    assert verdict.findings == [], seed
    # A disk that rots is told by its broker; an application that was handed something and took nothing writes nothing.
    assert {one.doubt for one in verdict.doubts} <= {DAMAGED, SILENT}, seed
    assert verdict.word in ALLOWED or verdict.doubts, seed
