"""The log as SQLite writes it, damaged on purpose."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from causeway.store.wal import FRAME, HEADER, commit_frames, is_damaged

PAGE = 4096


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a database after five commits of one page each, as a crash would leave it."""
    database = sqlite3.connect(tmp_path / "db", isolation_level=None)
    database.execute(f"pragma page_size = {PAGE}")
    database.execute("pragma journal_mode = wal")
    database.execute("create table t (v integer)")
    for number in range(4):
        database.execute("insert into t values (?)", (number,))
    copy = tmp_path / "left-behind"
    copy.write_bytes((tmp_path / "db-wal").read_bytes())
    database.close()
    return copy


def frame_count(log: Path) -> int:
    return (log.stat().st_size - HEADER.size) // (FRAME.size + PAGE)


def test_every_commit_is_found(log: Path) -> None:
    commits = commit_frames(log)
    assert commits is not None
    assert len(commits) == 5
    assert commits[-1] == frame_count(log)


def test_log_that_was_read_to_its_end_is_not_damaged(log: Path) -> None:
    assert not is_damaged(commit_frames(log), frame_count(log))


def test_one_unreadable_commit_is_a_torn_tail(log: Path) -> None:
    commits = commit_frames(log)
    assert commits is not None
    assert not is_damaged(commits, commits[-2])


def test_two_unreadable_commits_are_damage(log: Path) -> None:
    commits = commit_frames(log)
    assert commits is not None
    assert is_damaged(commits, commits[-3])


def test_frames_of_an_earlier_generation_do_not_count(log: Path) -> None:
    content = bytearray(log.read_bytes())
    for number in range(2, frame_count(log)):
        at = HEADER.size + number * (FRAME.size + PAGE)
        content[at + 8] ^= 0xFF
    log.write_bytes(content)
    commits = commit_frames(log)
    assert commits is not None
    assert max(commits) <= 2


def test_missing_empty_and_zeroed_logs_hold_nothing(tmp_path: Path) -> None:
    assert commit_frames(tmp_path / "none") == []
    (tmp_path / "empty").touch()
    assert commit_frames(tmp_path / "empty") == []
    (tmp_path / "zeros").write_bytes(bytes(10_000))
    assert commit_frames(tmp_path / "zeros") == []


@pytest.mark.parametrize("position", range(HEADER.size))
def test_any_flipped_bit_in_the_header_is_damage(log: Path, position: int) -> None:
    content = bytearray(log.read_bytes())
    content[position] ^= 0x10
    log.write_bytes(content)
    assert commit_frames(log) is None
    assert is_damaged(None, 0)


def test_header_cut_short_is_damage(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:20])
    assert commit_frames(log) is None
