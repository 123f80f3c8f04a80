"""Segments of one writer: each is whole or not there, they become few, and all together stay within a bound.

A segment appears when it is whole (`locations`). Whoever is killed before leaves a file that no reader looks at; the
next life of the same writer removes it. Small segments that follow each other are replaced by one with all their rows
(`table`), again and again: so there are few files, and each row is written a few times. Two writers of the same name
are one store: whoever begins counts what is there of its name and role, and deletes the oldest of it beyond the bound.

Owns: names and files of one writer. Must not know: what the rows mean.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from causeway.errors import LakeError
from causeway.lake.limits import MERGED_AT_ONCE, MERGED_BYTES_MAX, REPLACED_SECONDS, SEGMENT_BYTES_MIN
from causeway.lake.locations import Location, locate
from causeway.lake.table import Listing, Segment, SegmentName, name_of, sorted_out, whole_segments

NO_DOMAIN: Final = "-"
"""In the path, for writers that belong to none."""


class WriterName(NamedTuple):
    """Who writes."""

    name: str
    role: str
    """`broker` or `application`."""
    life: int
    domain: str = NO_DOMAIN

    @property
    def prefix(self) -> str:
        """What the names of all its segments begin with, in every life."""
        return f"{self.role}-{quote(self.name, safe='')}"


class _Tail(NamedTuple):
    """A segment that may still be merged with those behind it."""

    location: Location
    name: SegmentName
    size: int
    level: int
    """How many times its rows were merged."""


class _Known(NamedTuple):
    """A file that is there, and counts."""

    location: Location
    size: int

    @property
    def counts(self) -> int:
        """What it counts for, so that the number of files is bounded too."""
        return max(self.size, SEGMENT_BYTES_MIN)


class SegmentFolder:
    """The segments of one writer in a lake."""

    def __init__(self, lake: str | Path | Location, writer: WriterName, bytes_max: int, *, synced: bool = True) -> None:
        self._lake = locate(lake)
        self._writer = writer
        self._bytes_max = bytes_max
        self._synced = synced
        """Whether a segment must survive a loss of power, and others may read meanwhile."""
        self._numbers: dict[str, int] = {}
        """By kind: the last one given."""
        self._tails: dict[Location, list[_Tail]] = {}
        """By folder."""
        self._known: list[_Known] = []
        """All of this writer, oldest first."""
        self._replaced: deque[tuple[float, _Known]] = deque()
        """What others may still be reading, and until when."""
        self.deleted = 0
        """How many made room for newer ones."""
        self.life_before = 0
        """The last of this writer's lives before this one of which events are there; 0 for none."""

    def open(self) -> None:
        """Find what earlier lives left: whole segments count, the rest is removed. Raises OSError."""
        self._lake.make_folder()
        if self._lake.is_local:
            for entry in self._lake.entries(deep=True):
                hidden = name_of(entry.location.name.removeprefix("."))
                if entry.location.name.startswith(".") and hidden and hidden.writer == self._writer.prefix:
                    entry.location.remove_abandoned()
        mine = [one for one in whole_segments(self._lake) if one.name and one.name.writer == self._writer.prefix]
        found = sorted_out(mine)
        remove_replaced(found, REPLACED_SECONDS)
        lives = (one.name.life for one in found.live if one.kind == "events" and one.name)
        self.life_before = max((life for life in lives if life < self._writer.life), default=0)
        self._known = [_Known(one.location, one.size) for one in sorted(found.live, key=_age)]
        self._make_room()

    def write(self, table: pa.Table, day: str, kind: str) -> Location:
        """One more segment. Raises OSError, and then there is nothing of it."""
        folder = self._folder(day, kind)
        number = self._numbers.get(kind, 0) + 1
        name = SegmentName(self._writer.prefix, self._writer.life, number, number)
        place = folder / str(name)
        size = write_rows(place, [table], synced=self._synced)
        self._numbers[kind] = number
        self._known.append(_Known(place, size))
        tail = self._tails.setdefault(folder, [])
        tail.append(_Tail(place, name, size, 0))
        while len(tail) >= MERGED_AT_ONCE and tail[-MERGED_AT_ONCE].level == tail[-1].level:
            if not self._merge(folder, MERGED_AT_ONCE):
                break
        self._make_room()
        return place

    def close(self) -> None:
        """Nothing more will come: what is small becomes one, as far as it may."""
        for folder, tail in self._tails.items():
            sizes = itertools.accumulate(one.size for one in reversed(tail))
            self._merge(folder, sum(1 for size in sizes if size <= MERGED_BYTES_MAX))

    def _folder(self, day: str, kind: str) -> Location:
        domain = quote(self._writer.domain, safe="")
        return self._lake / f"day={day}" / f"domain={domain}" / f"kind={kind}"

    def _merge(self, folder: Location, count: int) -> bool:
        """Replace the last segments of a folder by one; whether that was possible. Many small ones are as good."""
        tail = self._tails[folder]
        parts = tail[len(tail) - count :]
        if count < 2 or sum(part.size for part in parts) > MERGED_BYTES_MAX:
            return False
        name = parts[0].name._replace(last=parts[-1].name.last)
        place, old = folder / str(name), [part.location for part in parts]
        try:
            here = {one.location for one in sorted_out(_segments_in(folder)).live}
            if not here.issuperset(old):  # somebody else has replaced them, or they made room
                tail.clear()
                return False
            size = merge(old, place, synced=self._synced)
        except (OSError, pa.ArrowException, LakeError):
            tail.clear()
            return False
        tail[len(tail) - count :] = [_Tail(place, name, size, parts[0].level + 1)]
        at = next(at for at, one in enumerate(self._known) if one.location == old[0])
        sizes = {one.location: one.size for one in self._known}
        self._known = [one for one in self._known if one.location not in old]
        self._known.insert(at, _Known(place, size))
        until = time.monotonic() + (REPLACED_SECONDS if self._synced else 0)
        self._replaced.extend((until, _Known(one, sizes.get(one, 0))) for one in old)
        self._remove_replaced()
        return True

    # Room -------------------------------------------------------------------------------------------------------
    @property
    def bytes(self) -> int:
        """What all of it counts for."""
        return sum(one.counts for one in self._known) + sum(one.counts for _, one in self._replaced)

    def _remove_replaced(self) -> None:
        now = time.monotonic()
        while self._replaced and self._replaced[0][0] <= now:
            self._remove(self._replaced.popleft()[1])

    def _make_room(self) -> None:
        """First goes what was replaced, then what is oldest. The newest one stays, however large it is."""
        size = self.bytes
        while size > self._bytes_max and (self._replaced or len(self._known) > 1):
            one = self._replaced.popleft()[1] if self._replaced else self._known.pop(0)
            size -= one.counts
            self.deleted += 1
            self._remove(one)

    def _remove(self, one: _Known) -> None:
        with contextlib.suppress(OSError):
            one.location.remove()


