from __future__ import annotations

import os
from pathlib import Path

import pytest

from causeway.errors import StoreError
from causeway.store.lock import DirectoryLock


def test_second_holder_is_told_who_has_the_directory(tmp_path: Path) -> None:
    first, second = DirectoryLock(tmp_path), DirectoryLock(tmp_path)
    first.take()
    with pytest.raises(StoreError) as caught:
        second.take()
    assert f"directory {tmp_path} is in use by another program (pid {os.getpid()})" in str(caught.value)
    assert "directory of its own" in str(caught.value)
    first.release()


def test_released_lock_can_be_taken_by_another(tmp_path: Path) -> None:
    first, second = DirectoryLock(tmp_path), DirectoryLock(tmp_path)
    first.take()
    first.release()
    first.release()
    second.take()
    second.release()


def test_refused_lock_leaves_no_descriptor_open(tmp_path: Path) -> None:
    holder = DirectoryLock(tmp_path)
    holder.take()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        with pytest.raises(StoreError):
            DirectoryLock(tmp_path).take()
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    holder.release()
    assert after == before
