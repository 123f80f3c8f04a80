"""The owner stores a message twice."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.copy(lake.one(Step.STORED, dest="orders", first=3))
