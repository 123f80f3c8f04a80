"""An express message is acknowledged, and no broker ever had it."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.TAKEN, Step.DELIVERED, Step.RECEIVED, Step.SETTLED)
    lake.remove(row for row in lake.about("lamp", 3) if row["step"] in gone)
