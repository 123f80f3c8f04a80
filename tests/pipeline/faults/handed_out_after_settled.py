"""The owner hands a message out again that its reader has settled."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    settled = lake.one(Step.SETTLED, broker=True, dest="orders", first=3)
    lake.copy(lake.one(Step.DELIVERED, dest="orders", first=3), after=settled, note="redelivered")
