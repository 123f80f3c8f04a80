"""The same of the last transaction, so that nothing behind it shows it."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.COPIED, Step.STORED, Step.DELIVERED, Step.RECEIVED, Step.SETTLED)
    lake.remove(row for row in lake.about("bank", 4) if row["step"] in gone)
