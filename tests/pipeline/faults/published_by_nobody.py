"""Subscriptions get a message on a topic that its publisher never published."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(lake.find(Step.SENT, writer="press", stream=1, first=2, topic="news/roads"))
