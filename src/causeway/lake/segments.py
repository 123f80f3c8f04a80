"""Segments on disk: each is whole or not there, and all of one writer together stay within a bound.

A segment is written under a name that begins with a dot, flushed to the disk, and renamed. Whoever is killed in between
leaves a file that no reader looks at; the next life of the same writer removes it. While it is written it is locked, so
that one of two writers of the same name does not take that away from the other. Their whole segments are one store:
whoever begins counts what is there of its name and role, and deletes the oldest of it beyond the bound.

Owns: names and files of one writer. Must not know: what the rows mean.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from causeway.lake.limits import SEGMENT_BYTES_MIN

SUFFIX: Final = ".parquet"
EVENTS_FOLDER: Final = "kind=events"
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
        return f"{self.role}-{quote(self.name, safe='')}-"


class SegmentFolder:
    """The segments of one writer in a lake."""

    def __init__(self, lake: Path, writer: WriterName, bytes_max: int, *, synced: bool = True) -> None:
        self._lake = lake
        self._writer = writer
        self._bytes_max = bytes_max
        self._synced = synced
        """Whether a segment must survive a loss of power."""
        self._number = 0
        self._known: deque[tuple[Path, int]] = deque()
        """All of this writer, oldest first, with what each counts for."""
        self.bytes = 0
        """What they count for together."""
        self.deleted = 0
        """How many made room for newer ones."""
        self.life_before = 0
        """The last of this writer's lives before this one of which events are there; 0 for none."""

    def open(self) -> None:
        """Find what earlier lives left: whole segments count, the rest is removed. Raises OSError."""
        self._lake.mkdir(parents=True, exist_ok=True)
        found: list[tuple[int, int, Path, int]] = []
        for path in self._lake.glob(f"day=*/domain=*/kind=*/*{SUFFIX}"):
            parts = path.name.removeprefix(".").removesuffix(SUFFIX).rsplit("-", 2)
            if len(parts) != 3 or f"{parts[0]}-" != self._writer.prefix or not (parts[1] + parts[2]).isdecimal():
                continue
            if path.name.startswith("."):
                _remove_abandoned(path)
                continue
            with contextlib.suppress(FileNotFoundError):
                found.append((int(parts[1]), int(parts[2]), path, path.stat().st_size))
        earlier = (life for life, _, path, _ in found if life < self._writer.life and path.parent.name == EVENTS_FOLDER)
        self.life_before = max(earlier, default=0)
        for _, _, path, size in sorted(found):
            self._count_in(path, size)
        self._make_room()

    def write(self, table: pa.Table, day: str, kind: str) -> Path:
        """One more segment. Raises OSError, and then there is nothing of it."""
        writer = self._writer
        folder = self._lake / f"day={day}" / f"domain={quote(writer.domain, safe='')}" / f"kind={kind}"
        folder.mkdir(parents=True, exist_ok=True)
        self._number += 1
        path = folder / f"{writer.prefix}{writer.life}-{self._number:06d}{SUFFIX}"
        hidden = path.with_name(f".{path.name}")
        try:
            with hidden.open("xb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # By name: so it needs no lock of the interpreter. Numbers rarely repeat, names nearly always.
                names = [field.name for field in table.schema if pa.types.is_string(field.type)]
                pq.write_table(table, str(hidden), compression="zstd", use_dictionary=names, write_page_checksum=True)
                if self._synced:
                    os.fsync(file.fileno())
                size = os.fstat(file.fileno()).st_size
                hidden.rename(path)
        except BaseException:
            with contextlib.suppress(OSError):
                hidden.unlink()
            raise
        if self._synced:
            _sync_folder(folder)
        self._count_in(path, size)
        self._make_room()
        return path

    def _count_in(self, path: Path, size: int) -> None:
        counts = max(size, SEGMENT_BYTES_MIN)
        self._known.append((path, counts))
        self.bytes += counts

    def _make_room(self) -> None:
        """The newest one stays, however large it is."""
        while self.bytes > self._bytes_max and len(self._known) > 1:
            path, counts = self._known.popleft()
            self.bytes -= counts
            self.deleted += 1
            with contextlib.suppress(OSError):
                path.unlink()


def _remove_abandoned(path: Path) -> None:
    """Remove what was never finished, unless somebody is writing it."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
