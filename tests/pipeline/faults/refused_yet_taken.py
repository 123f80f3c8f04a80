"""A message that was refused for good is taken by an application; brokers say nothing."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    end = lake.one(Step.REFUSED, broker=False, dest="full")
    lake.copy(lake.one(Step.RECEIVED, dest="orders", first=1), after=end, dest="full", mailbox="full")
