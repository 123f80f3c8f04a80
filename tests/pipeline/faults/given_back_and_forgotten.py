"""A message that was given back never comes again, and later ones do."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import FaultLake


def plant(lake: FaultLake) -> None:
    back = lake.one(Step.RETURNED, broker=True, dest="returns")
    rest = lake.rows[lake.rows.index(back) + 1 :]
    lake.remove(row for row in rest if row["dest"] == "returns" and row["first"] == 1)
