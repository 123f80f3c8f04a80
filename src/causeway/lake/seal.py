"""Seals: what a segment says of itself, so that a record that is missing, doubled or changed is seen.

A segment ends with a row SEALED. It names the records of its writer's life that the segment has, and the sum of their
digests. A digest is the CRC-32 of a row's values in the order of the schema; that of the seal itself, without its
`note`, is in the sum. Sums can be added up in any order, by whoever has the rows: so a copy of a lake in other files
keeps its seals, and a reader needs no pass of its own. A seal protects against accidents and careless hands, not
against somebody who writes seals.

In the place of records that are deleted because they are old stands a row RETIRED with their sums. So what else is
missing of their life is still seen.

Owns: this sum. Must not know: files, Spark (`pipeline/audit/doubts.py` computes the same in columns).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final
from zlib import crc32

import msgspec

from causeway.lake.schema import EVENTS, LAKE_VERSION
from causeway.lake.segments import WriterName
from causeway.trace import Step, TraceRecord
from causeway.types import Instant

WITHOUT_NOTE: Final = (int(Step.SEALED), int(Step.RETIRED))
"""Steps of rows whose `note` is about digests, and in none."""
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
    if row["step"] in WITHOUT_NOTE:
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


class RetiredSums(msgspec.Struct, frozen=True, kw_only=True):
    """What the `note` of a row RETIRED says of the records in whose place it stands."""

    records: int = 0
    total: int = 0
    """Of their numbers."""
    digests: int = 0
    """Of all rows."""
    seals: int = 0
    """The digests that their seals name, and that of the row RETIRED itself."""
    sealed: int = 0
    """How many seals there were."""
    gap: bool = False
    ended: bool = False
    damaged: bool = False


def retired_row(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The row that stands for all these rows of one life."""
    low, high, records, total, digests, seals, sealed, before, copies, at = 1 << 62, 0, 0, 0, 0, 0, 0, 0, 0, 0
    version, steps = LAKE_VERSION, set()
    whose: Mapping[str, Any] = {}
    for row in rows:
        whose, number = row, row["sequence"]
        digests += row_digest(row)
        version, at = min(version, row["version"]), max(at, row["at"])
        steps.add(row["step"])
        if row["step"] == Step.SEALED:
            sealed += 1
            seals += int(row["note"]) if row["note"].isdecimal() else 0
            before, copies = max(before, row["incarnation"]), max(copies, row["copies"])
        else:
            records, total, low, high = records + 1, total + number, min(low, number), max(high, number)
    found: dict[str, Any] = {column.name: "" if column.type == "string" else 0 for column in EVENTS}
    found |= {name: whose[name] for name in ("writer", "role", "life")} | {"reliable": False, "causal": False}
    found |= {"version": version, "at": at, "step": int(Step.RETIRED), "incarnation": before, "copies": copies}
    found |= {"first": low, "last": high}
    sums = RetiredSums(
        records=records,
        total=total,
        digests=digests,
        seals=seals + row_digest(found),
        sealed=sealed,
        gap=int(Step.GAP) in steps,
        ended=int(Step.ENDED) in steps,
        damaged=int(Step.LOST) in steps,
    )
    return found | {"note": msgspec.json.encode(sums).decode()}
