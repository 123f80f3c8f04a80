"""All segments of the first of two lives of an application are missing."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    lives = sorted({name.rsplit("/", 1)[0] for name in segments if name.startswith("shop/")})
    for name in [name for name in segments if name.startswith(lives[0])]:
        del segments[name]
