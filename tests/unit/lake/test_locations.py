from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from causeway.errors import ConfigError
from causeway.lake.locations import locate


@pytest.mark.parametrize(
    ("text", "shown", "path"),
    [
        ("lake", "lake", "lake"),
        ("/data/lake/", "/data/lake/", "/data/lake/"),
        ("file:///data/lake", "file:///data/lake", "/data/lake"),
        ("s3://traces/lake", "s3a://traces/lake", "traces/lake"),
        ("s3a://traces/lake", "s3a://traces/lake", "traces/lake"),
        ("hdfs://head:8020/lake", "hdfs://head:8020/lake", "/lake"),
    ],
)
def test_place_has_a_name_for_spark_and_a_path_for_arrow(text: str, shown: str, path: str) -> None:
    place = locate(text)
    assert (str(place), place.path) == (shown, path)
    assert str(place / "day=1") == f"{shown.rstrip('/')}/day=1"
    assert (place / "a" / "b").name == "b"
    assert (place / "a" / "b").parent == place / "a"


def test_store_without_a_bucket_or_a_file_system_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match="names no bucket"):
        locate("s3a://")
    with pytest.raises(ConfigError, match=r"floppy.*cannot be used"):
        locate("floppy://a/b").exists()


@pytest.mark.parametrize("root", ["", "file://"])
def test_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path, root: str) -> None:
    place = locate(f"{root}{tmp_path}/a/b.txt")
    place.write(b"one")
    place.write(b"two")
    assert (place.read(), place.exists(), place.is_folder()) == (b"two", True, False)

    def fail() -> None:
        with place.written() as hidden:
            Path(hidden.path).write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert place.read() == b"two"
    assert os.listdir(tmp_path / "a") == ["b.txt"]


def test_what_somebody_writes_is_not_removed_and_what_nobody_does_is(tmp_path: Path) -> None:
    hidden = tmp_path / ".x.parquet"
    with hidden.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        locate(str(hidden)).remove_abandoned()
        assert hidden.exists()
        with pytest.raises(BlockingIOError), locate(str(tmp_path / "x.parquet")).written():
            pass
        assert hidden.exists()
    locate(str(hidden)).remove_abandoned()
    assert not hidden.exists()


def test_folders_are_listed_and_removed(tmp_path: Path) -> None:
    place = locate(str(tmp_path))
    for name in ("b/2", "a/1"):
        (place / name).write(b"x")
    assert [entry.location.name for entry in place.entries()] == ["a", "b"]
    assert [entry.location.name for entry in place.entries(deep=True) if not entry.is_folder] == ["1", "2"]
    assert place.matching("[a]") == [place / "a"]
    (place / "a").remove_folder()
    (place / "a").remove_folder()
    (place / "b" / "2").remove()
    (place / "b" / "2").remove()
    assert os.listdir(tmp_path / "b") == []
    assert (place / "nowhere").entries() == []
