"""Two applications take and settle the same transactional message."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    first = lake.one(Step.SETTLED, broker=True, dest="ledger", first=3)
    lake.copy(first)
    taken = lake.one(Step.RECEIVED, dest="ledger", first=3)
    lake.copy(taken, writer="anna")
