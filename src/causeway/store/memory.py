"""The store of a broker that chose `memory`: rows in sorted lists, gone with the process.

Owns: nothing but rows. Must not know: files, threads, what rows mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from causeway.errors import StoreError
from causeway.limits import PAGE_ROWS_MAX
from causeway.store.base import Page, Put, Row, Write
from causeway.store.identity import draw_storage_id
from causeway.store.layer import LayerGroup


class MemoryStore:
    """A Store without a disk; opening it again after a close finds what it held, like a disk."""

    def __init__(self, draw: Callable[[], int] = draw_storage_id) -> None:
        self._draw = draw
        self._id = 0
        self._opened = False
        self._groups: dict[bytes, LayerGroup] = {}

    def open(self) -> int:
        """Draw the storage's id the first time, return it again afterwards."""
        if not self._id:
            self._id = self._draw()
        self._opened = True
        return self._id

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply in order. Nothing in here can fail half way."""
        self._check_open()
        for write in writes:
            group = self._groups.get(write.group)
            if isinstance(write, Put):
                if group is None:
                    group = self._groups[write.group] = LayerGroup()
                group.put(write.key, Row(write.key, write.seq, write.value))
            elif group is not None:
                group.remove(write.start, write.stop or write.start + b"\0")
                if not group.keys:
                    del self._groups[write.group]

    def scan(self, group: bytes, start: bytes, stop: bytes, bytes_max: int) -> Page:
        """A stretch of rows in key order."""
        self._check_open()
        found = self._groups.get(group)
        rows: list[Row] = []
        if found is None:
            return Page(rows, [], None)
        size = 0
        for key, row in found.between(start, stop):
            assert row is not None, "memory does not rot"
            if rows and (size >= bytes_max or len(rows) >= PAGE_ROWS_MAX):
                return Page(rows, [], key)
            rows.append(row)
            size += len(row.value)
        return Page(rows, [], None)

    def groups(self) -> list[bytes]:
        """Groups that have rows, in order."""
        return sorted(self._groups)

    def close(self) -> None:
        """Refuse further use until opened again."""
        self._opened = False

    def _check_open(self) -> None:
        if not self._opened:
            raise StoreError("the memory store is not open")
