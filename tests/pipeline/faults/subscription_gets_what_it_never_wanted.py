"""A message on a topic comes to a subscription that never wanted it."""

from __future__ import annotations

from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    for row in lake.find(mailbox="sub/bert/news", stream=1, first=2):
        row["mailbox"] = "sub/anna/alarm"
