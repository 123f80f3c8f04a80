"""One reader takes a message in causal order again."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.copy(lake.one(Step.RECEIVED, source="bert", first=1))
