"""The last segment of an application is missing."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    del segments[max(name for name in segments if name.startswith("desk/"))]
