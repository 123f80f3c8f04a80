"""A sender is told that a message arrived which it has not sent, and nobody had."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    told = lake.one(Step.ACKNOWLEDGED, broker=False, dest="orders", first=7)
    lake.copy(told, first=99, last=99)
