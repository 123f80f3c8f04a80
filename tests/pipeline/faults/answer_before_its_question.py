"""A reader sees an answer before the message that the question followed."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    told = lake.one(Step.RECEIVED, source="anna", first=1, writer="desk")
    lake.move(told, after=lake.one(Step.RECEIVED, source="bert", first=1, writer="desk"))
