"""A recoverable message is acknowledged, and is in no broker's records."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.COPIED, Step.STORED, Step.DELIVERED, Step.RECEIVED, Step.SETTLED)
    lake.remove(row for row in lake.about("orders", 5) if row["step"] in gone)
