"""The journal alone: records found again, torn ones forgotten, damaged ones recognised."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from causeway.errors import StoreCorrupt
from causeway.store.base import Delete, Put, Write
from causeway.store.journal import EDGE_BYTES, FILE_NAMES, Journal

GROUP = b"g" * 16
STORAGE = 4711


def writes_of(number: int) -> list[Write]:
    return [
        Put(GROUP, b"%04d" % number, number, b"value %04d" % number * 9),
        Delete(GROUP, b"%04d" % (number - 1)),
        Put(GROUP, b"last", number, b"%04d" % number),
    ]


def write(directory: Path, count: int, *, turn_after: int = 0) -> Journal:
    """A journal of `count` records, closed; it turned after the record `turn_after`."""
    journal = Journal(directory, STORAGE)
    journal.create()
    journal.open(0)
    for number in range(1, count + 1):
        journal.append(writes_of(number))
        if number == turn_after:
            journal.turn()
    journal.close()
    return journal


def read(directory: Path, folded: int = 0, storage: int = STORAGE) -> tuple[list[int], list[int], list[int]]:
    """Numbers of the records that wait to be folded, of those in use, and of those whose values are damaged."""
    journal = Journal(directory, storage)
    try:
        older, newer = journal.open(folded)
        for record in (*older, *newer):
            expected = writes_of(record.number)
            if record.sound:
                assert record.writes == expected
            else:
                assert [(type(w), w.group) for w in record.writes] == [(type(w), w.group) for w in expected]
        return (
            [record.number for record in older],
            [record.number for record in newer],
            [record.number for record in (*older, *newer) if not record.sound],
        )
    finally:
        journal.close()


def test_records_are_found_in_order(tmp_path: Path) -> None:
    write(tmp_path, 5)
    assert read(tmp_path) == ([], [1, 2, 3, 4, 5], [])


def test_records_before_a_turn_wait_to_be_folded(tmp_path: Path) -> None:
    write(tmp_path, 5, turn_after=3)
    assert read(tmp_path) == ([1, 2, 3], [4, 5], [])
    assert read(tmp_path, folded=3) == ([], [4, 5], [])


def test_records_of_a_former_turn_are_not_taken_for_new_ones(tmp_path: Path) -> None:
    journal = Journal(tmp_path, STORAGE)
    journal.create()
    journal.open(0)
    for number in range(1, 41):
        journal.append(writes_of(number))
        if number % 10 == 0:
            journal.turn()
    journal.append(writes_of(41))
    journal.close()
    assert read(tmp_path, folded=30) == (list(range(31, 41)), [41], [])


def test_journal_goes_on_where_it_ended(tmp_path: Path) -> None:
    write(tmp_path, 3)
    journal = Journal(tmp_path, STORAGE)
    journal.open(0)
    journal.append(writes_of(4))
    journal.close()
    assert read(tmp_path) == ([], [1, 2, 3, 4], [])


@pytest.mark.parametrize("kept", [0, 10, EDGE_BYTES, EDGE_BYTES + 20, -1, -EDGE_BYTES - 1, -EDGE_BYTES - 100])
def test_torn_last_record_is_forgotten_and_nothing_else(tmp_path: Path, kept: int) -> None:
    ends = [write(tmp_path, count).filled for count in (4, 5)]
    file = tmp_path / FILE_NAMES[0]
    image = bytearray(file.read_bytes())
    cut = (ends[0] if kept >= 0 else ends[1]) + kept
    image[cut : ends[1]] = bytes(ends[1] - cut)
    file.write_bytes(image)
    whole = kept in (-1, -EDGE_BYTES - 1)  # the copy alone is torn
    assert read(tmp_path) == ([], [1, 2, 3, 4, 5] if whole else [1, 2, 3, 4], [])


def test_torn_record_written_back_to_front_is_forgotten(tmp_path: Path) -> None:
    """A disk writes pages in any order: the end of the last record without its beginning proves nothing."""
    ends = [write(tmp_path, count).filled for count in (4, 5)]
    file = tmp_path / FILE_NAMES[0]
    image = bytearray(file.read_bytes())
    image[ends[0] : ends[0] + 150] = bytes(150)
    file.write_bytes(image)
    assert read(tmp_path) == ([], [1, 2, 3, 4], [])


def test_torn_first_record_after_a_turn_is_forgotten(tmp_path: Path) -> None:
    journal = Journal(tmp_path, STORAGE)
    journal.create()
    journal.open(0)
    for number in range(1, 22):
        journal.append(writes_of(number))
        if number % 10 == 0:
            journal.turn()
    journal.close()
    file = tmp_path / FILE_NAMES[0]
    image = bytearray(file.read_bytes())
    image[5:200] = bytes(195)
    file.write_bytes(image)
    older, newer, damaged = read(tmp_path, folded=10)
    assert (older + newer, damaged) == (list(range(11, 21)), [])


def test_one_flipped_bit_costs_the_values_of_one_record_at_most(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    filled = write(tmp_path, 6).filled
    file = tmp_path / FILE_NAMES[0]
    whole = file.read_bytes()
    rng = random.Random(seed)
    for bit in rng.sample(range(8 * filled), 300):
        image = bytearray(whole)
        image[bit // 8] ^= 1 << bit % 8
        file.write_bytes(image)
        older, newer, damaged = read(tmp_path)
        last_is_lost = newer == [1, 2, 3, 4, 5] and bit // 8 > filled * 5 // 6 - 10
        assert older == []
        assert newer == [1, 2, 3, 4, 5, 6] or last_is_lost, f"seed {seed}, bit {bit}"
        assert len(damaged) <= 1, f"seed {seed}, bit {bit}"


def test_record_lost_before_a_later_one_is_damage(tmp_path: Path) -> None:
    ends = [write(tmp_path, count).filled for count in (2, 3, 6)]
    file = tmp_path / FILE_NAMES[0]
    image = bytearray(file.read_bytes())
    image[ends[0] : ends[1]] = bytes(ends[1] - ends[0])
    file.write_bytes(image)
    with pytest.raises(StoreCorrupt):
        read(tmp_path)


def test_file_that_waits_to_be_folded_must_be_whole(tmp_path: Path) -> None:
    ends = [write(tmp_path, count, turn_after=4).filled for count in (2, 3)]
    write(tmp_path, 6, turn_after=4)
    file = tmp_path / FILE_NAMES[0]
    image = bytearray(file.read_bytes())
    image[ends[0] : ends[1]] = bytes(ends[1] - ends[0])
    file.write_bytes(image)
    with pytest.raises(StoreCorrupt):
        read(tmp_path)
    assert read(tmp_path, folded=4) == ([], [5, 6], [])


def test_records_of_another_storage_are_none(tmp_path: Path) -> None:
    write(tmp_path, 3)
    assert read(tmp_path, storage=STORAGE + 1) == ([], [], [])
    with pytest.raises(StoreCorrupt):
        read(tmp_path, folded=2, storage=STORAGE + 1)
