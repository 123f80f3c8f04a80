"""Rows of a seat's group. Owns: the encodings. Must not know: what is done with them.

A row that makes no sense is left out: a clock that lost a line asks nobody, so the group repairs damaged rows from its
other copies before they come here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from causeway.core.causal.clock import Line, MatrixClock, Times
from causeway.core.causal.entry import ApplicationRow, Entry, EntryRow
from causeway.store.base import Row

META: Final = b"m"
TIMES: Final = b"t"
LINE: Final = b"c"
ENTRY: Final = b"e"
APPLICATION: Final = b"p"
"""Not `a`: a group's owner is given what lies behind the bulk (`b`), and the bulk."""

T = TypeVar("T")


class SeatMeta(msgspec.Struct, frozen=True, array_like=True):
    """What a seat must not forget besides its clocks."""

    number: int
    """Its row and column in clocks."""
    following: int
    """The number that the next message gets."""
    version: int = 0
    """Of the map that it goes by: a new holder must know as much before it sends."""


encode = msgspec.msgpack.encode
_meta = msgspec.msgpack.Decoder(SeatMeta)
_times = msgspec.msgpack.Decoder(Times)
_line = msgspec.msgpack.Decoder(Line)
_entry = msgspec.msgpack.Decoder(EntryRow)
_application = msgspec.msgpack.Decoder(ApplicationRow)


def times_key(domain: str) -> bytes:
    """Key of what a clock knows besides its cells."""
    return TIMES + domain.encode()


def line_key(domain: str, row: int) -> bytes:
    """Key of one row of a clock."""
    return LINE + row.to_bytes(4, "big") + domain.encode()


def entry_key(number: int) -> bytes:
    """Key of an entry."""
    return ENTRY + number.to_bytes(8, "big")


def application_key(source: str, incarnation: int) -> bytes:
    """Key of one life of an application."""
    return APPLICATION + incarnation.to_bytes(8, "big") + source.encode()


@dataclass(slots=True)
class SeatRows:
    """Everything a seat's group remembers."""

    meta: SeatMeta | None = None
    clocks: dict[str, MatrixClock] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    applications: list[ApplicationRow] = field(default_factory=list)


def _decoded(decoder: msgspec.msgpack.Decoder[T], row: Row) -> T | None:
    try:
        return decoder.decode(row.value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def read(rows: Iterable[Row]) -> SeatRows:
    """All rows of a seat."""
    rows = list(rows)
    found = SeatRows()
    lines: dict[str, list[Line]] = {}
    times: dict[str, Times] = {}
    for row in rows:
        kind = row.key[:1]
        if kind == META:
            found.meta = _decoded(_meta, row)
        elif kind == TIMES and (time := _decoded(_times, row)) is not None:
            times[row.key[1:].decode()] = time
        elif kind == LINE and (line := _decoded(_line, row)) is not None:
            lines.setdefault(row.key[5:].decode(), []).append(line)
        elif kind == ENTRY and (entry := _decoded(_entry, row)) is not None:
            found.entries.append(Entry(int.from_bytes(row.key[1:], "big"), entry, None, b""))
        elif kind == APPLICATION and (application := _decoded(_application, row)) is not None:
            found.applications.append(application)
    number = found.meta.number if found.meta is not None else -1
    for domain, time in times.items():
        found.clocks[domain] = MatrixClock.restored(number, lines.get(domain, ()), time)
    found.entries.sort(key=lambda entry: entry.number)
    return found
