"""A part of a refused transaction is stored, handed out and taken."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    end = lake.one(Step.REFUSED, broker=False, dest="bank", first=3)
    for row in reversed(lake.about("stock", 2)):
        if row["step"] in (Step.COPIED, Step.STORED, Step.DELIVERED, Step.RECEIVED, Step.SETTLED):
            lake.copy(row, after=end, first=3, last=3, transaction="")
