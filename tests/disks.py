"""Stores in a directory of their own, closed at the end of the test, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.store.disk import DiskStore


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def stores() -> Iterator[list[DiskStore]]:
    opened: list[DiskStore] = []
    yield opened
    for store in opened:
        store.close()


def open_store(data: Path, stores: list[DiskStore]) -> DiskStore:
    store = DiskStore(data)
    stores.append(store)
    store.open()
    return store
