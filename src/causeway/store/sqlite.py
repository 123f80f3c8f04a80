"""The store on disk: SQLite in WAL mode with synchronous=FULL, one table of rows, a checksum per row.

Owns: the data directory (its lock, database and log), what is done about a malformed database, and the words in
which the disk's complaints reach people. Must not know: threads (it is called from one at a time), what rows mean.

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

import errno
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from causeway.errors import StoreCorrupt, StoreError
from causeway.limits import PAGE_ROWS_MAX, STORE_CACHE_BYTES_MAX, STORE_CHECK_BYTES_MAX, WAL_BYTES_MAX
from causeway.store.base import GroupUsage, Page, Put, Row, Write
from causeway.store.identity import draw_storage_id
from causeway.store.lock import DirectoryLock
from causeway.store.wal import commit_frames, is_damaged

FORMAT: Final = 1
FILE_NAME: Final = "store.db"
CONDEMNED_NAME: Final = "store.condemned"
"""Left when a running broker finds its database malformed: the next open sets the database aside."""

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


class SqliteStore:
    """A Store in the directory `path`, created when it does not exist."""

    def __init__(self, path: Path, draw: Callable[[], int] = draw_storage_id) -> None:
        self.path = path
        self.recovered_from: Path | None = None
        """Where a malformed database was moved by `open`; None when there was nothing wrong."""
        self._draw = draw
        self._file = path / FILE_NAME
        self._log = path / f"{FILE_NAME}-wal"
        self._lock = DirectoryLock(path)
        self._database: sqlite3.Connection | None = None

    @property
    def condemned(self) -> list[Path]:
        """Malformed databases that were ever set aside here and were not taken away since."""
        return sorted(self.path.glob(f"{FILE_NAME}.corrupt-*"))

    def open(self) -> int:
        """Open or create, setting a malformed database aside; the storage's id."""
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
        deletes, puts = _net(writes)
        if not deletes and not puts:
            return
        with self._errors_mapped():
            database = self._opened()
            try:
                database.execute("begin immediate")
                _execute_many(database, _DELETES, deletes, 3)
                _execute_many(database, _PUTS, puts, 5)
                database.execute("commit")
            except BaseException:
                # Some errors have rolled back already, and a broken disk may refuse this too: the first error counts.
                with suppress(sqlite3.Error):
                    database.rollback()
                raise

    def scan(self, group: bytes, start: bytes, stop: bytes, bytes_max: int) -> Page:
        """A stretch of rows in key order; rows whose checksum fails are named, not returned."""
        where, bounds = "grp = ? and key >= ?", [group, start]
        if stop:
            where += " and key < ?"
            bounds.append(stop)
        rows: list[Row] = []
        corrupt: list[bytes] = []
        size = count = 0
        with self._errors_mapped():
            found = self._opened().execute(f"select key, seq, crc, value from rows where {where} order by key", bounds)
            for key, seq, crc, value in found:
                if crc == _checksum(group, key, seq, value):
                    rows.append(Row(key, seq, value))
                else:
                    corrupt.append(key)
                size += len(value)
                count += 1
                if size >= bytes_max or count >= PAGE_ROWS_MAX:
                    found.close()
                    return Page(rows, corrupt, self._first_key(where, [group, key + b"\0", *bounds[2:]]))
        return Page(rows, corrupt, None)

    def usage(self) -> list[GroupUsage]:
        """Rows and bytes per group, in the order of the groups' keys."""
        with self._errors_mapped():
            found = self._opened().execute(
                "select grp, count(*), sum(length(value)) from rows indexed by sqlite_autoindex_rows_1 group by grp"
            )
            return [GroupUsage(group, rows, size) for group, rows, size in found]

    def close(self) -> None:
        """Fold the log into the database and let go of the directory; idempotent."""
        database, self._database = self._database, None
        try:
            if database is not None:
                # What was committed is durable in the log already: a failure here costs nothing.
                with suppress(sqlite3.Error):
                    database.close()
        finally:
            self._lock.release()

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            raise StoreError(f"the store in {self.path} is not open")
        return self._database

    def _first_key(self, where: str, bounds: list[bytes]) -> bytes | None:
        row = self._opened().execute(f"select key from rows where {where} order by key limit 1", bounds).fetchone()
        return None if row is None else bytes(row[0])

    def _open_or_replace(self) -> int:
        log_alone = self._size(self._file) == 0 and self._size(self._log) > 0
        if log_alone or (self.path / CONDEMNED_NAME).exists():
            # SQLite would delete a log without a database; and what broke a running broker would break it again.
            self._set_aside()
        try:
            return self._open_database()
        except StoreCorrupt:
            self._set_aside()
        except sqlite3.DatabaseError as error:
            if _primary_code(error) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            self._set_aside()
        return self._open_database()

    def _open_database(self) -> int:
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
        if not tables:
            return self._create(database)
        self._check(database, tables)
        return self._meta(database, "storage")

    def _create(self, database: sqlite3.Connection) -> int:
        storage = self._draw()
        database.execute("begin immediate")
        for statement in _SCHEMA:
            database.execute(statement)
        database.execute("insert into meta values ('format', ?), ('storage', ?)", (FORMAT, storage))
        database.execute("commit")
        self._sync_directory(self.path)
        self._sync_directory(self.path.parent)
        return storage

    def _check(self, database: sqlite3.Connection, tables: set[str]) -> None:
        if not {"meta", "rows"} <= tables:
            raise StoreError(f"{self._file} is a database of something else; give the broker a directory of its own")
        found = self._meta(database, "format")
        if found != FORMAT:
            raise StoreError(
                f"{self._file} has format {found}, this version reads format {FORMAT}; "
                "start the version of Causeway that wrote it, or give the broker another directory"
            )
        if self._size(self._file) <= STORE_CHECK_BYTES_MAX:
            verdict = database.execute("pragma integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise StoreCorrupt(f"{self._file} is malformed: {verdict}")

    def _meta(self, database: sqlite3.Connection, name: str) -> int:
        row = database.execute("select value from meta where name = ?", (name,)).fetchone()
        if row is None:
            raise StoreCorrupt(f"{self._file} has lost its {name}")
        return int(row[0])

    def _set_aside(self) -> None:
        """Move the database and its log to unused names. Renamed while open, so that closing deletes nothing."""
        number = 1
        while (aside := self.path / f"{FILE_NAME}.corrupt-{number}").exists():
            number += 1
        for source, target in ((self._log, self.path / f"{aside.name}-wal"), (self._file, aside)):
            with suppress(FileNotFoundError):
                source.rename(target)
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()
        (self.path / CONDEMNED_NAME).unlink(missing_ok=True)
        self._sync_directory(self.path)
        self.recovered_from = aside

    @staticmethod
    def _size(file: Path) -> int:
        try:
            return file.stat().st_size
        except FileNotFoundError:
            return 0

    @staticmethod
    def _sync_directory(directory: Path) -> None:
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
            mapped = _explain_sqlite(self.path, error)
            if isinstance(mapped, StoreCorrupt):
                with suppress(OSError):
                    (self.path / CONDEMNED_NAME).touch()
            raise mapped from error
        except OSError as error:
            raise _explain_system(self.path, error) from error


def _net(writes: Sequence[Write]) -> tuple[list[bytes], list[bytes | int]]:
    """What the writes come to, as parameters of deletes, then puts: a delete takes back earlier puts in its range."""
    deletes: list[bytes] = []
    groups: dict[bytes, dict[bytes, Put]] = {}
    for write in writes:
        if isinstance(write, Put):
            rows = groups.get(write.group)
            if rows is None:
                rows = groups[write.group] = {}
            rows[write.key] = write
            continue
        stop = write.stop or write.start + b"\0"
        deletes += (write.group, write.start, stop)
        rows = groups.get(write.group)
        if rows:
            for key in [key for key in rows if write.start <= key < stop]:
                del rows[key]
    puts: list[bytes | int] = []
    for rows in groups.values():
        for put in rows.values():
            puts += (put.group, put.key, put.seq, _checksum(put.group, put.key, put.seq, put.value), put.value)
    return deletes, puts


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


def _primary_code(error: sqlite3.Error) -> int:
    code = getattr(error, "sqlite_errorcode", None)
    return 0 if code is None else code & 0xFF


_FULL: Final = "the disk is full; free some space or move the data directory, then start the broker again"
_UNWRITABLE: Final = "the data directory is not writable; let the broker write there, or name another one"


def _explain_sqlite(path: Path, error: sqlite3.Error) -> StoreError:
    code = _primary_code(error)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(
            f"{path}: the database is malformed ({error}); start the broker again: it sets the database aside "
            "and gets its rows from the copies on other brokers"
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreError(f"{path}: {_FULL}")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreError(f"{path}: {_UNWRITABLE} ({error})")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(f"{path}: another program holds the database ({error}); close that program")
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(f"{path}: the disk failed ({error}); check its health, free space and quotas")
    return StoreError(f"{path}: the database refused ({error})")


def _explain_system(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"{path}: {_FULL}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(f"{path}: {_UNWRITABLE} ({error.strerror})")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StoreError(f"{path}: it, or something above it, is not a directory; name one for the data")
    return StoreError(f"{path}: the data directory cannot be used ({error.strerror or error}); name another one")
