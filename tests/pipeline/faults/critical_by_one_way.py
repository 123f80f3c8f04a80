"""A critical message goes by one way, and later ones go by two."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    way = next(row["mailbox"] for row in lake.find(Step.SENT, topic="critical/fire") if row["mailbox"].endswith("/1"))
    lake.remove(lake.find(mailbox=way, first=2))
