"""A seal says that one copy is to be kept, in place of three."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    name = next(name for name in segments if name.startswith("b2/"))
    segments[name][-1] = segments[name][-1] | {"copies": 1}
