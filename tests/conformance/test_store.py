"""One suite for every Store: what the port promises, on each implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from causeway.errors import StoreError
from causeway.limits import JOURNAL_BYTES_MAX, PAGE_ROWS_MAX
from causeway.store.base import LOCAL, Delete, Page, Put, Row, Store, Write
from causeway.store.disk import DiskStore
from causeway.store.memory import MemoryStore

A, B = b"a" * 16, b"b" * 16


class Home:
    """A place where a store lives: what was written there is found by the next store opened there."""

    def __init__(self, kind: str, path: Path) -> None:
        self._path = path
        self._memory = MemoryStore() if kind == "memory" else None
        self._journal_bytes_max = 500 if kind == "folding" else JOURNAL_BYTES_MAX
        self._opened: list[Store] = []

    def store(self) -> Store:
        store: Store = self._memory or DiskStore(self._path / "data", journal_bytes_max=self._journal_bytes_max)
        self._opened.append(store)
        return store

    def open(self) -> Store:
        store = self.store()
        store.open()
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()


@pytest.fixture(params=["memory", "disk", "folding"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    home = Home(request.param, tmp_path)
    yield home
    home.close()


@pytest.fixture
def store(home: Home) -> Store:
    return home.open()


def put(key: bytes, value: bytes = b"v", seq: int = 1, group: bytes = A) -> Put:
    return Put(group, key, seq, value)


def keys(store: Store, group: bytes = A, start: bytes = b"", stop: bytes = b"") -> list[bytes]:
    return [row.key for row in read_all(store, group, start, stop)]


def read_all(store: Store, group: bytes, start: bytes = b"", stop: bytes = b"", bytes_max: int = 1 << 20) -> list[Row]:
    rows: list[Row] = []
    at: bytes | None = start
    while at is not None:
        page = store.scan(group, at, stop, bytes_max)
        assert page.corrupt == []
        assert page.next is None or page.rows
        rows += page.rows
        at = page.next
    return rows


def test_new_store_is_empty(store: Store) -> None:
    assert store.scan(LOCAL, b"", b"", 100) == Page([], [], None)


def test_storage_id_is_positive_and_kept_when_opened_again(home: Home) -> None:
    first = home.store()
    number = first.open()
    assert 0 < number < 2**63
    first.close()
    assert home.store().open() == number


def test_storage_id_is_what_the_caller_draws(tmp_path: Path) -> None:
    makers: list[Callable[[], Store]] = [
        lambda: MemoryStore(draw=lambda: 77),
        lambda: DiskStore(tmp_path / "drawn", draw=lambda: 77),
    ]
    for make in makers:
        store = make()
        assert store.open() == 77
        store.close()


def test_rows_are_found_in_key_order_with_seq_and_value(store: Store) -> None:
    store.commit([put(b"k2", b"two", 5), put(b"k1", b"one", 2**62), put(b"k10", b"", 0)])
    assert store.scan(A, b"", b"", 100) == Page(
        [Row(b"k1", 2**62, b"one"), Row(b"k10", 0, b""), Row(b"k2", 5, b"two")], [], None
    )


def test_put_replaces_the_row_with_the_same_key(store: Store) -> None:
    store.commit([put(b"k", b"old", 1)])
    store.commit([put(b"k", b"new", 2)])
    assert read_all(store, A) == [Row(b"k", 2, b"new")]


def test_groups_do_not_see_each_other(store: Store) -> None:
    store.commit([put(b"k", b"a"), put(b"k", b"b", group=B), put(b"k", b"local", group=LOCAL)])
    store.commit([Delete(A, b"", b"\xff")])
    assert read_all(store, A) == []
    assert read_all(store, B) == [Row(b"k", 1, b"b")]
    assert read_all(store, LOCAL) == [Row(b"k", 1, b"local")]


def test_delete_without_stop_removes_one_row(store: Store) -> None:
    store.commit([put(b"k"), put(b"k\0"), put(b"l")])
    store.commit([Delete(A, b"k")])
    assert keys(store) == [b"k\0", b"l"]


def test_delete_range_includes_start_and_excludes_stop(store: Store) -> None:
    store.commit([put(bytes([n])) for n in range(10)])
    store.commit([Delete(A, bytes([3]), bytes([7]))])
    assert keys(store) == [bytes([n]) for n in (0, 1, 2, 7, 8, 9)]


def test_delete_of_what_is_not_there_does_nothing(store: Store) -> None:
    store.commit([put(b"k")])
    store.commit([Delete(B, b"k"), Delete(A, b"x"), Delete(A, b"z", b"a")])
    assert keys(store) == [b"k"]


def test_writes_of_one_commit_apply_in_order(store: Store) -> None:
    store.commit([put(b"k", b"1"), Delete(A, b"k"), put(b"k", b"2"), put(b"l"), Delete(A, b"l", b"m")])
    assert read_all(store, A) == [Row(b"k", 1, b"2")]


def test_empty_commit_is_allowed(store: Store) -> None:
    store.commit([])
    assert read_all(store, A) == []


def test_committed_rows_survive_close_and_open(home: Home) -> None:
    first = home.open()
    first.commit([put(b"k", b"kept")])
    first.close()
    assert read_all(home.open(), A) == [Row(b"k", 1, b"kept")]


def test_scan_respects_start_and_stop(store: Store) -> None:
    store.commit([put(bytes([n])) for n in range(10)])
    assert keys(store, A, bytes([3]), bytes([6])) == [bytes([3]), bytes([4]), bytes([5])]
    assert keys(store, A, bytes([8])) == [bytes([8]), bytes([9])]


def test_scan_stops_after_passing_its_bound_and_says_where_to_go_on(store: Store) -> None:
    store.commit([put(bytes([n]), b"x" * 100) for n in range(5)])
    page = store.scan(A, b"", b"", 150)
    assert [row.key for row in page.rows] == [bytes([0]), bytes([1])]
    assert page.next == bytes([2])
    page = store.scan(A, bytes([2]), bytes([4]), 150)
    assert ([row.key for row in page.rows], page.next) == ([bytes([2]), bytes([3])], None)


def test_scan_gives_at_least_one_row_whatever_its_bound(store: Store) -> None:
    store.commit([put(b"k", b"x" * 1000), put(b"l", b"y" * 1000)])
    page = store.scan(A, b"", b"", 0)
    assert ([row.key for row in page.rows], page.next) == ([b"k"], b"l")


def test_scan_of_rows_without_values_is_bounded_too(store: Store) -> None:
    count = PAGE_ROWS_MAX + 3
    store.commit([put(number.to_bytes(4, "big"), b"") for number in range(count)])
    page = store.scan(A, b"", b"", 1000)
    assert len(page.rows) == PAGE_ROWS_MAX
    assert page.next == PAGE_ROWS_MAX.to_bytes(4, "big")
    assert len(store.scan(A, page.next, b"", 1000).rows) == 3


def test_large_values_and_many_rows_fit_one_commit(store: Store) -> None:
    big = bytes(range(256)) * 4096 * 3
    store.commit([put(b"big", big), *(put(b"n%d" % n, b"s") for n in range(300))])
    assert store.scan(A, b"big", b"bih", 1).rows == [Row(b"big", 1, big)]
    assert len(keys(store)) == 301


def test_closing_twice_is_allowed_and_using_a_closed_store_is_not(home: Home) -> None:
    store = home.open()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="not open"):
        store.commit([put(b"k")])
    with pytest.raises(StoreError, match="not open"):
        store.scan(A, b"", b"", 1)


# Against a model --------------------------------------------------------------------------------------------------
GROUPS = st.sampled_from([A, B, LOCAL])
KEYS = st.binary(max_size=2)
WRITES = st.one_of(
    st.builds(Put, GROUPS, KEYS, st.integers(0, 2**63 - 1), st.binary(max_size=40)),
    st.builds(Delete, GROUPS, KEYS, KEYS),
)


def apply(model: dict[tuple[bytes, bytes], Row], write: Write) -> None:
    if isinstance(write, Put):
        model[write.group, write.key] = Row(write.key, write.seq, write.value)
        return
    for group, key in list(model):
        inside = key == write.start if not write.stop else write.start <= key < write.stop
        if group == write.group and inside:
            del model[group, key]


@pytest.mark.parametrize("kind", ["memory", "disk", "folding"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(commits=st.lists(st.lists(WRITES, max_size=12), max_size=6), bytes_max=st.integers(0, 200), reopen=st.booleans())
def test_store_agrees_with_a_dictionary(
    kind: str, commits: list[list[Write]], bytes_max: int, reopen: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = Home(kind, tmp_path_factory.mktemp("model"))
    try:
        store = home.open()
        model: dict[tuple[bytes, bytes], Row] = {}
        for commit in commits:
            store.commit(commit)
            for write in commit:
                apply(model, write)
            if reopen:
                store.close()
                store = home.open()
            for group in (A, B, LOCAL):
                expected = [row for (owner, _), row in sorted(model.items()) if owner == group]
                assert read_all(store, group, bytes_max=bytes_max) == expected
    finally:
        home.close()
