"""All segments of the last life of an application are missing."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    lives = sorted({name.rsplit("/", 1)[0] for name in segments if name.startswith("shop/")})
    for name in [name for name in segments if name.startswith(lives[-1])]:
        del segments[name]
