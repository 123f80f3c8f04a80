"""Seals: whoever has a segment's rows can tell whether they are those that were written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from causeway.lake.seal import row_digest
from causeway.lake.segments import WriterName, read_table
from causeway.lake.table import listing
from causeway.lake.writer import LakeWriter
from causeway.trace import Step
from tests.unit.lake.lakes import some_record

BROKER = WriterName("b1", "broker", 5, "north")


def written(lake: Path) -> list[dict[str, Any]]:
    return [row for one in listing(str(lake), "events").live for row in read_table(one.location).to_pylist()]


def seals_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["step"] == Step.SEALED]


def is_sound(rows: list[dict[str, Any]]) -> bool:
    return sum(map(row_digest, rows)) == sum(int(seal["note"] or -1) for seal in seals_of(rows))


def some_lake(lake: Path) -> list[dict[str, Any]]:
    writer = LakeWriter(lake, BROKER, copies=3)
    for number in range(3):
        writer.take([some_record(2 * number, note="ü"), some_record(2 * number + 1, causal=True)])
        writer.roll()
    writer.close(9)
    return written(lake)


def test_every_segment_says_which_records_it_has_and_how_many_copies_are_kept(tmp_path: Path) -> None:
    seals = seals_of(some_lake(tmp_path))
    assert [(seal["sequence"], seal["first"], seal["last"]) for seal in seals] == [
        (0, 1, 2),
        (0, 3, 4),
        (0, 5, 6),
        (0, 7, 7),
    ]
    assert {(seal["copies"], seal["incarnation"]) for seal in seals} == {(3, 0)}


def test_digests_tell_any_record_that_is_missing_doubled_or_changed(tmp_path: Path) -> None:
    rows = some_lake(tmp_path)
    assert is_sound(rows)
    assert is_sound(rows[::-1])
    for at, row in enumerate(rows):
        assert not is_sound(rows[:at] + rows[at + 1 :])
        assert not is_sound([*rows, row])
        for name, value in row.items():
            other = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}1"
            if (name, row["step"]) != ("step", Step.SEALED):  # that one ceases to be a seal
                assert not is_sound([*rows[:at], row | {name: other}, *rows[at + 1 :]]), name


def test_seal_names_the_life_before(tmp_path: Path) -> None:
    for life in (5, 8):
        writer = LakeWriter(tmp_path, BROKER._replace(life=life))
        writer.take([some_record(1)])
        writer.close(9)
    assert {(seal["life"], seal["incarnation"]) for seal in seals_of(written(tmp_path))} == {(5, 0), (8, 5)}


def test_application_that_keeps_nothing_has_no_copies_in_its_seal(tmp_path: Path) -> None:
    writer = LakeWriter(tmp_path, WriterName("shop", "application", 1))
    writer.take([some_record(1, broker="")])
    writer.close(9)
    [seal] = seals_of(written(tmp_path))
    assert (seal["copies"], seal["role"], is_sound(written(tmp_path))) == (0, "application", True)
