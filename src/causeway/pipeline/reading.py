"""Rows of a lake that is small enough for one process, without Spark, whose planning and tasks take longer.

The same rows as `frame.read_lake` gives. Owns: this reading. Must not know: any job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from causeway.errors import LakeError
from causeway.lake.schema import KINDS
from causeway.lake.segments import opened
from causeway.lake.table import Segment
from causeway.lake.tables import SCHEMAS
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


def read_columns(lake: str, kind: str, names: Sequence[str]) -> pa.Table:
    """Some columns of all rows, with `day` and `domain`. What is damaged is a LakeError that names the segment."""
    schema = SCHEMAS[kind]
    wanted = pa.schema([schema.field(name) for name in names])
    whole = pa.schema([*wanted, ("day", pa.string()), ("domain", pa.string())])
    return pa.concat_tables([whole.empty_table(), *(_columns(one, wanted, whole) for one in segments(lake, kind))])


def _columns(segment: Segment, wanted: pa.Schema, whole: pa.Schema) -> pa.Table:
    try:
        with opened(segment.location) as file:
            known = file.schema_arrow
            rows = file.read(columns=[name for name in wanted.names if name in known.names], use_threads=False)
        other = [name for name in rows.column_names if known.field(name).type != wanted.field(name).type]
        if other:
            raise pa.ArrowTypeError(f"column {other[0]} is {known.field(other[0]).type}")
    except FileNotFoundError:
        return whole.empty_table()  # its writer has just made room
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(segment, error) from error
    count = rows.num_rows
    columns = [
        rows[field.name] if field.name in rows.column_names else pa.repeat(_usual(field.type), count)
        for field in wanted
    ]
    return pa.table([*columns, *(pa.repeat(pa.scalar(one), count) for one in (segment.day, segment.domain))], whole)


def _usual(kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(_USUAL[str(kind)], kind)


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
        raise _unreadable(segment, error) from error
    usual = {column.name: _USUAL.get(column.type, []) for column in KINDS[kind] if column.name not in known}
    domain = segment.domain
    return [{**usual, **row, "domain": domain} for row in rows]


def _unreadable(segment: Segment, error: Exception) -> LakeError:
    return LakeError(str(segment.location), f"cannot be read ({error})", "move it out of the lake and run again")
