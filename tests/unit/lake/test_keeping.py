"""Few segments in place of many, and old days retired: readers see every row once, and seals still hold."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from causeway.errors import ConfigError, LakeError
from causeway.lake import keeping, segments
from causeway.lake.days import DAY
from causeway.lake.keeping import compact, retain
from causeway.lake.limits import MERGED_AT_ONCE
from causeway.lake.locations import Location
from causeway.lake.seal import RetiredSums, row_digest
from causeway.lake.segments import SegmentFolder, WriterName
from causeway.lake.table import listing
from causeway.lake.writer import LakeWriter
from causeway.trace import Step
from tests.unit.lake.lakes import rows_of, some_record

BROKER = WriterName("b1", "broker", 5, "north")
TODAY = time.time_ns() // DAY


def write(lake: Path, rolls: int, *, day: int = TODAY, writer: WriterName = BROKER, ended: bool = False) -> LakeWriter:
    made = LakeWriter(lake, writer, copies=3)
    for number in range(rolls):
        made.take([some_record(2 * number + at + 1, at=day * DAY + number) for at in range(2)])
        made.roll()
    if ended:
        made.close(day * DAY + rolls)
    return made


def names(lake: Path, kind: str = "events") -> list[str]:
    return [one.location.name for one in listing(str(lake), kind).live]


def seals_hold(rows: list[dict[str, Any]]) -> bool:
    digests = sum(map(row_digest, rows))
    seals = 0
    for row in rows:
        if row["step"] == Step.SEALED:
            seals += int(row["note"])
        if row["step"] == Step.RETIRED:
            sums = msgspec.json.decode(row["note"], type=RetiredSums)
            digests, seals = digests + sums.digests, seals + sums.seals
    return digests == seals


def all_rows(lake: Path) -> list[dict[str, Any]]:
    found = listing(str(lake), "events").live
    return [row for one in found for row in segments.read_table(one.location).to_pylist()]


# Writers --------------------------------------------------------------------------------------------------------------
def test_writer_makes_one_segment_of_twelve_and_one_of_twelve_of_these(tmp_path: Path) -> None:
    write(tmp_path, MERGED_AT_ONCE**2 + 3)
    assert names(tmp_path) == [
        "broker-b1-5-000001_000144.parquet",
        *(f"broker-b1-5-{number:06}.parquet" for number in (145, 146, 147)),
    ]
    rows = rows_of(tmp_path)
    assert [row["sequence"] for row in rows] == list(range(1, 2 * 147 + 1))
    assert seals_hold(all_rows(tmp_path))


def test_writer_that_ends_leaves_one_segment(tmp_path: Path) -> None:
    write(tmp_path, 5, ended=True)
    assert names(tmp_path) == ["broker-b1-5-000001_000006.parquet"]
    assert len(rows_of(tmp_path)) == 11
    assert seals_hold(all_rows(tmp_path))


def test_what_writers_replace_stays_for_readers_and_goes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(segments.time, "monotonic", lambda: now[0])
    writer = write(tmp_path, MERGED_AT_ONCE)
    assert len(listing(str(tmp_path), "events").replaced) == MERGED_AT_ONCE
    now[0] += segments.REPLACED_SECONDS
    writer.take([some_record(1, at=TODAY * DAY)])
    writer.roll()
    writer.folder.close()
    # What the end of the life has merged is the only thing that anybody may still be reading.
    assert [one.location.name for one in listing(str(tmp_path), "events").replaced] == [
        "broker-b1-5-000001_000012.parquet",
        "broker-b1-5-000013.parquet",
    ]


def test_next_life_counts_what_there_is_and_removes_what_was_replaced_long_ago(tmp_path: Path) -> None:
    write(tmp_path, MERGED_AT_ONCE)
    folder = SegmentFolder(tmp_path, BROKER._replace(life=6), 1 << 30)
    folder.open()
    assert folder.life_before == 5
    assert len(listing(str(tmp_path), "events").replaced) == MERGED_AT_ONCE
    age(tmp_path)
    SegmentFolder(tmp_path, BROKER._replace(life=6), 1 << 30).open()
    assert not listing(str(tmp_path)).replaced
    assert len(rows_of(tmp_path)) == 2 * MERGED_AT_ONCE


def age(lake: Path) -> None:
    """All files of the lake are two hours older."""
    for path in lake.rglob("*.parquet"):
        os.utime(path, (time.time() - 7200, time.time() - 7200))


def test_writer_that_cannot_merge_goes_on_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> int:
        raise OSError("disk full")

    monkeypatch.setattr(segments, "merge", failing)
    writer = write(tmp_path, MERGED_AT_ONCE + 1, ended=True)
    assert (writer.failures, writer.missing) == (0, 0)
    assert len(names(tmp_path)) == MERGED_AT_ONCE + 2
    assert Step.GAP not in [row["step"] for row in rows_of(tmp_path)]


def test_writer_leaves_alone_what_somebody_else_has_compacted(tmp_path: Path) -> None:
    writer = write(tmp_path, 7)
    compact(str(tmp_path), idle=0)
    for number in range(MERGED_AT_ONCE):
        writer.take([some_record(100 + number, at=TODAY * DAY)])
        writer.roll()
    writer.close(TODAY * DAY)
    rows = rows_of(tmp_path)  # a LakeError if two had taken the place of one
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))


def test_readers_see_every_row_once_while_segments_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MERGED_AT_ONCE", 3)
    write(tmp_path, 1)
    writing = threading.Thread(target=write, args=(tmp_path, 80), kwargs={"writer": BROKER._replace(life=6)})
    writing.start()
    looks, most = 0, 0
    while writing.is_alive() or not looks:
        rows = [row["sequence"] for row in rows_of(tmp_path) if row["life"] == 6]
        assert rows == list(range(1, len(rows) + 1))
        looks, most = looks + 1, len(rows)
    writing.join()
    assert len(rows_of(tmp_path)) == 2 + 160
    assert looks > 1
    assert most > 0


# compact --------------------------------------------------------------------------------------------------------------
def test_compacted_lake_has_the_same_rows_in_few_segments(tmp_path: Path) -> None:
    write(tmp_path, 5)
    write(tmp_path, 4, writer=BROKER._replace(name="b2"))
    rows, measured = rows_of(tmp_path), rows_of(tmp_path, "telemetry")
    found = compact(str(tmp_path), idle=0)
    assert found.segments_after < found.segments_before
    assert names(tmp_path) == ["broker-b1-5-000001_000005.parquet", "broker-b2-5-000001_000004.parquet"]
    assert (rows_of(tmp_path), rows_of(tmp_path, "telemetry")) == (rows, measured)
    assert seals_hold(all_rows(tmp_path))
    assert compact(str(tmp_path), idle=0).segments_before == found.segments_after
    age(tmp_path)
    assert compact(str(tmp_path)).removed == found.replaced
    assert not listing(str(tmp_path)).replaced


def test_segments_apart_by_one_that_is_missing_are_not_made_one(tmp_path: Path) -> None:
    write(tmp_path, 5)
    next(tmp_path.rglob("kind=events/*-000003.parquet")).unlink()
    compact(str(tmp_path), idle=0)
    assert names(tmp_path) == ["broker-b1-5-000001_000002.parquet", "broker-b1-5-000004_000005.parquet"]
    assert [row["sequence"] for row in rows_of(tmp_path)] == [1, 2, 3, 4, 7, 8, 9, 10]


def test_what_was_written_lately_is_left_to_its_writer(tmp_path: Path) -> None:
    write(tmp_path, 5)
    assert compact(str(tmp_path)).replaced == 0
    age(tmp_path)
    assert compact(str(tmp_path)).replaced > 0


def test_segments_with_other_columns_are_not_made_one(tmp_path: Path) -> None:
    write(tmp_path, 3)
    path = next(tmp_path.rglob("kind=events/*-000003.parquet"))
    table = segments.read_table(Location("", str(path)))
    path.unlink()
    segments.write_rows(Location("", str(path)), [table.append_column("later", pa.array([1] * table.num_rows))])
    compact(str(tmp_path), idle=0)
    assert names(tmp_path) == ["broker-b1-5-000001_000002.parquet", "broker-b1-5-000003.parquet"]


def test_damaged_segment_stops_compaction_and_is_named(tmp_path: Path) -> None:
    write(tmp_path, 3)
    path = next(tmp_path.rglob("kind=events/*-000002.parquet"))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(LakeError, match="cannot be read"):
        compact(str(tmp_path), idle=0)
    assert len(names(tmp_path)) == 3


def test_interrupted_compaction_leaves_a_whole_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 5)
    rows = rows_of(tmp_path)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(segments.pq.ParquetWriter, "write_table", killed)
        with pytest.raises(KeyboardInterrupt):
            compact(str(tmp_path), idle=0)
    assert rows_of(tmp_path) == rows
    (
        tmp_path / listing(str(tmp_path), "events").live[0].location.parent.path / ".broker-b1-5-000001_000005.parquet"
    ).touch()
    compact(str(tmp_path), idle=0)
    assert rows_of(tmp_path) == rows
    assert not list(tmp_path.rglob(".*.parquet"))


def test_nobody_else_keeps_the_same_lake_meanwhile(tmp_path: Path) -> None:
    write(tmp_path, 2)
    with keeping._alone(str(tmp_path)), pytest.raises(LakeError, match="by somebody else"):
        compact(str(tmp_path), idle=0)
    with pytest.raises(ConfigError, match="no such folder"):
        compact(str(tmp_path / "nowhere"))


# retain ---------------------------------------------------------------------------------------------------------------
def test_retired_days_leave_a_row_that_says_what_they_were(tmp_path: Path) -> None:
    write(tmp_path, 4, day=TODAY - 40)
    write(tmp_path, 3, writer=BROKER._replace(name="b2"))
    kept = [row for row in all_rows(tmp_path) if row["writer"] == "b2"]
    found = retain(str(tmp_path), days=30)
    assert len(found.days) == 1
    assert names(tmp_path) == ["broker-b1-5-000001_000004r.parquet", *names(tmp_path)[1:]]
    rows = all_rows(tmp_path)
    (gone,) = [row for row in rows if row["writer"] == "b1"]
    assert [row for row in rows if row["writer"] == "b2"] == kept
    assert (gone["step"], gone["first"], gone["last"], gone["copies"], gone["sequence"]) == (Step.RETIRED, 1, 8, 3, 0)
    sums = msgspec.json.decode(gone["note"], type=RetiredSums)
    assert (sums.records, sums.total, sums.sealed, sums.ended) == (8, 36, 4, False)
    assert seals_hold(rows)
    assert not list(tmp_path.rglob("kind=telemetry/broker-b1-*"))
    assert retain(str(tmp_path), days=30).days == []


def test_records_that_were_missing_before_they_were_retired_are_still_missing(tmp_path: Path) -> None:
    write(tmp_path, 4, day=TODAY - 40)
    next(tmp_path.rglob("kind=events/*-000003.parquet")).unlink()
    retain(str(tmp_path), days=30)
    notes = [msgspec.json.decode(row["note"], type=RetiredSums) for row in all_rows(tmp_path)]
    assert sum(note.records for note in notes) == 6 < max(row["last"] for row in all_rows(tmp_path))


def test_oldest_days_go_until_the_rest_is_small_enough_and_today_stays(tmp_path: Path) -> None:
    for past in (3, 2, 1, 0):
        write(tmp_path, 3, day=TODAY - past, writer=BROKER._replace(life=9 - past))
    size = listing(str(tmp_path)).size
    found = retain(str(tmp_path), bytes_max=size * 3 // 5, grace=0)
    assert len(found.days) == 2
    assert len(retain(str(tmp_path), bytes_max=1, grace=0).days) == 1
    assert {row["life"] for row in rows_of(tmp_path) if row["step"] != Step.RETIRED} == {9}
