"""A message that was given back comes again, and is not marked as redelivered."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    [again] = lake.find(Step.DELIVERED, dest="returns", note="redelivered")
    again["note"] = ""
