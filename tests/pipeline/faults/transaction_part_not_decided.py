"""The broker that decides records one part of a transaction, and not the other."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(lake.find(Step.ACKNOWLEDGED, broker=True, dest="bank", first=2))
