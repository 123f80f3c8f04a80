"""One of two subscriptions that were ready never gets a message."""

from __future__ import annotations

from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.remove(lake.find(mailbox="sub/bert/news", stream=1, first=2))
