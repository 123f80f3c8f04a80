"""A broker says itself that it has dropped records."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    stored = lake.one(Step.STORED, dest="orders", first=3)
    lake.copy(stored, step=Step.GAP, source="", dest="", mailbox="", first=1, last=7, copies=0, note="dropped")
