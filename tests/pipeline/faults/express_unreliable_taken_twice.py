"""One reader takes an express message again that it has not given back."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    taken = lake.one(Step.RECEIVED, dest="gauge", first=1)
    lake.copy(taken)
