"""Seals: what a segment says of itself, so that a record that is missing, doubled or changed is seen.

A segment ends with a row SEALED. It names the records of its writer's life that the segment has, and the sum of their
digests. A digest is the CRC-32 of a row's values in the order of the schema; that of the seal itself, without its
`note`, is in the sum. Sums can be added up in any order, by whoever has the rows: so a copy of a lake in other files
keeps its seals, and a reader needs no pass of its own. A seal protects against accidents and careless hands, not
against somebody who writes seals.

Owns: this sum. Must not know: files, Spark (`pipeline/audit/doubts.py` computes the same in columns).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final
from zlib import crc32

import msgspec

from causeway.lake.schema import EVENTS, LAKE_VERSION
from causeway.lake.segments import WriterName
from causeway.trace import Step, TraceRecord
from causeway.types import Instant

APART: Final = "\x1f"
"""Between values."""
_FIELDS: Final = TraceRecord.__struct_fields__
_OWN: Final = ("version", "writer", "role", "life", "sequence")
_TAKEN: Final = [column for column in EVENTS if column.name not in _OWN]
_in_order: Final = itemgetter(*(_FIELDS.index(column.name) for column in _TAKEN))
_FORMAT: Final = APART.join("%s" if column.type == "string" else "%d" for column in _TAKEN)
_NAMES: Final = tuple(column.name for column in EVENTS)
_columns: Final = itemgetter(*_NAMES)
_ROW_FORMAT: Final = APART.join("%s" if column.type == "string" else "%d" for column in EVENTS)
_as_tuple = msgspec.structs.astuple


def digest_of(records: Sequence[TraceRecord], writer: WriterName, first: int) -> int:
    """The sum of the digests of records that are numbered from `first` on."""
    whose = crc32(APART.join(map(str, (LAKE_VERSION, *writer[:3], ""))).encode())
    texts = map(_FORMAT.__mod__, map(_in_order, map(_as_tuple, records)))
    return sum(crc32(f"{sequence}{APART}{text}".encode(), whose) for sequence, text in enumerate(texts, first))


def row_digest(row: Mapping[str, Any]) -> int:
    """The digest of one row of the lake, from its columns."""
    values = _columns(row)
    if row["step"] == Step.SEALED:
        values = tuple("" if name == "note" else value for name, value in zip(_NAMES, values, strict=True))
    return crc32((_ROW_FORMAT % values).encode())


def sealed(
    writer: WriterName, at: Instant, records: tuple[int, int], total: int, *, before: int = 0, copies: int = 0
) -> TraceRecord:
    """The seal of records whose digests have this sum; `before` is the writer's life before this one."""
    broker = writer.name if writer.role == "broker" else ""
    step = int(Step.SEALED)
    seal = TraceRecord(at, broker, step, "", before, "", 0, *records, copies=copies)
    return msgspec.structs.replace(seal, note=str(total + digest_of([seal], writer, 0)))
