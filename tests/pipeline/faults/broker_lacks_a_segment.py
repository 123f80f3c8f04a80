"""A segment from the middle of a broker's life is missing."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    del segments[next(name for name in segments if name.startswith("b2/") and name.endswith("/3"))]
