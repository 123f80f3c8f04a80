"""A store and the system below it: killed processes, full disks, forbidden and shared directories."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.errors import StoreError
from causeway.limits import MIB
from causeway.store.disk import DiskStore
from tests.disks import open_store

GROUP = b"g" * 16


def rows(store: DiskStore) -> dict[bytes, bytes]:
    page = store.scan(GROUP, b"", b"", 1 << 30)
    assert page.corrupt == []
    return {row.key: row.value for row in page.rows}


# Crashes ----------------------------------------------------------------------------------------------------------
CRASHER = """
import sys
from pathlib import Path
from causeway.store.base import Delete, Put
from tests.disks import open_store
from causeway.store.disk import DiskStore
store = DiskStore(Path(sys.argv[1]))
store.open()
start = int(sys.argv[2])
for number in range(start, start + 100_000):
    writes = [Put(b"g" * 16, b"%08d-%d" % (number, part), number, b"%08d" % number * 300) for part in range(5)]
    store.commit([*writes, Delete(b"g" * 16, b"", b"%08d" % max(0, number - 20))])
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_killed_in_the_middle_of_commits_store_has_all_that_was_confirmed_and_no_half_commit(
    data: Path, stores: list[DiskStore]
) -> None:
    confirmed = -1
    for round_number in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", CRASHER, str(data), str(confirmed + 1)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            confirmed = int(line)
            if confirmed >= 150 * (round_number + 1):
                break
        process.send_signal(signal.SIGKILL)
        confirmed = max([confirmed, *(int(line) for line in process.stdout.read().split("\n")[:-1])])
        process.stdout.close()
        process.wait(10)

        store = open_store(data, stores)
        assert store.recovered_from is None
        found: dict[int, int] = {}
        for key, value in rows(store).items():
            number = int(key[:8])
            assert value == key[:8] * 300
            found[number] = found.get(number, 0) + 1
        assert set(found.values()) == {5}
        assert max(found) in (confirmed, confirmed + 1)
        assert min(found) == max(found) - 20
        assert len(found) == 21
        confirmed = max(found)
        store.close()


# Directories ------------------------------------------------------------------------------------------------------
def test_second_store_on_the_same_directory_is_refused(data: Path, stores: list[DiskStore]) -> None:
    open_store(data, stores)
    with pytest.raises(StoreError, match=rf"directory {data} is in use by another program \(pid {os.getpid()}\)"):
        DiskStore(data).open()


def test_directory_is_free_again_after_close(data: Path, stores: list[DiskStore]) -> None:
    open_store(data, stores).close()
    open_store(data, stores)


def test_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="not a directory") as caught:
            DiskStore(path).open()
        assert str(path) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_forbidden_directory_is_refused(data: Path) -> None:
    data.mkdir()
    data.chmod(0o500)
    with pytest.raises(StoreError, match="not writable") as caught:
        DiskStore(data).open()
    assert str(data) in str(caught.value)


def test_directory_on_a_read_only_system_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError, match=r"not writable; let the broker write there"):
        DiskStore(data).open()


FILLER = """
import sys
from pathlib import Path
from causeway.errors import StoreError
from causeway.store.base import Put
from tests.disks import open_store
from causeway.store.disk import DiskStore
store = DiskStore(Path(sys.argv[1]))
done = -1
try:
    store.open()
    for number in range(10_000):
        store.commit([Put(b"g" * 16, b"%08d" % number, number, b"x" * 100_000)])
        done = number
except StoreError as error:
    print(done, error)
    # What was confirmed is still there, and the store can still be read.
    print(len(store.scan(b"g" * 16, b"", b"", 1 << 30).rows))
"""


def test_full_disk_is_named_with_its_remedy_and_costs_nothing_confirmed(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no right to mount a small file system")
    try:
        data = small / "data"
        result = subprocess.run(
            [sys.executable, "-c", FILLER, str(data)], capture_output=True, text=True, timeout=60, check=True
        )
        first, second = result.stdout.splitlines()
        done, _, text = first.partition(" ")
        assert (
            text == f"{data}: the disk is full; free some space or move the data directory, then start the broker again"
        )
        assert int(second) == int(done) + 1 > 5
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_disk_that_refuses_to_grow_is_named(data: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MIB, 2 * MIB))

    result = subprocess.run(
        [sys.executable, "-c", FILLER, str(data)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        preexec_fn=limit,
    )
    first, second = result.stdout.splitlines()
    done, _, text = first.partition(" ")
    assert text.startswith(f"{data}: the disk ")
    assert "free" in text
    assert int(second) == int(done) + 1 > 5
