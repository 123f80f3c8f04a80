"""A segment has lost its seal."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    name = next(name for name in segments if name.startswith("desk/"))
    del segments[name][-1]
