"""A message that was refused for good is stored, handed out and taken."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    end = lake.one(Step.REFUSED, broker=False, dest="full")
    for row in reversed(lake.about("orders", 1)):
        if row["step"] in (Step.COPIED, Step.STORED, Step.DELIVERED, Step.RECEIVED, Step.SETTLED):
            lake.copy(row, after=end, dest="full", mailbox="full")
