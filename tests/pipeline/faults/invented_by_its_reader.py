"""An application takes a message of which nobody else knows."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    taken = lake.one(Step.RECEIVED, dest="orders", first=7)
    lake.copy(taken, first=99, last=99)