def _segments_in(folder: Location) -> Iterable[Segment]:
    for entry in folder.entries():
        name = name_of(entry.location.name)
        if name is not None:
            yield Segment(entry.location, entry.size, entry.changed, name)


def _age(one: Segment) -> tuple[int, str, int]:
    assert one.name is not None  # it is a writer's
    return one.name.life, one.day, one.name.first


# Files --------------------------------------------------------------------------------------------------------------
def write_rows(place: Location, tables: Iterable[pa.Table], *, synced: bool = True) -> int:
    """A segment with these rows; its size. Raises OSError, and then there is nothing of it."""
    tables = iter(tables)
    first = next(tables)
    # By name: so it needs no lock of the interpreter. Numbers rarely repeat, names nearly always.
    names = [field.name for field in first.schema if pa.types.is_string(field.type)]
    with place.written(synced=synced) as hidden:
        settings: dict[str, Any] = {"compression": "zstd", "use_dictionary": names, "write_page_checksum": True}
        with pq.ParquetWriter(hidden.path, first.schema, filesystem=hidden.file_system, **settings) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)
    return int(place.file_system.get_file_info(place.path).size)


def merge(parts: Iterable[Location], place: Location, *, synced: bool = True) -> int:
    """One segment with all rows of others, in their order; its size. Raises OSError or ArrowException."""
    return write_rows(place, _few_groups(map(read_table, parts)), synced=synced)


def opened(place: Location) -> Any:
    """A segment as a ParquetFile that minds the checksums of pages. Raises OSError or ArrowException."""
    return pq.ParquetFile(place.path, filesystem=place.file_system, page_checksum_verification=True)


def read_table(place: Location, columns: Sequence[str] | None = None) -> pa.Table:
    """Rows of a segment. Raises OSError, or ArrowException if it is damaged."""
    with opened(place) as file:
        return file.read(columns=columns, use_threads=False)


ROWS_PER_GROUP: Final = 100_000


def _few_groups(tables: Iterable[pa.Table]) -> Iterable[pa.Table]:
    """The same rows in tables that are not small."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(one.num_rows for one in held) >= ROWS_PER_GROUP:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def remove_replaced(found: Listing, seconds: float) -> int:
    """Remove what was replaced so long ago that nobody reads it any more; how many. A file is as old as what has taken
    its place."""
    before = time.time_ns() - int(seconds * 1e9)
    since: dict[tuple[str, str, int], list[Segment]] = {}
    for one in found.live:
        if one.name is not None and one.name.is_replacement:
            since.setdefault((one.location.parent.path, *one.name[:2]), []).append(one)
    count = 0
    for old in found.replaced:
        assert old.name is not None  # it was replaced by its name
        by = since.get((old.location.parent.path, *old.name[:2]), [])
        if any(new.changed <= before and _spans(new.name, old.name) for new in by):
            with contextlib.suppress(OSError):
                old.location.remove()
                count += 1
    return count


def _spans(new: SegmentName | None, old: SegmentName) -> bool:
    return new is not None and new.first <= old.first and old.last <= new.last
