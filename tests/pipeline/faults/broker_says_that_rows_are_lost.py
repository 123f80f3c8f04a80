"""A broker records that it has lost rows of which no copy is left."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    stored = lake.one(Step.STORED, dest="orders", first=3)
    lake.copy(stored, step=Step.LOST, copies=0, peer="", note="a row failed its checksum")
