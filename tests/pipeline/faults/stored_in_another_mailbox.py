"""A message is stored and handed out in a mailbox that it was not sent to."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    for step in (Step.STORED, Step.DELIVERED, Step.RECEIVED):
        lake.one(step, dest="orders", first=3)["mailbox"] = "ledger"
