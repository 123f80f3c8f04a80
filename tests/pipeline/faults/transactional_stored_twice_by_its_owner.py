"""A transactional message is stored and handed out twice under one id."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    stored = lake.one(Step.STORED, dest="ledger", first=3)
    lake.copy(stored)
    lake.copy(lake.one(Step.DELIVERED, dest="ledger", first=3), note="redelivered")
