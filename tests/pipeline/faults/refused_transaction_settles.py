"""A refused transaction has acknowledged a message all the same."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    refused = lake.one(Step.REFUSED, broker=False, dest="bank", first=3)
    for row in lake.find(Step.SETTLED, dest="work", first=2):
        row["transaction"] = refused["transaction"]
