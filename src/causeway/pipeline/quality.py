"""What must hold of a lake before and while it is read, with errors that name the place and the remedy.

Owns: these checks. Must not know: any job.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from causeway.errors import ConfigError, LakeError
from causeway.lake.schema import KINDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

MAGIC: Final = b"PAR1"
"""A Parquet file begins and ends with it; before the end stands the length of its footer."""
_LEAST: Final = 12
BAD_ROW: Final = "causeway: "
"""How the text of a failed check begins: `faults.py` knows it by that."""


def segments(lake: str, kind: str) -> Iterator[Path]:
    """Segments of one kind, as readers see them: what begins with a dot or an underscore is being written."""
    for folder in sorted(Path(lake).glob(f"day=*/domain=*/kind={kind}")):
        yield from (Path(folder, name) for name in os.listdir(folder) if not name.startswith((".", "_")))


def segment_sizes(lake: str, kind: str) -> list[int]:
    """Bytes of every segment of one kind; of those that are gone when it is looked at, none."""
    sizes = []
    for segment in segments(lake, kind):
        with suppress(FileNotFoundError):
            sizes.append(segment.stat().st_size)
    return sizes


def check_segments(lake: str, kind: str) -> int:
    """How many segments there are; a LakeError if there is none, or one was cut short."""
    if kind not in KINDS:
        raise ConfigError("kind", kind, f"must be one of: {', '.join(KINDS)}")
    if not Path(lake).is_dir():
        raise ConfigError("lake", lake, "there is no such folder; give the one that brokers or the simulator write to")
    count = 0
    for segment in segments(lake, kind):
        try:
            whole = is_whole(segment)
        except FileNotFoundError:
            continue  # its writer has just made room
        count += 1
        if not whole:
            raise LakeError(str(segment), "is cut short or no Parquet file", "move it out of the lake and run again")
    if not count:
        kinds = sorted({path.name.removeprefix("kind=") for path in Path(lake).glob("day=*/domain=*/kind=*")})
        there = f"it has: {', '.join(kinds)}" if kinds else "it has no folders day=*/domain=*/kind=*"
        raise LakeError(lake, f"has no segments of kind={kind}", f"{there}; wait for a writer, or give another lake")
    return count


def is_whole(segment: Path) -> bool:
    """Whether a segment has a beginning and an end. What lies between is checked by whoever reads it."""
    with segment.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < _LEAST:
            return False
        file.seek(0)
        head = file.read(4)
        file.seek(-8, os.SEEK_END)
        footer = int.from_bytes(file.read(4), "little")
        return head == MAGIC and file.read(4) == MAGIC and footer <= size - _LEAST


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


def few_rows(frame: DataFrame, most: int, what: str, remedy: str) -> list[Row]:
    """Rows for the driver, in their order; a LakeError if they are more than it may hold."""
    rows = frame.limit(most + 1).collect()
    if len(rows) > most:
        raise LakeError("the lake", f"has more than {most} {what}", remedy)
    return rows
