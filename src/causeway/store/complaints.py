"""The words in which the disk's and SQLite's complaints reach people."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Final

from causeway.errors import StoreCorrupt, StoreError


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's code without its refinements."""
    code = getattr(error, "sqlite_errorcode", None)
    return 0 if code is None else code & 0xFF


_FULL: Final = "the disk is full; free some space or move the data directory, then start the broker again"
_UNWRITABLE: Final = "the data directory is not writable; let the broker write there, or name another one"


def explain_sqlite(path: Path, error: sqlite3.Error) -> StoreError:
    """What the database said about the data directory `path`."""
    code = primary_code(error)
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


def explain_system(path: Path, error: OSError) -> StoreError:
    """What the system said about the data directory `path`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StoreError(f"{path}: {_FULL}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(f"{path}: {_UNWRITABLE} ({error.strerror})")
    if error.errno == errno.EIO:
        return StoreError(f"{path}: the disk failed ({error.strerror}); check its health, free space and quotas")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StoreError(f"{path}: it, or something above it, is not a directory; name one for the data")
    return StoreError(f"{path}: the data directory cannot be used ({error.strerror or error}); name another one")
