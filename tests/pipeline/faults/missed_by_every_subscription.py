"""No subscription gets a message, and its item records that all have it."""

from __future__ import annotations

from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(row for row in lake.find(stream=1, first=2, topic="news/roads") if row["mailbox"].startswith("sub/"))
