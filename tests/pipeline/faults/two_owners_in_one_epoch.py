"""Two brokers store messages of one mailbox as its owners, in one epoch."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    for step in (Step.STORED, Step.DELIVERED, Step.SETTLED):
        lake.one(step, broker=True, dest="ledger", first=3)["writer"] = "b3"
