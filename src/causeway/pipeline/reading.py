"""Rows of a lake that is small enough for one process, without Spark, whose planning and tasks take longer.

The same rows as `frame.read_lake` gives. Owns: this reading. Must not know: any job.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from causeway.errors import LakeError
from causeway.lake.schema import KINDS
from causeway.lake.segments import opened
from causeway.lake.table import Segment
from causeway.pipeline.quality import segments

_USUAL: Final[dict[str, Any]] = {"int32": 0, "int64": 0, "bool": False, "string": ""}


def has_few_rows(lake: str, kind: str, most: int) -> bool:
    """Whether a lake has at most so many rows of a kind, by the footers of segments: of a large one, the first."""
    count = 0
    for segment in segments(lake, kind):
        place = segment.location
        try:
            count += pq.read_metadata(place.path, filesystem=place.file_system).num_rows
        except FileNotFoundError:
            continue  # its writer has just made room
        except (OSError, pa.ArrowException):
            return True  # whoever reads it says what is wrong
        if count > most:
            return False
    return count <= most


def read_rows(lake: str, kind: str) -> list[dict[str, Any]]:
    """Rows with the columns of the schema, and `domain`. Columns that a segment lacks are 0, false or empty; those that
    this version does not know are left out. What is damaged is a LakeError that names the segment."""
    return [row for segment in segments(lake, kind) for row in _rows(segment, kind)]


def _rows(segment: Segment, kind: str) -> list[dict[str, Any]]:
    names = [column.name for column in KINDS[kind]]
    try:
        with opened(segment.location) as file:
            known = [name for name in names if name in file.schema_arrow.names]
            rows: list[dict[str, Any]] = file.read(columns=known, use_threads=False).to_pylist()
    except FileNotFoundError:
        return []  # its writer has just made room
    except (OSError, pa.ArrowException) as error:
        place = str(segment.location)
        raise LakeError(place, f"cannot be read ({error})", "move it out of the lake and run again") from error
    usual = {column.name: _USUAL.get(column.type, []) for column in KINDS[kind] if column.name not in known}
    domain = segment.domain
    return [{**usual, **row, "domain": domain} for row in rows]
