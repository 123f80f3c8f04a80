"""What must hold of a lake before and while it is read, with errors that name the place and the remedy.

Owns: these checks. Must not know: any job.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from causeway.errors import ConfigError, LakeError
from causeway.lake.locations import locate
from causeway.lake.schema import KINDS
from causeway.lake.table import Segment, listing

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, Row

MAGIC: Final = b"PAR1"
"""A Parquet file begins and ends with it; before the end stands the length of its footer."""
_LEAST: Final = 12
BAD_ROW: Final = "causeway: "
"""How the text of a failed check begins: `faults.py` knows it by that."""


def segments(lake: str, kind: str) -> list[Segment]:
    """Segments of one kind that count, as readers see them."""
    return listing(lake, kind).live


def segment_sizes(lake: str, kind: str) -> list[int]:
    """Bytes of every segment of one kind."""
    return [segment.size for segment in segments(lake, kind)]


def check_segments(lake: str, kind: str) -> list[Segment]:
    """The segments that there are; a LakeError if there is none, or one was cut short."""
    if kind not in KINDS:
        raise ConfigError("kind", kind, f"must be one of: {', '.join(KINDS)}")
    place = locate(lake)
    found = segments(lake, kind)
    if not found and not place.is_folder():
        raise ConfigError("lake", lake, "there is no such folder; give the one that brokers or the simulator write to")
    for segment in found:
        if not is_whole(segment):
            place = segment.location
            raise LakeError(str(place), "is cut short or no Parquet file", "move it out of the lake and run again")
    if not found:
        kinds = sorted({segment.kind for segment in listing(lake).live})
        there = f"it has: {', '.join(kinds)}" if kinds else "it has no folders day=*/domain=*/kind=*"
        raise LakeError(lake, f"has no segments of kind={kind}", f"{there}; wait for a writer, or give another lake")
    return found


def is_whole(segment: Segment) -> bool:
    """Whether a segment has a beginning and an end. What lies between is checked by whoever reads it. An object store
    has only whole ones."""
    if not segment.location.is_local:
        return True
    if segment.size < _LEAST:
        return False
    try:
        with open(segment.location.path, "rb") as file:
            head = file.read(4)
            file.seek(segment.size - 8)
            footer = int.from_bytes(file.read(4), "little")
            return head == MAGIC and file.read(4) == MAGIC and footer <= segment.size - _LEAST
    except FileNotFoundError:
        return True  # its writer has just made room


def with_checked_rows(frame: DataFrame, rules: Mapping[str, Column]) -> DataFrame:
    """The same rows; one that breaks a rule stops the job with a LakeError that quotes rule, writer and values.

    The rules are read with the rows, so that they cost no pass of their own.
    """
    from pyspark.sql import functions as F

    shown = F.to_json(F.struct(*(F.col(name) for name in ("writer", "life", "day", "domain") if name in frame.columns)))
    for rule, holds in rules.items():
        broken = F.raise_error(F.concat(F.lit(f"{BAD_ROW}{rule}; row of "), shown))
        frame = frame.where(F.when(holds, True).otherwise(broken.cast("boolean")))
    return frame


def check_rows(rows: pa.Table, rule: str, holds: pa.ChunkedArray) -> None:
    """The same for what one process holds."""
    import pyarrow.compute as pc

    broken = rows.filter(pc.invert(holds))
    if broken.num_rows:
        names = [name for name in ("writer", "life", "day", "domain") if name in broken.column_names]
        shown = json.dumps(broken.select(names).slice(0, 1).to_pylist()[0], separators=(",", ":"))
        raise bad_row(f"{rule}; row of {shown}")


def bad_row(said: str) -> LakeError:
    """What a row says that no writer writes."""
    return LakeError("the lake", f"holds what no writer writes ({said})", "mend or move that segment")


def few_rows(frame: DataFrame, most: int, what: str, remedy: str) -> list[Row]:
    """Rows for the driver, in their order; a LakeError if they are more than it may hold."""
    rows = frame.limit(most + 1).collect()
    if len(rows) > most:
        raise LakeError("the lake", f"has more than {most} {what}", remedy)
    return rows
