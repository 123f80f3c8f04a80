"""The sender sends again while its message is being stored, and the owner acknowledges before it is on its copies."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    stored = lake.one(Step.STORED, dest="ledger", first=3)
    told = lake.one(Step.ACKNOWLEDGED, broker=True, dest="ledger", first=3)
    told["writer"] = stored["writer"]
    lake.move(told, before=stored)
    told = lake.one(Step.ACKNOWLEDGED, broker=True, dest="ledger", first=3)
    lake.copy(stored, before=told, step=Step.DUPLICATE, copies=0, epoch=0, peer="")
