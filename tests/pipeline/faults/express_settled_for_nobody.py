"""A broker records that an express message was settled; its reader never took it."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.RECEIVED, Step.SETTLED)
    lake.remove(row for row in lake.find(dest="lamp", first=3, writer="desk") if row["step"] in gone)
