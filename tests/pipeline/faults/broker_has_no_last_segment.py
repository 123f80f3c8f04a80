"""The last segment of a broker is missing."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    mine = [name for name in segments if name.startswith("b3/")]
    del segments[mine[-1]]
