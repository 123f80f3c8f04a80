"""The store on disk: a journal of commits, what they come to in memory, and a table of rows below.

A commit is appended to the journal, synced, and applied to a layer in memory. When the journal's file is full, its
layer is folded: its rows move to the table, in key order, a slice after every commit, while the next commits go to the
other file and a new layer. What was put and deleted meanwhile never reaches the table, and how many groups a commit
touches does not matter to the disk. Reading merges layer over layer over table.

Owns: the data directory, its lock, and what is done about damage: everything is set aside, never deleted, and the
store begins anew. Must not know: threads (it is called from one at a time), what rows mean.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Final

from causeway.errors import StoreCorrupt, StoreError
from causeway.limits import JOURNAL_BYTES_MAX, PAGE_ROWS_MAX
from causeway.store.base import Delete, Page, Put, Row, Write
from causeway.store.complaints import explain_sqlite, explain_system, primary_code
from causeway.store.identity import draw_storage_id
from causeway.store.journal import FILE_NAMES as JOURNAL_NAMES
from causeway.store.journal import Journal, Record
from causeway.store.layer import Filter, Layer, LayerGroup
from causeway.store.lock import DirectoryLock
from causeway.store.sqlite import FILE_NAME, LOG_NAME, GroupRow, RowTable

CONDEMNED_NAME: Final = "store.condemned"
"""Left when a running broker finds its database malformed: the next open sets it aside."""


class DiskStore:
    """A Store in the directory `path`, created when it does not exist."""

    def __init__(
        self, path: Path, draw: Callable[[], int] = draw_storage_id, *, journal_bytes_max: int = JOURNAL_BYTES_MAX
    ) -> None:
        self.path = path
        self.recovered_from: Path | None = None
        """Where a malformed database was moved by `open`; None when there was nothing wrong."""
        self._draw = draw
        self._journal_bytes_max = journal_bytes_max
        self._lock = DirectoryLock(path)
        self._table = RowTable(path)
        self._journal: Journal | None = None
        self._layer = Layer()
        """What the file in use comes to."""
        self._folding: _Folding | None = None
        """The layer below it, if it is not yet in the table."""
        self._filter = Filter(iter(()))

    @property
    def condemned(self) -> list[Path]:
        """Malformed databases that were ever set aside here and were not taken away since."""
        return sorted(
            found for found in self.path.glob(f"{FILE_NAME}.corrupt-*") if found.suffix[len(".corrupt-") :].isdigit()
        )

    def open(self) -> int:
        """Open or create, setting a damaged store aside; the storage's id."""
        with self._errors_mapped():
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.take()
            try:
                return self._open_or_replace()
            except BaseException:
                self.close()
                raise

    def commit(self, writes: Sequence[Write]) -> None:
        """All or nothing, durable on return."""
        if not writes:
            self._table.opened()
            return
        with self._errors_mapped():
            journal = self._opened()
            if journal.is_full:
                self._fold(1.0)
                self._folding = _Folding(self._layer, journal.number)
                self._layer = Layer()
                journal.turn()
            journal.append(writes)
            self._apply(writes)
            # Twice as fast as the file fills: folded long before the next turn, in small slices.
            self._fold(2 * journal.filled / journal.bytes_max)

    def scan(self, group: bytes, start: bytes, stop: bytes, bytes_max: int) -> Page:
        """A stretch of rows in key order; rows whose checksum fails are named, not returned."""
        rows: list[Row] = []
        corrupt: list[bytes] = []
        size = 0
        with self._errors_mapped():
            self._opened()
            for key, row in self._merged(group, start, stop):
                if len(rows) + len(corrupt) and (size >= bytes_max or len(rows) + len(corrupt) >= PAGE_ROWS_MAX):
                    return Page(rows, corrupt, key)
                if row is None:
                    corrupt.append(key)
                else:
                    rows.append(row)
                    size += len(row.value)
        return Page(rows, corrupt, None)

    def close(self) -> None:
        """Let go of the directory; idempotent. What is in the journal stays there until it is folded."""
        journal, self._journal = self._journal, None
        try:
            if journal is not None:
                journal.close()
            self._table.close()
        finally:
            self._lock.release()

    def _opened(self) -> Journal:
        if self._journal is None:
            raise StoreError(f"the store in {self.path} is not open")
        return self._journal

    def _apply(self, writes: Sequence[Write], *, sound: bool = True) -> None:
        layer = self._layer
        for write in writes:
            if isinstance(write, Put):
                layer.put(write, sound=sound)
            else:
                # A row that came and went since the last turn left no trace below: nothing to delete there later.
                layer.delete(write, below=bool(write.stop) or self._may_be_below(write.group, write.start))

    def _may_be_below(self, group: bytes, key: bytes) -> bool:
        if self._folding is not None:
            older = self._folding.layer.groups.get(group)
            if older is not None and key in older.rows:
                return True
        return self._filter.may_have(group, key)

    # Layers ------------------------------------------------------------------------------------------------------
    def _merged(self, group: bytes, start: bytes, stop: bytes) -> Iterator[tuple[bytes, Row | None]]:
        """Rows by key; of two with the same key the one of the higher layer."""
        above: list[LayerGroup] = []
        layers = [self._layer] if self._folding is None else [self._layer, self._folding.layer]
        streams: list[Iterator[tuple[bytes, Row | None]]] = []
        for layer in layers:
            found = layer.groups.get(group)
            if found is not None:
                streams.append(_visible(found.between(start, stop), above.copy()))
                above.append(found)
        streams.append(_visible(self._table.rows(group, start, stop), above))
        return streams[0] if len(streams) == 1 else merge(*streams, key=_key)

    def _fold(self, share: float) -> None:
        """Move the older layer's rows into the table until this share of it is there."""
        if self._folding is None:
            return
        deletes, puts = self._folding.take(share, above=self._layer)
        if deletes or puts or share >= 1:
            for group, key, _ in puts:
                self._filter.add(group, key)
            # What the newest commit hides was not moved: from now on that commit may not be missing.
            meta = {"confirmed": self._opened().number}
            if share >= 1:
                meta["folded"] = self._folding.number
            self._table.change(deletes, puts, meta)
        if share >= 1:
            self._folding = None

    # Opening -----------------------------------------------------------------------------------------------------
    def _open_or_replace(self) -> int:
        if (self.path / CONDEMNED_NAME).exists():
            self._set_aside()  # what broke a running broker would break it again
        try:
            return self._open_files()
        except StoreCorrupt:
            self._set_aside()
        except sqlite3.DatabaseError as error:
            if primary_code(error) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            self._set_aside()
        return self._open_files()

    def _open_files(self) -> int:
        existed = self._table.open()
        storage = self._table.meta("storage") if existed else self._draw()
        journal = Journal(self.path, storage, self._journal_bytes_max)
        if not existed and journal.has_records():
            raise StoreCorrupt(f"the journal in {self.path} has lost its database")
        if not existed:
            # The journal before the table that counts on it.
            journal.create()
            self._sync_directories()
            self._table.create(storage)
            self._sync_directories()
        self._journal = journal
        self._filter = Filter(self._table.keys())
        older, newer = journal.open(self._table.meta("folded", 0), self._table.meta("confirmed", 0))
        self._layer, self._folding = Layer(), None
        if older:
            self._replay(older)
            self._folding = _Folding(self._layer, older[-1].number)
            self._layer = Layer()
        self._replay(newer)
        return storage

    def _replay(self, records: list[Record]) -> None:
        for record in records:
            self._apply(record.writes, sound=record.sound)

    def _set_aside(self) -> None:
        """Move everything to unused names. Renamed while open, so that closing deletes nothing."""
        number = 1
        while (aside := self.path / f"{FILE_NAME}.corrupt-{number}").exists():
            number += 1
        for name, suffix in ((LOG_NAME, "-wal"), *((name, f"-{name}") for name in JOURNAL_NAMES), (FILE_NAME, "")):
            with suppress(FileNotFoundError):
                (self.path / name).rename(self.path / f"{aside.name}{suffix}")
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()
        self._table.close()
        (self.path / CONDEMNED_NAME).unlink(missing_ok=True)
        self._sync_directories()
        self.recovered_from = aside

    def _sync_directories(self) -> None:
        for directory in (self.path, self.path.parent):
            handle = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    @contextmanager
    def _errors_mapped(self) -> Iterator[None]:
        """The one place where the disk's and SQLite's errors become ours."""
        try:
            yield
        except sqlite3.Error as error:
            mapped = explain_sqlite(self.path, error)
            if isinstance(mapped, StoreCorrupt):
                with suppress(OSError):
                    (self.path / CONDEMNED_NAME).touch()
            raise mapped from error
        except OSError as error:
            raise explain_system(self.path, error) from error


