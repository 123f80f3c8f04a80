"""The store port: rows grouped by key, written atomically, found corruption reported instead of raised.

A row belongs to a group (16 bytes: a mailbox's key, or LOCAL for what a broker keeps for itself), has a key
(bytes, ordered), the sequence number of the operation that wrote it, and a value. Followers of a replica group
store the owner's rows without understanding them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

LOCAL: Final = bytes(16)
"""Group of the rows that a broker keeps for itself and never replicates."""


class Put(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """Write a row, replacing the one with the same key."""

    group: bytes
    key: bytes
    seq: int
    value: bytes


class Delete(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """Remove the rows with start <= key < stop; the row `start` alone when stop is empty."""

    group: bytes
    start: bytes
    stop: bytes = b""


Write = Put | Delete


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a scan finds."""

    key: bytes
    seq: int
    value: bytes


class Page(msgspec.Struct, frozen=True):
    """A stretch of rows in key order."""

    rows: list[Row]
    corrupt: list[bytes]
    """Keys whose checksum did not match; their rows are left out."""
    next: bytes | None
    """Where to go on, or None at the end."""


class Store(Protocol):
    """A handful of methods, called from one thread. Raises StoreError (full, unwritable, corrupt as a whole)."""

    def open(self) -> int:
        """Open or create; the storage's id, drawn anew when it was created."""

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply all or nothing, in order; durable on return."""

    def scan(self, group: bytes, start: bytes, stop: bytes, bytes_max: int) -> Page:
        """Rows with start <= key < stop (stop empty: to the group's end), until `bytes_max` of values is passed."""

    def close(self) -> None:
        """Release everything; idempotent."""
