"""The first segment of an application's life is missing."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    del segments[next(name for name in segments if name.startswith("desk/") and name.endswith("/1"))]
