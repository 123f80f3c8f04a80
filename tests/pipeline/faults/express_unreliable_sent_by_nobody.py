"""Brokers and a reader have an express message that its sender never sent."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(lake.find(Step.SENT, broker=False, dest="gauge", first=4))
