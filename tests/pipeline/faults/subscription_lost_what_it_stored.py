"""A subscription stores a message and never hands it out; later ones it does."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    gone = (Step.DELIVERED, Step.RECEIVED, Step.SETTLED)
    here = lake.find(mailbox="sub/anna/news", stream=1, first=2)
    lake.remove(row for row in here if row["step"] in gone)
