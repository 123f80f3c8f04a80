"""Every message is acknowledged with one copy, where three are to be kept."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    for stored in lake.find(Step.STORED):
        stored.update(copies=1, peer=stored["writer"])
    lake.remove(row for row in lake.find(Step.COPIED) if row["writer"] != "b2")
