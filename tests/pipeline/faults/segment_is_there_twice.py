"""A segment was copied under a second name."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    name = next(name for name in segments if name.startswith("b2/"))
    segments[f"{name}-again"] = list(segments[name])
