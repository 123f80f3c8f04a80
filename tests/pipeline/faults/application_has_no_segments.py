"""All segments of an application are missing."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    for name in [name for name in segments if name.startswith("desk/")]:
        del segments[name]
