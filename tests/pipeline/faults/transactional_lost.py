"""A transactional message is never handed out, and those behind it are."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.DELIVERED, Step.RECEIVED, Step.SETTLED)
    lake.remove(row for row in lake.about("ledger", 2) if row["step"] in gone)
