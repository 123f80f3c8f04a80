"""A message in causal order is never handed out, and a later one of its sender is."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.DELIVERED, Step.RECEIVED, Step.SETTLED)
    lake.remove(row for row in lake.find(source="anna", first=1) if row["step"] in gone)
