"""The owner acknowledges an express message before it has it in memory."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    taken = lake.one(Step.TAKEN, dest="lamp", first=3)
    told = lake.one(Step.ACKNOWLEDGED, broker=True, dest="lamp", first=3)
    told["writer"] = taken["writer"]
    lake.move(told, before=taken)
