"""One value of one record is not the one that was written."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    name = next(name for name in segments if name.startswith("shop/"))
    segments[name][3] = segments[name][3] | {"bytes": segments[name][3]["bytes"] + 1}
