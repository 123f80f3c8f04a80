"""The owner hands a message out again that it has made a dead letter."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    dead = lake.one(Step.DEAD, dest="shelf")
    lake.copy(lake.one(Step.DELIVERED, dest="shelf", first=2), after=dead, note="redelivered")
