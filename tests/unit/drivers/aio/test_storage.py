"""Group commit: order, atomicity of what waits, and what happens when the disk says no."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from causeway.core.effects import Load, Persist
from causeway.core.events import Loaded
from causeway.drivers.aio import storage as storage_module
from causeway.drivers.aio.storage import InlineStorage, ThreadStorage
from causeway.errors import StoreError
from causeway.store.base import Page, Put, Write
from causeway.store.memory import MemoryStore
from tests.unit.drivers.aio.stage import wait_until

GROUP = b"g" * 16
LOAD = Load(9, GROUP, b"", b"", 1 << 20)


class GatedStore(MemoryStore):
    """A memory store whose commits wait for a gate, like a slow disk."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.commits: list[list[Write]] = []
        self.error: BaseException | None = None
        self.threads: set[str] = set()
        self.open()

    def commit(self, writes: Sequence[Write]) -> None:
        self.entered.set()
        assert self.gate.wait(10)
        self.threads.add(threading.current_thread().name)
        if self.error is not None:
            raise self.error
        self.commits.append(list(writes))
        super().commit(writes)


def persist(number: int, size: int = 1) -> Persist:
    return Persist([Put(GROUP, b"%04d" % number, number, b"x" * size)], token=number)


def tokens(results: list[Persist | Loaded]) -> list[int]:
    return [result.token for result in results]


class Desk:
    """A thread storage over a gated store, and what it reports."""

    def __init__(self) -> None:
        self.store = GatedStore()
        self.results: list[Persist | Loaded] = []
        self.errors: list[BaseException] = []
        self.storage = ThreadStorage(self.store, self.results.extend, self.errors.append)

    async def wait_entered(self) -> None:
        await wait_until(self.store.entered.is_set)


async def test_everything_that_waits_goes_into_one_commit() -> None:
    desk = Desk()
    desk.storage.submit([persist(1)], [])
    await desk.wait_entered()
    for number in range(2, 12):
        desk.storage.submit([persist(number)], [])
    desk.store.gate.set()
    await wait_until(lambda: len(desk.results) == 11)
    assert [len(commit) for commit in desk.store.commits] == [1, 10]
    assert tokens(desk.results) == list(range(1, 12))
    assert desk.store.threads == {"causeway-store"}
    desk.storage.close()


async def test_load_sees_what_was_written_before_it_and_nothing_written_after() -> None:
    desk = Desk()
    desk.storage.submit([persist(1)], [])
    await desk.wait_entered()
    desk.storage.submit([persist(2)], [LOAD])
    desk.storage.submit([persist(3)], [])
    desk.storage.submit([persist(4)], [LOAD])
    desk.store.gate.set()
    await wait_until(lambda: len(desk.results) == 6)
    assert tokens(desk.results) == [1, 2, 9, 3, 4, 9]
    pages = [[row.seq for row in result.page.rows] for result in desk.results if isinstance(result, Loaded)]
    assert pages == [[1, 2], [1, 2, 3, 4]]
    desk.storage.close()


async def test_group_is_cut_where_it_becomes_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "COMMIT_BYTES_MAX", 1000)
    desk = Desk()
    desk.storage.submit([persist(1)], [])
    await desk.wait_entered()
    desk.storage.submit([persist(number, 400) for number in range(2, 9)], [])
    desk.store.gate.set()
    await wait_until(lambda: len(desk.results) == 8)
    assert [len(commit) for commit in desk.store.commits] == [1, 3, 3, 1]
    desk.storage.close()


@pytest.mark.parametrize("error", [StoreError("planted: full"), ZeroDivisionError("planted")])
async def test_failed_commit_is_reported_and_nothing_after_it_is(error: BaseException) -> None:
    desk = Desk()
    desk.store.error = error
    desk.storage.submit([persist(1)], [])
    await desk.wait_entered()
    desk.storage.submit([persist(2)], [LOAD])
    desk.store.gate.set()
    await wait_until(lambda: desk.errors)
    desk.store.error = None
    desk.storage.submit([persist(3)], [])
    desk.storage.close()
    await wait_until(lambda: not desk.storage._thread.is_alive())
    assert desk.errors == [error]
    assert desk.results == []
    assert desk.store.commits == []


async def test_close_finishes_what_was_submitted_and_closes_the_store() -> None:
    desk = Desk()
    for number in range(1, 6):
        desk.storage.submit([persist(number)], [])
    desk.store.gate.set()
    desk.storage.close()
    desk.storage.close()
    assert sum(len(commit) for commit in desk.store.commits) == 5
    with pytest.raises(StoreError, match="not open"):
        desk.store.commit([])


async def test_results_arrive_on_the_loop_thread() -> None:
    seen: list[str] = []
    store = GatedStore()
    store.gate.set()
    storage = ThreadStorage(store, lambda _: seen.append(threading.current_thread().name), lambda _: None)
    storage.submit([persist(1)], [])
    await wait_until(lambda: seen)
    assert seen == [threading.current_thread().name]
    storage.close()


def test_memory_is_written_and_read_at_once_in_order() -> None:
    store = MemoryStore()
    store.open()
    results: list[Persist | Loaded] = []
    storage = InlineStorage(store, results.extend)
    writes = [persist(1), persist(2)]
    storage.submit(writes, [LOAD])
    assert results[:2] == writes
    loaded = results[2]
    assert isinstance(loaded, Loaded)
    assert loaded.page == Page(store.scan(GROUP, b"", b"", 100).rows, [], None)
    assert len(loaded.page.rows) == 2
    storage.close()
    with pytest.raises(StoreError, match="not open"):
        store.commit([])
