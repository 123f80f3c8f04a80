from __future__ import annotations

import logging
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from causeway.lake.days import DAY
from causeway.lake.schema import KINDS
from causeway.lake.segments import WriterName
from causeway.lake.writer import LakeWriter
from causeway.trace import Step, TraceRecord
from causeway.types import SECOND
from tests.unit.lake.lakes import rows_of, some_record, steps_of

BROKER = WriterName("b1", "broker", 5, "north")


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may grow beyond a few bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_rows_have_all_columns_of_the_schema_and_what_was_recorded(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, BROKER)
    record = TraceRecord(
        9, "b1", Step.STORED, "shop", 1 << 52, "box", 2, 1, 8, "why", 2, True, False, "", "box", "", "b2", 4, 3, 80
    )
    writer.take([record, some_record(2)])
    writer.roll()
    first, second = rows_of(tmp_path)
    assert list(first) == [column.name for column in KINDS["events"]]
    assert (first["version"], first["writer"], first["role"], first["life"]) == (2, "b1", "broker", 5)
    recorded = {name: getattr(record, name) for name in first if name in TraceRecord.__struct_fields__}
    assert recorded.items() <= first.items()
    assert len(recorded) == 20
    assert (first["sequence"], second["sequence"]) == (1, 2)
    [path] = tmp_path.glob("day=1970-01-01/domain=north/kind=telemetry/*")
    assert pq.read_schema(path).names == [column.name for column in KINDS["telemetry"]]


def test_segment_is_finished_when_it_is_old_or_large(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, BROKER, every=2 * SECOND, rows_max=10)
    writer.take([some_record(1, at=SECOND)])
    assert not writer.is_due(3 * SECOND - 1)
    assert writer.is_due(3 * SECOND)
    writer.roll(3 * SECOND)
    assert len(rows_of(tmp_path)) == 1
    writer.take([some_record(number, at=4 * SECOND) for number in range(2, 8)])
    assert len(rows_of(tmp_path)) == 1
    writer.take([some_record(number, at=4 * SECOND) for number in range(8, 12)])
    assert [row["sequence"] for row in rows_of(tmp_path)] == list(range(1, 12))


def test_second_that_goes_on_is_counted_in_one_row_and_not_forgotten(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, BROKER, every=SECOND)
    writer.take([some_record(1, at=SECOND + 1)])
    writer.roll(SECOND + 2)
    assert rows_of(tmp_path, "telemetry") == []
    writer.take([some_record(2, at=SECOND + 3)])
    assert writer.is_due(3 * SECOND)
    writer.roll(3 * SECOND)
    [row] = rows_of(tmp_path, "telemetry")
    assert (row["second"], row["messages_in"], row["depth"]) == (1, 2, 2)
    assert not writer.is_due(9 * SECOND)


def test_midnight_parts_a_segment(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, BROKER)
    writer.take([some_record(1, at=DAY - 1), some_record(2, at=DAY), some_record(3, at=DAY - 1)])
    writer.roll()
    found = {path.parts[-4]: pq.read_table(path, partitioning=None) for path in tmp_path.glob("*/*/kind=events/*")}
    assert {day: rows["first"].to_pylist() for day, rows in found.items()} == {
        "day=1970-01-01": [1, 3, 1],  # and the seal of all three
        "day=1970-01-02": [2],
    }


def test_clock_set_back_over_midnight_leaves_the_local_order(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, BROKER)
    writer.take([some_record(1, at=DAY - 1), some_record(2, at=DAY), some_record(3, at=DAY - 1)])
    writer.roll()
    assert [(row["sequence"], row["first"]) for row in rows_of(tmp_path)] == [(1, 1), (2, 2), (3, 3)]


def test_lost_records_are_a_hole_in_the_sequence_and_a_row_that_says_so(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, BROKER)
    writer.take([some_record(1)])
    writer.lose(40, "dropped: too many at once")
    writer.take([some_record(2)])
    writer.close(9)
    rows = rows_of(tmp_path)
    assert [row["sequence"] for row in rows] == [1, 42, 43, 44]
    assert steps_of(rows) == [Step.STORED, Step.GAP, Step.STORED, Step.ENDED]
    assert (rows[1]["first"], rows[1]["last"], rows[1]["note"]) == (1, 40, "dropped: too many at once")


def test_full_disk_costs_a_gap_and_one_line_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = LakeWriter(tmp_path, BROKER)
    writer.take([some_record(1)])
    with caplog.at_level(logging.ERROR, "causeway.lake"), full_disk():
        writer.roll()
        writer.take([some_record(2), some_record(3)])
        writer.roll()
    assert len(caplog.records) == 1
    assert "the trace has a gap" in caplog.text
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    writer.take([some_record(4)])
    writer.roll()
    rows = rows_of(tmp_path)
    assert steps_of(rows) == [Step.GAP, Step.STORED]
    assert [row["sequence"] for row in rows] == [5, 6]  # the row that told of the first gap is lost as well
    assert rows[0]["last"] == 3
    assert rows[0]["note"].startswith("not written: ")
    assert writer.missing == 4
    assert writer.failures > 1


def test_lake_that_is_no_folder_hurts_nobody(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file")
    writer = LakeWriter(tmp_path / "lake", BROKER)
    writer.open()
    writer.take([some_record(1)])
    writer.close(9)
    assert writer.failures
    assert writer.missing == 2


def test_number_that_no_column_holds_costs_its_own_row_only(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, BROKER)
    writer.take([some_record(1), some_record(1 << 80, at=5), some_record(3)])
    writer.close(9)
    rows = rows_of(tmp_path)
    assert [row["first"] for row in rows if row["step"] == Step.STORED] == [1, 3]
    assert writer.missing == 1
    assert Step.GAP in steps_of(rows)


def test_what_an_application_took_one_by_one_is_one_row(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, WriterName("shop", "application", 1))
    step = Step.RECEIVED
    writer.take([some_record(number, step, broker="") for number in (1, 2, 3)])
    writer.take(
        [some_record(7, Step.SENT, broker=""), some_record(4, step, broker=""), some_record(6, step, broker="")]
    )
    writer.roll()
    rows = [(row["sequence"], row["step"], row["first"], row["last"], row["bytes"]) for row in rows_of(tmp_path)]
    assert rows == [(1, step, 1, 3, 30), (2, Step.SENT, 7, 7, 10), (3, step, 4, 4, 10), (4, step, 6, 6, 10)]


def test_life_in_which_nothing_happened_writes_nothing(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, BROKER)
    writer.open()
    writer.close(9)
    assert list(tmp_path.iterdir()) == []
