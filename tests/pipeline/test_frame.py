"""The lake is read as it was meant, whatever state it is in."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from causeway.errors import ConfigError, LakeError, PipelineError
from causeway.lake.schema import KINDS
from causeway.lake.segments import WriterName
from causeway.lake.writer import LakeWriter
from causeway.pipeline import quality
from causeway.pipeline.faults import spark_errors, translate
from causeway.pipeline.frame import read_lake
from causeway.pipeline.quality import with_checked_rows
from causeway.pipeline.session import environment_for, settings_for
from causeway.types import SECOND
from tests.pipeline.lakes import NOON, day_of, telemetry, write_lake, write_segment
from tests.unit.lake.lakes import some_record


def test_rows_come_back_with_day_and_domain(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path, "telemetry", [telemetry("a", NOON, 3), telemetry("a", NOON + 86_400, 4)], domain="north")
    found = read_lake(spark, str(tmp_path), "telemetry")
    assert found.columns == [*(column.name for column in KINDS["telemetry"]), "day", "domain"]
    rows = {(one.day, one.domain): one.messages_in for one in found.collect()}
    assert rows == {(day_of(NOON), "north"): 3, (day_of(NOON + 86_400), "north"): 4}


def test_columns_of_older_versions_are_filled_and_unknown_ones_left_out(spark: SparkSession, tmp_path: Path) -> None:
    day = day_of(NOON)
    old = [telemetry("a", NOON, 3, depth=5, item="i")]
    write_segment(tmp_path, "telemetry", old, day=day, drop=["depth", "item"], extra={"colour": "red"})
    write_segment(tmp_path, "telemetry", [telemetry("a", NOON + 1, 4, depth=7, item="i")], day=day)
    rows = sorted((one.second, one.depth, one.item) for one in read_lake(spark, str(tmp_path), "telemetry").collect())
    assert rows == [(NOON, 0, ""), (NOON + 1, 7, "i")]


def test_what_is_being_written_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    (segment,) = write_lake(tmp_path, "telemetry", [telemetry("a", NOON, 3)])
    (segment.parent / ".b1-1-000002.parquet").write_bytes(b"PAR1 half")
    assert read_lake(spark, str(tmp_path), "telemetry").count() == 1


def test_lake_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        read_lake(spark, str(tmp_path / "nowhere"), "telemetry")
    with pytest.raises(LakeError, match=r"no segments of kind=telemetry.*no folders"):
        read_lake(spark, str(tmp_path), "telemetry")
    write_lake(tmp_path, "telemetry", [telemetry("a", NOON, 3)])
    with pytest.raises(LakeError, match=r"no segments of kind=events.*it has: telemetry"):
        read_lake(spark, str(tmp_path), "events")


@pytest.mark.parametrize("size", [0, 7, 100, -1])
def test_segment_cut_short_is_named(spark: SparkSession, tmp_path: Path, size: int) -> None:
    (segment,) = write_lake(tmp_path, "telemetry", [telemetry("a", NOON, 3)])
    segment.write_bytes(segment.read_bytes()[:size])
    with pytest.raises(LakeError, match=f"{segment.name} is cut short"):
        read_lake(spark, str(tmp_path), "telemetry")


def test_segment_damaged_inside_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (segment,) = write_lake(tmp_path, "telemetry", [telemetry(f"a{n}", NOON + n, n) for n in range(500)])
    content = bytearray(segment.read_bytes())
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4:end] = b"\xff" * (end - 4)
    segment.write_bytes(content)
    with pytest.raises(LakeError, match=f"{segment.name} cannot be read"), spark_errors():
        read_lake(spark, str(tmp_path), "telemetry").agg(F.sum("messages_in")).collect()


@pytest.mark.parametrize("where", [0.2, 0.5, 0.8])
def test_flipped_bit_in_a_segment_of_a_real_writer_is_named(spark: SparkSession, tmp_path: Path, where: float) -> None:
    writer = LakeWriter(tmp_path, WriterName("b1", "broker", 1, "d1"))
    writer.open()
    writer.take([some_record(number, at=NOON * SECOND + number * 977) for number in range(1, 2000)])
    writer.close(NOON * SECOND)
    (segment,) = tmp_path.glob("day=*/domain=*/kind=events/*.parquet")
    content = bytearray(segment.read_bytes())
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[int(where * end)] ^= 1
    segment.write_bytes(content)
    with pytest.raises(LakeError, match=f"{segment.name} cannot be read"), spark_errors():
        rows = read_lake(spark, str(tmp_path), "events")
        rows.select(F.xxhash64(*rows.columns).alias("all")).agg(F.sum("all")).collect()


def test_column_of_another_type_is_named(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(
        tmp_path, "telemetry", [telemetry("a", NOON, 3)], day=day_of(NOON), drop=["second"], extra={"second": "noon"}
    )
    with pytest.raises(LakeError, match=r"parquet cannot be read"), spark_errors():
        read_lake(spark, str(tmp_path), "telemetry").agg(F.sum("second")).collect()


def test_row_that_breaks_a_rule_is_quoted(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path, "telemetry", [telemetry("a", NOON, 3), telemetry("a", NOON, -1, writer="b7")])
    rules = {"messages_in is negative": F.col("messages_in") >= 0}
    checked = with_checked_rows(read_lake(spark, str(tmp_path), "telemetry"), rules)
    with pytest.raises(LakeError, match=r'messages_in is negative; row of \{"writer":"b7"'), spark_errors():
        checked.agg(F.sum("messages_in")).collect()


def test_what_an_executor_raised_is_said_in_one_line(spark: SparkSession) -> None:
    def broken(number: int) -> int:
        raise ValueError(f"number {number} is odd")

    with pytest.raises(PipelineError, match="number 1 is odd"), spark_errors():
        spark.sparkContext.parallelize([1], 1).map(broken).collect()


def test_folder_called_checkpoint_is_no_reason_to_give_it_up() -> None:
    error = PySparkException("Mkdirs failed to create file:/data/out/checkpoint/offsets (Permission denied)")
    assert "permissions" in str(translate(error))


def test_segment_that_its_writer_deletes_meanwhile_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (segment,) = write_lake(tmp_path, "telemetry", [telemetry("a", NOON, 3)])
    seen = quality.segments(str(tmp_path), "telemetry")
    gone = seen[0]._replace(location=seen[0].location.parent / "broker-b9-1-000001.parquet")
    monkeypatch.setattr(quality, "segments", lambda lake, kind: [gone, *seen])
    assert quality.check_segments(str(tmp_path), "telemetry") == [gone, *seen]
    assert quality.segment_sizes(str(tmp_path), "telemetry") == [segment.stat().st_size] * 2


def test_only_a_master_on_this_machine_is_bound_to_it() -> None:
    assert environment_for("local[2]")["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert "SPARK_LOCAL_IP" not in environment_for("spark://head:7077")
    assert "spark.sql.shuffle.partitions" not in settings_for("spark://head:7077")


def test_failures_of_others_stay_what_they_are() -> None:
    assert translate(ValueError("x")) is None
    with pytest.raises(KeyError), spark_errors():
        raise KeyError("x")
