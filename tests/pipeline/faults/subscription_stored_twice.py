"""A message is stored twice in one subscription."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.copy(lake.one(Step.STORED, mailbox="sub/anna/news", stream=1, first=2))
