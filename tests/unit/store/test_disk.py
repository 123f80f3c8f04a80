"""What only a disk can suffer: damage, a foreign file, a failed commit. (Crashes, full disks: conformance.)"""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from causeway.errors import StoreCorrupt, StoreError
from causeway.limits import JOURNAL_BYTES_MAX, MIB, WAL_BYTES_MAX
from causeway.store import sqlite as sqlite_module
from causeway.store.base import LOCAL, Delete, Put, Row
from causeway.store.disk import CONDEMNED_NAME, DiskStore
from causeway.store.journal import FILE_NAMES as JOURNAL_NAMES
from causeway.store.sqlite import FILE_NAME, LOG_NAME
from tests.disks import open_store

GROUP = b"g" * 16


def fill(data: Path, count: int = 50, size: int = 2000) -> int:
    """A closed store with `count` rows in its table; its id."""
    store = DiskStore(data, journal_bytes_max=1)  # every commit folds the one before it
    number = store.open()
    store.commit([Put(GROUP, b"%04d" % n, n, b"%04d" % n * (size // 4)) for n in range(count)])
    store.commit([Put(LOCAL, b"k", 1, b"v")])
    store.close()
    return number


def rows(store: DiskStore) -> dict[bytes, bytes]:
    page = store.scan(GROUP, b"", b"", 1 << 30)
    assert page.corrupt == []
    return {row.key: row.value for row in page.rows}


# Damage -----------------------------------------------------------------------------------------------------------
def flip(file: Path, content: bytes, offset: int = 0) -> None:
    """Flip a bit of the place where `content` lies in the file."""
    image = bytearray(file.read_bytes())
    at = image.index(content)
    image[at + offset] ^= 0x04
    file.write_bytes(image)


def test_flipped_bit_in_a_value_is_reported_and_the_other_rows_are_found(data: Path, stores: list[DiskStore]) -> None:
    number = fill(data)
    flip(data / FILE_NAME, b"0007" * 400, 800)
    store = DiskStore(data)
    stores.append(store)
    assert store.open() == number
    assert store.recovered_from is None
    page = store.scan(GROUP, b"", b"", 1 << 30)
    assert page.corrupt == [b"0007"]
    assert [row.key for row in page.rows] == [b"%04d" % n for n in range(50) if n != 7]


def test_corrupt_row_written_again_is_healed(data: Path, stores: list[DiskStore]) -> None:
    fill(data)
    flip(data / FILE_NAME, b"0007" * 400, 800)
    store = open_store(data, stores)
    store.commit([Put(GROUP, b"0007", 7, b"from a copy")])
    page = store.scan(GROUP, b"0007", b"0008", 100)
    assert (page.rows, page.corrupt) == ([Row(b"0007", 7, b"from a copy")], [])


def test_changed_sequence_number_is_reported(data: Path, stores: list[DiskStore]) -> None:
    fill(data, 3)
    database = sqlite3.connect(data / FILE_NAME)
    database.execute("update rows set seq = seq + 1 where key = ?", (b"0001",))
    database.commit()
    database.close()
    assert open_store(data, stores).scan(GROUP, b"", b"", 1 << 30).corrupt == [b"0001"]


def expect_set_aside(data: Path, stores: list[DiskStore], before: int, content: bytes) -> DiskStore:
    """Open a damaged store: fresh, with a new id, and the damaged file kept as it was found."""
    store = DiskStore(data)
    stores.append(store)
    assert store.open() != before
    assert store.recovered_from == data / f"{FILE_NAME}.corrupt-1"
    assert store.recovered_from.read_bytes() == content
    assert rows(store) == {}
    store.commit([Put(GROUP, b"k", 1, b"new life")])
    assert rows(store) == {b"k": b"new life"}
    return store


def test_garbage_instead_of_a_database_is_set_aside(data: Path, stores: list[DiskStore]) -> None:
    number = fill(data)
    garbage = b"this is not a database, and never was. " * 1000
    (data / FILE_NAME).write_bytes(garbage)
    expect_set_aside(data, stores, number, garbage)


def test_truncated_database_is_set_aside(data: Path, stores: list[DiskStore]) -> None:
    number = fill(data)
    image = (data / FILE_NAME).read_bytes()
    cut = image[: len(image) // 2]
    (data / FILE_NAME).write_bytes(cut)
    expect_set_aside(data, stores, number, cut)


def test_garbled_pages_are_found_at_open_and_set_aside(data: Path, stores: list[DiskStore]) -> None:
    number = fill(data, 500)
    image = bytearray((data / FILE_NAME).read_bytes())
    image[4096 : 5 * 4096] = bytes(range(256)) * 64
    (data / FILE_NAME).write_bytes(image)
    expect_set_aside(data, stores, number, bytes(image))


def test_key_flipped_in_the_index_is_found_at_open(data: Path, stores: list[DiskStore]) -> None:
    """The row would be looked for under its right key and not be found: only the whole check sees it."""
    number = fill(data, 20, size=40)
    image = (data / FILE_NAME).read_bytes()
    in_index = image.rindex(GROUP + b"0011")
    damaged = bytearray(image)
    damaged[in_index + 19] ^= 0x40
    (data / FILE_NAME).write_bytes(damaged)
    expect_set_aside(data, stores, number, bytes(damaged))


def test_each_damaged_database_is_kept_under_its_own_name(data: Path, stores: list[DiskStore]) -> None:
    for expected in (1, 2):
        fill(data)
        (data / FILE_NAME).write_bytes(b"garbage" * 1000)
        store = open_store(data, stores)
        assert store.recovered_from == data / f"{FILE_NAME}.corrupt-{expected}"
        store.close()


def crash(data: Path, commits: int) -> Path:
    """What a crash leaves of a store that folds every commit but the last two; where it lies."""
    store = DiskStore(data, journal_bytes_max=1)
    store.open()
    for number in range(commits):
        store.commit([Put(GROUP, b"%04d" % number, number, b"%04d" % number * 25)])
    image = data.with_name("image")
    shutil.copytree(data, image)
    store.close()
    return image


def test_logs_left_by_a_crash_are_read(data: Path, stores: list[DiskStore]) -> None:
    store = open_store(crash(data, 5), stores)
    assert store.recovered_from is None
    assert len(rows(store)) == 5


def test_flipped_bit_in_the_log_of_the_table_does_not_lose_confirmed_commits_in_silence(
    data: Path, stores: list[DiskStore]
) -> None:
    image = crash(data, 5)
    flip(image / LOG_NAME, b"0001" * 25, 10)
    store = open_store(image, stores)
    assert store.recovered_from is not None
    assert rows(store) == {}
    assert b"0003" * 25 in (image / f"{store.recovered_from.name}-wal").read_bytes()


@pytest.mark.parametrize("size", [None, 0])
@pytest.mark.parametrize("name", [FILE_NAME, *JOURNAL_NAMES])
def test_files_without_one_of_them_are_kept(data: Path, stores: list[DiskStore], name: str, size: int | None) -> None:
    image = crash(data, 5)
    (image / name).unlink()
    if size is not None:
        (image / name).touch()
    store = open_store(image, stores)
    assert store.recovered_from is not None
    assert rows(store) == {}
    for other in {LOG_NAME, *JOURNAL_NAMES} - {name}:
        suffix = "-wal" if other == LOG_NAME else f"-{other}"
        assert (image / f"{store.recovered_from.name}{suffix}").stat().st_size > 0


def test_number_of_what_is_folded_is_not_believed_when_it_changed(data: Path, stores: list[DiskStore]) -> None:
    image = crash(data, 5)
    database = sqlite3.connect(image / FILE_NAME)
    database.execute("update meta set value = value + 1 where name = 'folded'")
    database.commit()
    database.close()
    assert open_store(image, stores).recovered_from is not None


def test_damage_found_while_running_is_reported_and_the_next_open_sets_the_database_aside(
    data: Path, stores: list[DiskStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it were too large to be checked as a whole when it is opened.
    monkeypatch.setattr(sqlite_module, "STORE_CHECK_BYTES_MAX", 0)
    fill(data, 2000)
    store = open_store(data, stores)
    with (data / FILE_NAME).open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xa5" * 4096 * 1000)
    with pytest.raises(StoreCorrupt) as caught:
        store.scan(GROUP, b"", b"", 1 << 30)
    assert str(data) in str(caught.value)
    assert "start the broker again" in str(caught.value)
    assert (data / CONDEMNED_NAME).exists()
    store.close()

    again = open_store(data, stores)
    assert again.recovered_from is not None
    assert not (data / CONDEMNED_NAME).exists()
    assert rows(again) == {}


# Somebody else's file ---------------------------------------------------------------------------------------------
def test_database_of_another_program_is_refused_and_left_alone(data: Path) -> None:
    data.mkdir()
    database = sqlite3.connect(data / FILE_NAME)
    database.execute("create table photos (name text)")
    database.close()
    with pytest.raises(StoreError, match="something else; give the broker a directory of its own"):
        DiskStore(data).open()
    assert sorted(path.name for path in data.iterdir()) == ["lock", FILE_NAME]


@pytest.mark.parametrize("version", [1, 2, 99])
def test_format_of_another_version_is_refused_and_left_alone(data: Path, version: int) -> None:
    fill(data, 1)
    database = sqlite3.connect(data / FILE_NAME)
    database.execute("update meta set value = ? where name = 'format'", (version,))
    database.execute("delete from meta where name = 'not format'")
    database.commit()
    database.close()
    with pytest.raises(StoreError, match=rf"has format {version},.*start the version of Causeway that wrote it"):
        DiskStore(data).open()
    assert not list(data.glob("*.corrupt-*"))


# Size -------------------------------------------------------------------------------------------------------------
def test_space_of_deleted_rows_is_reused_and_the_log_stays_bounded(data: Path, stores: list[DiskStore]) -> None:
    store = open_store(data, stores)
    value = os.urandom(100_000)
    for number in range(600):
        store.commit([Put(GROUP, b"%08d" % number, number, value), Delete(GROUP, b"", b"%08d" % max(0, number - 10))])
    assert sum((data / name).stat().st_size for name in JOURNAL_NAMES) <= 2 * (JOURNAL_BYTES_MAX + MIB)
    assert (data / FILE_NAME).stat().st_size < 4 * MIB
    assert (data / f"{FILE_NAME}-wal").stat().st_size < WAL_BYTES_MAX + 4 * MIB


def test_failed_commit_leaves_nothing_behind(
    data: Path, stores: list[DiskStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it nobody knows what the disk holds, so nothing more is written before the store is opened again."""
    store = open_store(data, stores)
    store.commit([Put(LOCAL, b"k", 1, b"before")])

    def refuse(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        with pytest.raises(StoreError, match="the disk failed"):
            store.commit([Put(LOCAL, b"%d" % number, 2, b"half") for number in range(65)])
    with pytest.raises(StoreError, match="open the store again"):
        store.commit([Put(LOCAL, b"k", 3, b"after")])
    assert store.scan(LOCAL, b"", b"", 100).rows == [Row(b"k", 1, b"before")]
    store.close()


def test_failed_fold_leaves_the_table_as_it_was(
    data: Path, stores: list[DiskStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DiskStore(data, journal_bytes_max=1)
    stores.append(store)
    store.open()
    store.commit([Put(LOCAL, b"k", 1, b"before")])
    with monkeypatch.context() as patch:
        patch.setitem(sqlite_module._PUTS, 1, "insert into no_such_table values (?, ?, ?, ?, ?)")
        with pytest.raises(StoreError, match="no_such_table"):
            store.commit([Put(LOCAL, b"l", 2, b"confirmed by nobody")])
    store.close()
    assert open_store(data, stores).scan(LOCAL, b"", b"", 100).rows[0] == Row(b"k", 1, b"before")


def test_text_of_other_refusals_names_the_path(data: Path, stores: list[DiskStore]) -> None:
    fill(data, 1)
    other = sqlite3.connect(data / FILE_NAME, isolation_level=None)
    other.execute("pragma locking_mode = exclusive")
    other.execute("begin exclusive")
    try:
        store = DiskStore(data)
        stores.append(store)
        with pytest.raises(StoreError, match="another program holds the database") as caught:
            store.open()
        assert str(data) in str(caught.value)
    finally:
        other.close()
