"""A reader takes a message that is longer than what was sent."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.one(Step.RECEIVED, dest="orders", first=3)["bytes"] += 1
