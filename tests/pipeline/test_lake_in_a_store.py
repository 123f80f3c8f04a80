"""A lake in an object store is written, read, compacted and retired like one on a disk."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from causeway.cli.main import main
from causeway.lake.days import DAY
from causeway.lake.keeping import compact, retain
from causeway.lake.limits import MERGED_AT_ONCE
from causeway.lake.locations import Location, _file_system, locate
from causeway.lake.segments import WriterName, read_table
from causeway.lake.table import listing
from causeway.lake.writer import LakeWriter
from causeway.trace import Step
from tests.store import BUCKET, object_store
from tests.unit.lake.lakes import some_record

pytest.importorskip("moto", reason="no S3 server: install the group dev")
TODAY = time.time_ns() // DAY


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Location]:
    with object_store() as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        _file_system.cache_clear()
        yield locate(BUCKET)
        _file_system.cache_clear()


def write(lake: str, rolls: int, *, day: int = TODAY, life: int = 5) -> LakeWriter:
    writer = LakeWriter(lake, WriterName("b1", "broker", life, "north"), copies=3)
    writer.open()
    for number in range(rolls):
        writer.take([some_record(number + 1, at=day * DAY + number)])
        writer.roll()
    return writer


def sequences(lake: str) -> list[int]:
    rows = [row for one in listing(lake, "events").live for row in read_table(one.location).to_pylist()]
    return [row["sequence"] for row in rows if row["step"] not in {Step.SEALED, Step.RETIRED}]


def test_files_of_a_store_are_written_listed_and_removed(bucket: Location) -> None:
    place = bucket / "out" / "result.json"
    assert not (bucket / "out").is_folder()
    place.write(b"one")
    place.write(b"two")
    assert (place.read(), place.exists(), (bucket / "out").is_folder()) == (b"two", True, True)
    assert [entry.location for entry in bucket.entries(deep=True) if not entry.is_folder] == [place]
    (bucket / "out").remove_folder()
    (bucket / "out").remove_folder()
    place.remove()
    assert not place.exists()
    with pytest.raises(FileNotFoundError):
        place.read()


def test_writer_fills_a_lake_in_a_store_and_merges_there(bucket: Location) -> None:
    lake = str(bucket / "lake")
    writer = write(lake, MERGED_AT_ONCE + 2)
    assert [one.location.name for one in listing(lake, "events").live] == [
        "broker-b1-5-000001_000012.parquet",
        "broker-b1-5-000013.parquet",
        "broker-b1-5-000014.parquet",
    ]
    assert (writer.failures, writer.missing) == (0, 0)
    assert sequences(lake) == list(range(1, MERGED_AT_ONCE + 3))
    later = LakeWriter(lake, WriterName("b1", "broker", 6, "north"))
    later.open()
    assert later.folder.life_before == 5


def test_lake_in_a_store_is_compacted_and_retired(bucket: Location, capsys: pytest.CaptureFixture[str]) -> None:
    lake = str(bucket / "lake")
    write(lake, 5, day=TODAY - 40)
    write(lake, 4, life=6)
    assert compact(lake, idle=0, grace=0).segments_after == 4
    assert sequences(lake) == [1, 2, 3, 4, 5, 1, 2, 3, 4]
    retain(lake, days=30, grace=0)
    assert sequences(lake) == [1, 2, 3, 4]
    assert main(["lake", "files", lake, "--kind", "events"]) == 0
    printed = capsys.readouterr().out.split()
    assert [path.rpartition("/")[2] for path in printed] == [
        "broker-b1-5-000001_000005r.parquet",
        "broker-b1-6-000001_000004.parquet",
    ]
    assert all(path.startswith(f"{BUCKET}/lake/day=") for path in printed)
