"""A subscription gets what one publisher published in another order."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    late = lake.one(Step.DELIVERED, mailbox="sub/anna/news", stream=2, first=1)
    lake.move(late, after=lake.one(Step.DELIVERED, mailbox="sub/anna/news", stream=2, first=2))
