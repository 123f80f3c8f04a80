"""One reader takes a transactional message again that it has not given back."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    lake.copy(lake.one(Step.RECEIVED, dest="ledger", first=2))
