from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from causeway.lake.segments import SegmentFolder, WriterName

WRITER = WriterName("shop/till-1", "application", 7, "north")
MIB = 1 << 20
ENDLESS = """
import sys
from pathlib import Path
import pyarrow as pa
from causeway.lake.segments import SegmentFolder, WriterName
folder = SegmentFolder(Path(sys.argv[1]), WriterName("w", "broker", int(sys.argv[2])), 1 << 30)
folder.open()
table = pa.table({"n": list(range(50_000))})
while True:
    print(folder.write(table, "2026-01-01", "events").name, flush=True)
"""


def table(rows: int = 10) -> pa.Table:
    return pa.table({"n": [int.from_bytes(os.urandom(6), "big") for _ in range(rows)]})


def written(folder: SegmentFolder, rows: pa.Table) -> Path:
    return Path(folder.write(rows, "2026-11-17", "events").path)


def names(lake: Path) -> list[str]:
    return sorted(path.name for path in lake.rglob("*.parquet"))


def test_segment_lies_where_readers_look_for_it(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path, WRITER, MIB)
    folder.open()
    path = written(folder, table(3))
    where = path.relative_to(tmp_path)
    assert str(where) == "day=2026-11-17/domain=north/kind=events/application-shop%2Ftill-1-7-000001.parquet"
    assert pq.read_table(path, partitioning=None).num_rows == 3


def test_oldest_segments_of_the_writer_make_room(tmp_path: Path) -> None:
    stranger = SegmentFolder(tmp_path, WriterName("shop/till-10", "application", 1, "north"), MIB)
    stranger.open()
    kept = stranger.write(table(), "2026-11-16", "events")
    folder = SegmentFolder(tmp_path, WRITER, 20_000)
    folder.open()
    paths = [written(folder, table()) for _ in range(7)]
    assert [path.exists() for path in paths] == [False] * 3 + [True] * 4  # each counts for 4096 bytes at least
    assert folder.deleted == 3
    assert folder.bytes <= 20_000
    assert kept.exists()
    later = SegmentFolder(tmp_path, WRITER._replace(life=8), 10_000)
    later.open()
    assert [path.exists() for path in paths] == [False] * 5 + [True] * 2


def test_segments_are_as_old_as_their_number_says_and_not_its_text(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path, WRITER, MIB)
    folder.open()
    first = written(folder, table())
    newest = first.rename(first.with_name("application-shop%2Ftill-1-7-1000000.parquet"))
    older = written(folder, table())
    SegmentFolder(tmp_path, WRITER._replace(life=8), 5_000).open()
    assert (newest.exists(), older.exists()) == (True, False)


def test_broker_and_application_of_one_name_count_each_their_own(tmp_path: Path) -> None:
    broker = SegmentFolder(tmp_path, WRITER._replace(role="broker"), MIB)
    broker.open()
    kept = written(broker, table())
    folder = SegmentFolder(tmp_path, WRITER, 1)
    folder.open()
    written(folder, table())
    assert kept.exists()


def test_segment_larger_than_the_bound_stays_until_the_next(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path, WRITER, 5_000)
    folder.open()
    large = written(folder, table(5_000))
    assert large.stat().st_size > 5_000
    assert large.exists()
    written(folder, table())
    assert not large.exists()


def test_nothing_is_left_of_a_segment_that_cannot_be_written(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path, WRITER, MIB)
    folder.open()
    blocked = tmp_path / "day=2026-11-17" / "domain=north" / "kind=events"
    blocked.mkdir(parents=True)
    (blocked / "application-shop%2Ftill-1-7-000001.parquet").mkdir()  # renaming a file onto a folder fails
    with pytest.raises(OSError, match="directory"):
        written(folder, table())
    assert [path.name for path in blocked.iterdir()] == ["application-shop%2Ftill-1-7-000001.parquet"]
    (blocked / "application-shop%2Ftill-1-7-000001.parquet").rmdir()
    assert written(folder, table()).exists()


def test_killed_writer_leaves_only_whole_segments_and_its_next_life_removes_the_rest(tmp_path: Path) -> None:
    written = 0
    for life in (1, 2):
        line = [sys.executable, "-c", ENDLESS, str(tmp_path), str(life)]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(3):
                assert process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            written += 3 + len(process.stdout.readlines())
    whole = [path for path in tmp_path.rglob("*.parquet") if not path.name.startswith(".")]
    assert written <= len(whole) <= written + 2  # renamed, and killed before it said so
    assert all(pq.read_table(path, partitioning=None).num_rows == 50_000 for path in whole)
    (whole[0].parent / ".broker-w-2-000099.parquet").write_bytes(b"PAR1 and then it was killed")
    SegmentFolder(tmp_path, WriterName("w", "broker", 3), 1 << 30).open()
    assert not list(tmp_path.rglob(".*"))


def test_unfinished_segment_of_a_living_writer_of_the_same_name_stays(tmp_path: Path) -> None:
    hold = (
        "import fcntl, sys; f = open(sys.argv[1], 'xb'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True);"
        "sys.stdin.read()"
    )
    where = tmp_path / "day=2026-11-17" / "domain=north" / "kind=events"
    where.mkdir(parents=True)
    hidden = where / ".application-shop%2Ftill-1-6-000004.parquet"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(hidden)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        SegmentFolder(tmp_path, WRITER, MIB).open()
        assert hidden.exists()
        other.stdin.close()
    SegmentFolder(tmp_path, WRITER, MIB).open()
    assert not hidden.exists()


def test_files_of_others_in_the_lake_are_left_alone(tmp_path: Path) -> None:
    where = tmp_path / "day=2026-11-17" / "domain=north" / "kind=events"
    where.mkdir(parents=True)
    strangers = [
        "notes.parquet",
        ".application-shop%2Ftill-10-1-000001.parquet",
        "application-shop%2Ftill-1-x-000001.parquet",
    ]
    for name in strangers:
        (where / name).write_bytes(b"")
    SegmentFolder(tmp_path, WRITER, 1).open()
    assert names(tmp_path) == sorted(strangers)
