"""A broker stores a message of which nobody else knows."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    stored = lake.one(Step.STORED, dest="orders", first=7)
    lake.copy(stored, first=99, last=99)
