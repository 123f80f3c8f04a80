"""Reading a lake back, for tests: without Spark, as plain rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from causeway.lake.segments import read_table
from causeway.lake.table import listing
from causeway.trace import Step, TraceRecord


def rows_of(lake: Path, kind: str = "events") -> list[dict[str, Any]]:
    """All rows of a kind that a reader sees, in the order of writers, lives and sequence or time; seals aside."""
    found: list[dict[str, Any]] = []
    for segment in listing(str(lake), kind).live:
        found += read_table(segment.location).to_pylist()
    if kind == "events":
        found = [row for row in found if row["step"] != Step.SEALED]
    place = "sequence" if kind == "events" else "second"
    return sorted(found, key=lambda row: (row["writer"], row["life"], row[place]))


def steps_of(rows: list[dict[str, Any]], *writers: str) -> list[Step]:
    """What these writers did, in their order."""
    return [Step(row["step"]) for row in rows if not writers or row["writer"] in writers]


def some_record(number: int, step: Step = Step.STORED, at: int = 0, **other: Any) -> TraceRecord:
    known: dict[str, Any] = {"mailbox": "box", "service": 1, "bytes": 10}
    known.update(other)
    broker = known.pop("broker", "b1")
    return TraceRecord(at or number, broker, step, "shop", 3, "box", 1, number, number, **known)