class _Folding:
    """A layer on its way into the table. It stays whole, and is read, until all of it is there."""

    def __init__(self, layer: Layer, number: int) -> None:
        self.layer = layer
        self.number = number
        """Of the journal's last record in this layer."""
        self._total = sum(len(group.keys) + len(group.deleted.starts) for group in layer.groups.values())
        self._taken = 0
        self._rest = _changes(layer)

    def take(self, share: float, *, above: Layer) -> tuple[list[Delete], list[GroupRow]]:
        """What to delete and then to put until this share is moved, without the rows that the layer above hides."""
        count = int(self._total * min(1.0, share))
        deletes: list[Delete] = []
        puts: list[GroupRow] = []
        for change in islice(self._rest, max(0, count - self._taken)):
            if isinstance(change, Delete):
                deletes.append(change)
                continue
            group = above.groups.get(change[0])
            if group is None or not group.hides(change[1]):
                puts.append(change)
        self._taken = max(count, self._taken)
        return deletes, puts


def _changes(layer: Layer) -> Iterator[Delete | GroupRow]:
    for name, group in sorted(layer.groups.items()):
        for start, stop in zip(group.deleted.starts, group.deleted.stops, strict=True):
            yield Delete(name, start, stop)
        for key in group.keys:
            yield name, key, group.rows[key]


def _visible(rows: Iterator[tuple[bytes, Row | None]], above: list[LayerGroup]) -> Iterator[tuple[bytes, Row | None]]:
    if not above:
        return rows
    return (found for found in rows if not any(group.hides(found[0]) for group in above))


def _key(found: tuple[bytes, Row | None]) -> bytes:
    return found[0]
