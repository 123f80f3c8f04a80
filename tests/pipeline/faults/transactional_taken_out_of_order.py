"""A reader takes a message before one that was sent earlier."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    late = lake.one(Step.RECEIVED, dest="ledger", first=2)
    lake.move(late, after=lake.one(Step.RECEIVED, dest="ledger", first=3))
