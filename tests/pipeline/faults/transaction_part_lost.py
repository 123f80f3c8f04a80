"""A part of a committed transaction is stored and never handed out; later ones are."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.DELIVERED, Step.RECEIVED, Step.SETTLED)
    lake.remove(row for row in lake.about("stock", 1) if row["step"] in gone)
