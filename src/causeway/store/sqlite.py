"""The table of rows on disk: SQLite in WAL mode with synchronous=FULL, a checksum per row.

Owns: the database, its log, and how both are checked. Must not know: the journal above it, threads (it is called from
one at a time), what rows mean.

Why it is built so (single runs of 1.5 s with rows of 8 KiB, 1 to 32 per commit, on a shared machine):
- A rowid table with the key as an index: values of a few KiB then lie on leaf pages instead of in the B-tree's inner
  nodes; 11 to 44 % more commits per second than WITHOUT ROWID at 4 KiB pages. Pages of 16 KiB were slower, 8 KiB no
  better except at 32 rows.
- Few statements per commit, each for many rows. The interpreter lock is let go and taken again around every
  statement, and beside a thread that never lets go of it that wait decides how fast a commit is (1.5 to 2.6 times
  faster than a statement per row there; no difference when the interpreter is idle).
- Freed pages are reused, never given back (no auto_vacuum): a queue's file stays at its high-water mark, which it
  will need again. Simpler; incremental vacuum showed no clear cost or gain.
- No page is spilled into the log before its commit, and the lock is exclusive: no shared-memory file, and whatever
  lies in the log was meant to be durable (see `wal`).
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from causeway.errors import StoreCorrupt, StoreError
from causeway.limits import STORE_CACHE_BYTES_MAX, STORE_CHECK_BYTES_MAX, WAL_BYTES_MAX
from causeway.store.base import Delete, Row
from causeway.store.wal import commit_frames, is_damaged

FORMAT: Final = 3
"""1 had no journal; 1 and 2 had other keys for names (`types.key_of`)."""
FILE_NAME: Final = "store.db"
LOG_NAME: Final = f"{FILE_NAME}-wal"
PAGE_BYTES: Final = 4096

_SCHEMA: Final = (
    "create table meta (name text primary key, value integer not null) without rowid",
    "create table rows (grp blob not null, key blob not null, seq integer not null, crc integer not null,"
    " value blob not null, primary key (grp, key))",
)
_RANGE: Final = "select rowid from rows where grp = ? and key >= ? and key < ?"
_DELETES: Final = {
    1 << n: f"delete from rows where rowid in ({' union all '.join([_RANGE] * (1 << n))})" for n in range(6)
}
_PUTS: Final = {1 << n: f"insert or replace into rows values {','.join(['(?,?,?,?,?)'] * (1 << n))}" for n in range(7)}
"""Statements by number of rows: any number is a sum of these, so that few different ones are ever prepared."""

GroupRow = tuple[bytes, bytes, Row | None]
"""Group, key and row; None for a row whose value is damaged."""


class RowTable:
    """The rows of a data directory. Raises sqlite3.Error, and StoreError for what SQLite does not see."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / FILE_NAME
        self._log = directory / LOG_NAME
        self._database: sqlite3.Connection | None = None

    def open(self) -> bool:
        """Connect; whether there is a table already. Raises StoreCorrupt for damage."""
        if _size(self._file) == 0 and _size(self._log) > 0:
            raise StoreCorrupt(f"{self._log} has lost its database")  # SQLite would delete it
        commits = commit_frames(self._log)
        database = sqlite3.connect(self._file, timeout=0.5, isolation_level=None, check_same_thread=False)
        self._database = database
        for pragma in (
            f"page_size = {PAGE_BYTES}",
            "locking_mode = exclusive",
            "journal_mode = wal",
            "synchronous = full",
            f"wal_autocheckpoint = {WAL_BYTES_MAX // PAGE_BYTES}",
            f"journal_size_limit = {WAL_BYTES_MAX}",
            f"cache_size = -{STORE_CACHE_BYTES_MAX // 1024}",
            "cache_spill = off",
        ):
            database.execute(f"pragma {pragma}").fetchall()
        tables = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
        readable = database.execute("pragma wal_checkpoint(passive)").fetchone()[1]
        if is_damaged(commits, readable):
            raise StoreCorrupt(f"the log {self._log} is damaged")
        if tables:
            self._check(tables)
        return bool(tables)

    def create(self, storage: int) -> None:
        """An empty table of the storage `storage`."""
        database = self.opened()
        database.execute("begin immediate")
        for statement in _SCHEMA:
            database.execute(statement)
        for name, value in (("format", FORMAT), ("storage", storage)):
            self.set_meta(name, value)
        database.execute("commit")

    def meta(self, name: str, default: int | None = None) -> int:
        """A number kept beside the rows. Kept twice, as no checksum covers it."""
        find = "select value from meta where name = ?"
        row, twin = (self.opened().execute(find, (key,)).fetchone() for key in (name, _twin(name)))
        if row is None and default is not None and twin is None:
            return default
        if row is None or (twin is not None and twin[0] != ~row[0]):
            raise StoreCorrupt(f"{self._file} has lost its {name}")
        return int(row[0])

    def set_meta(self, name: str, value: int) -> None:
        """Keep a number beside the rows, in the commit under way."""
        put = "insert or replace into meta values (?, ?), (?, ?)"
        self.opened().execute(put, (name, value, _twin(name), ~value))

    def change(self, deletes: Sequence[Delete], puts: Sequence[GroupRow], meta: dict[str, int]) -> None:
        """Delete, then put, and set numbers kept beside the rows, all in one commit."""
        database = self.opened()
        try:
            database.execute("begin immediate")
            _execute_many(database, _DELETES, [part for gone in deletes for part in _range(gone)], 3)
            _execute_many(database, _PUTS, [part for put in puts for part in _checked(*put)], 5)
            for name, value in meta.items():
                self.set_meta(name, value)
            database.execute("commit")
        except BaseException:
            # Some errors have rolled back already, and a broken disk may refuse this too: the first error counts.
            with suppress(sqlite3.Error):
                database.rollback()
            raise

    def rows(self, group: bytes, start: bytes, stop: bytes) -> Iterator[tuple[bytes, Row | None]]:
        """Rows with start <= key < stop (stop empty: to the group's end), in key order; None where one is damaged."""
        where, bounds = "grp = ? and key >= ?", [group, start]
        if stop:
            where += " and key < ?"
            bounds.append(stop)
        found = self.opened().execute(f"select key, seq, crc, value from rows where {where} order by key", bounds)
        try:
            for key, seq, crc, value in found:
                yield key, Row(key, seq, value) if crc == _checksum(group, key, seq, value) else None
        finally:
            found.close()

    def keys(self) -> Iterator[tuple[bytes, bytes]]:
        """Group and key of every row."""
        yield from self.opened().execute("select grp, key from rows indexed by sqlite_autoindex_rows_1")

    def close(self) -> None:
        """Fold SQLite's log into the database; idempotent."""
        database, self._database = self._database, None
        if database is not None:
            # What was committed is durable in the log already: a failure here costs nothing.
            with suppress(sqlite3.Error):
                database.close()

    def opened(self) -> sqlite3.Connection:
        """The connection. Raises StoreError if there is none."""
        if self._database is None:
            raise StoreError(f"the store in {self._file.parent} is not open")
        return self._database

    def _check(self, tables: set[str]) -> None:
        if not {"meta", "rows"} <= tables:
            raise StoreError(f"{self._file} is a database of something else; give the broker a directory of its own")
        found = self.meta("format")
        if found != FORMAT:
            raise StoreError(
                f"{self._file} has format {found}, this version reads format {FORMAT} only; "
                "start the version of Causeway that wrote it to read its messages, or give the broker another directory"
            )
        if _size(self._file) <= STORE_CHECK_BYTES_MAX:
            verdict = self.opened().execute("pragma integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise StoreCorrupt(f"{self._file} is malformed: {verdict}")


def _twin(name: str) -> str:
    return f"not {name}"


def _range(gone: Delete) -> tuple[bytes, bytes, bytes]:
    return gone.group, gone.start, gone.stop or gone.start + b"\0"


def _checked(group: bytes, key: bytes, row: Row | None) -> tuple[bytes, bytes, int, int, bytes]:
    if row is None:
        return group, key, 0, ~_checksum(group, key, 0, b""), b""  # stays known as damaged
    return group, key, row.seq, _checksum(group, key, row.seq, row.value), row.value


def _execute_many(
    database: sqlite3.Connection, statements: dict[int, str], parameters: Sequence[bytes | int], width: int
) -> None:
    count, size, at = len(parameters) // width, max(statements), 0
    while count:
        while size > count:
            size >>= 1
        database.execute(statements[size], parameters[at : at + size * width])
        at += size * width
        count -= size


def _checksum(group: bytes, key: bytes, seq: int, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(b"".join((group, key, seq.to_bytes(8, "big", signed=True)))))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
