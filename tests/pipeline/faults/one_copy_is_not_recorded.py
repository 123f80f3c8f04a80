"""The owner counts three copies, and one member has no record of its own."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(lake.find(Step.COPIED, dest="ledger", first=3, writer="b3"))
