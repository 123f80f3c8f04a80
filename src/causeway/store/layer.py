"""Rows in memory, by group and in key order, and which keys were deleted from what lies below them.

Owns: the net effect of writes. Must not know: files, checksums, what rows mean.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Final

from causeway.store.base import Delete, Put, Row

_FILTER_BYTES: Final = 1 << 20


class Spans:
    """Disjoint spans of keys, start <= key < stop, in order."""

    __slots__ = ("starts", "stops")

    def __init__(self) -> None:
        self.starts: list[bytes] = []
        self.stops: list[bytes] = []

    def add(self, start: bytes, stop: bytes) -> None:
        """Cover these keys too; spans that touch become one."""
        if stop <= start:
            return
        low, high = bisect_left(self.stops, start), bisect_right(self.starts, stop)
        if low < high:
            start, stop = min(start, self.starts[low]), max(stop, self.stops[high - 1])
        self.starts[low:high] = [start]
        self.stops[low:high] = [stop]

    def covers(self, key: bytes) -> bool:
        """Whether a span has the key."""
        at = bisect_right(self.starts, key) - 1
        return at >= 0 and key < self.stops[at]


class LayerGroup:
    """One group's rows, and the keys deleted below them (a row above hides that)."""

    __slots__ = ("deleted", "keys", "rows")

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.rows: dict[bytes, Row | None] = {}
        """None: a row whose value is damaged."""
        self.deleted = Spans()

    def put(self, key: bytes, row: Row | None) -> None:
        """Write a row."""
        if key not in self.rows:
            if not self.keys or self.keys[-1] < key:
                self.keys.append(key)
            else:
                insort(self.keys, key)
        self.rows[key] = row

    def remove(self, start: bytes, stop: bytes) -> None:
        """Forget rows of this layer."""
        low, high = bisect_left(self.keys, start), bisect_left(self.keys, stop)
        for key in self.keys[low:high]:
            del self.rows[key]
        del self.keys[low:high]

    def between(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, Row | None]]:
        """Rows with start <= key < stop (stop empty: to the end), in key order."""
        end = bisect_left(self.keys, stop) if stop else len(self.keys)
        for at in range(bisect_left(self.keys, start), end):
            yield self.keys[at], self.rows[self.keys[at]]

    def hides(self, key: bytes) -> bool:
        """Whether what lies below under this key is not to be seen."""
        return key in self.rows or self.deleted.covers(key)


class Layer:
    """What writes came to, in the order in which they came."""

    __slots__ = ("groups",)

    def __init__(self) -> None:
        self.groups: dict[bytes, LayerGroup] = {}

    def put(self, write: Put, *, sound: bool = True) -> None:
        """Write a row; one whose value is damaged if not `sound`."""
        group = self.groups.get(write.group)
        if group is None:
            group = self.groups[write.group] = LayerGroup()
        group.put(write.key, Row(write.key, write.seq, write.value) if sound else None)

    def delete(self, write: Delete, *, below: bool) -> None:
        """Remove rows of this layer and, where there may be some below, hide those."""
        group = self.groups.get(write.group)
        if group is None:
            if not below:
                return
            group = self.groups[write.group] = LayerGroup()
        stop = write.stop or write.start + b"\0"
        group.remove(write.start, stop)
        if below:
            group.deleted.add(write.start, stop)


class Filter:
    """Which keys the table may have: never denies one that it has, seldom affirms one that it has not."""

    __slots__ = ("_marks",)

    def __init__(self, rows: Iterator[tuple[bytes, bytes]]) -> None:
        self._marks = bytearray(_FILTER_BYTES)
        for group, key in rows:
            self.add(group, key)

    def add(self, group: bytes, key: bytes) -> None:
        """The table has this key from now on."""
        self._marks[hash((group, key)) & (_FILTER_BYTES - 1)] = 1

    def may_have(self, group: bytes, key: bytes) -> bool:
        """Whether to reckon with this key."""
        return bool(self._marks[hash((group, key)) & (_FILTER_BYTES - 1)])
