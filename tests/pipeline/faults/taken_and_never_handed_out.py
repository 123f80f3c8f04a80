"""A reader takes a message that no broker has handed out."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.DELIVERED, Step.SETTLED)
    lake.remove(row for row in lake.about("lamp", 5) if row["step"] in gone and row["role"] == "broker")
