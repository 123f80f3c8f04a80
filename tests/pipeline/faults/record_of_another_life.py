"""A record was moved from one life of a writer into another."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    names = sorted(name for name in segments if name.startswith("shop/"))
    row = segments[names[0]].pop(5)
    segments[names[-1]].insert(0, row | {"life": segments[names[-1]][0]["life"]})
