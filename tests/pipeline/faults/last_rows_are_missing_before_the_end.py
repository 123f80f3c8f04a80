"""The last records of a life are missing, and its end was numbered anew."""

from __future__ import annotations

from tests.pipeline.fault_lake import Segments


def tamper(segments: Segments) -> None:
    mine = [name for name in segments if name.startswith("anna/")]
    last = segments[mine[-1]]
    end = last[-2]
    end["sequence"] = last[-3]["sequence"]
    del last[-3]
