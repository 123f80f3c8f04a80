"""One record names another mailbox than was written."""

from __future__ import annotations

from causeway.trace import Step
from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    for rows in segments.values():
        for at, row in enumerate(rows):
            if row["step"] == Step.SETTLED and row["dest"] == "lamp":
                rows[at] = row | {"mailbox": "another"}
                return
