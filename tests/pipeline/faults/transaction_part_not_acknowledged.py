"""The sender is told of one part of its transaction, and not of the other."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(lake.find(Step.ACKNOWLEDGED, broker=False, dest="bank", first=2))
