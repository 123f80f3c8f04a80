"""One copy of a message is shorter than what was sent."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.one(Step.COPIED, dest="ledger", first=2, writer="b3")["bytes"] -= 1
