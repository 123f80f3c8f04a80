"""A message is acknowledged although one member of three has confirmed it, and says so."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    stored = lake.one(Step.STORED, dest="orders", first=3)
    stored.update(copies=1, peer=stored["writer"])
    lake.remove(row for row in lake.find(Step.COPIED, dest="orders", first=3) if row["writer"] != stored["writer"])
