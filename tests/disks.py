"""Stores in a directory of their own, closed at the end of the test, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.store.sqlite import SqliteStore


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def stores() -> Iterator[list[SqliteStore]]:
    opened: list[SqliteStore] = []
    yield opened
    for store in opened:
        store.close()


def open_store(data: Path, stores: list[SqliteStore]) -> SqliteStore:
    store = SqliteStore(data)
    stores.append(store)
    store.open()
    return store
