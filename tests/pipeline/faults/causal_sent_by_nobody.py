"""A message in causal order is taken, and its sender has not sent it."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(lake.find(Step.SENT, broker=False, source="bert", first=3))
