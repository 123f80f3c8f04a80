"""The owner hands a message out that has expired."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    expired = lake.one(Step.EXPIRED, dest="shelf")
    handed = lake.copy(lake.one(Step.DELIVERED, dest="shelf", first=2), after=expired, first=1, last=1)
    lake.copy(lake.one(Step.RECEIVED, dest="shelf", first=2), after=handed, first=1, last=1)
