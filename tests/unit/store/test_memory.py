from __future__ import annotations

import pytest

from causeway.errors import StoreError
from causeway.store.base import Delete, Put, Row
from causeway.store.memory import MemoryStore

GROUP = b"g" * 16


def test_rows_put_out_of_order_are_scanned_in_order() -> None:
    store = MemoryStore()
    store.open()
    for key in (b"c", b"a", b"d", b"b"):
        store.commit([Put(GROUP, key, 1, key)])
    assert [row.key for row in store.scan(GROUP, b"", b"", 100).rows] == [b"a", b"b", b"c", b"d"]


def test_group_without_rows_is_forgotten() -> None:
    store = MemoryStore()
    store.open()
    store.commit([Put(GROUP, b"a", 1, b"xyz"), Put(GROUP, b"b", 1, b"")])
    assert store.groups() == [GROUP]
    store.commit([Delete(GROUP, b"a", b"c")])
    assert store.groups() == []


def test_id_is_drawn_once_and_rows_stay_when_opened_again() -> None:
    drawn = iter([11, 22])
    store = MemoryStore(draw=lambda: next(drawn))
    assert store.open() == 11
    store.commit([Put(GROUP, b"a", 1, b"x")])
    store.close()
    assert store.open() == 11
    assert store.scan(GROUP, b"", b"", 1).rows == [Row(b"a", 1, b"x")]


def test_use_before_open_is_refused() -> None:
    with pytest.raises(StoreError, match="not open"):
        MemoryStore().commit([])
