"""A whole chain of records tells of a message that its sender never sent."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    for row in reversed(lake.about("orders", 7)):
        if (row["step"], row["role"]) not in ((Step.SENT, "application"), (Step.ACKNOWLEDGED, "application")):
            lake.copy(row, first=99, last=99)
