"""The store of a broker that chose `memory`: rows in sorted lists, gone with the process.

Owns: nothing but rows. Must not know: files, threads, what rows mean.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence

from causeway.errors import StoreError
from causeway.limits import PAGE_ROWS_MAX
from causeway.store.base import GroupUsage, Page, Put, Row, Write
from causeway.store.identity import draw_storage_id


class _Group:
    __slots__ = ("bytes", "keys", "rows")

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.rows: dict[bytes, Row] = {}
        self.bytes = 0


class MemoryStore:
    """A Store without a disk; opening it again after a close finds what it held, like a disk."""

    def __init__(self, draw: Callable[[], int] = draw_storage_id) -> None:
        self._draw = draw
        self._id = 0
        self._opened = False
        self._groups: dict[bytes, _Group] = {}

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
            if isinstance(write, Put):
                self._put(write)
            else:
                self._delete(write.group, write.start, write.stop or write.start + b"\0")

    def scan(self, group: bytes, start: bytes, stop: bytes, bytes_max: int) -> Page:
        """A stretch of rows in key order."""
        self._check_open()
        found = self._groups.get(group)
        rows: list[Row] = []
        if found is None:
            return Page(rows, [], None)
        keys = found.keys
        end = bisect_left(keys, stop) if stop else len(keys)
        size = 0
        for at in range(bisect_left(keys, start), end):
            if rows and (size >= bytes_max or len(rows) >= PAGE_ROWS_MAX):
                return Page(rows, [], keys[at])
            row = found.rows[keys[at]]
            rows.append(row)
            size += len(row.value)
        return Page(rows, [], None)

    def usage(self) -> list[GroupUsage]:
        """Rows and bytes per group, in the order of the groups' keys."""
        self._check_open()
        return [GroupUsage(name, len(group.keys), group.bytes) for name, group in sorted(self._groups.items())]

    def close(self) -> None:
        """Refuse further use until opened again."""
        self._opened = False

    def _check_open(self) -> None:
        if not self._opened:
            raise StoreError("the memory store is not open")

    def _put(self, put: Put) -> None:
        group = self._groups.get(put.group)
        if group is None:
            group = self._groups[put.group] = _Group()
        before = group.rows.get(put.key)
        if before is not None:
            group.bytes -= len(before.value)
        elif not group.keys or group.keys[-1] < put.key:
            group.keys.append(put.key)
        else:
            insort(group.keys, put.key)
        group.rows[put.key] = Row(put.key, put.seq, put.value)
        group.bytes += len(put.value)

    def _delete(self, name: bytes, start: bytes, stop: bytes) -> None:
        group = self._groups.get(name)
        if group is None:
            return
        low, high = bisect_left(group.keys, start), bisect_left(group.keys, stop)
        for key in group.keys[low:high]:
            group.bytes -= len(group.rows.pop(key).value)
        del group.keys[low:high]
        if not group.keys:
            del self._groups[name]
