"""The owner counts three copies, and two members have no record of theirs."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(row for row in lake.find(Step.COPIED, dest="orders", first=5) if row["writer"] != "b2")
