"""Finished cases are found again, by what they are and by the code that measured them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from causeway.evaluate import aaa, gemom, internet, pbm, qpidr
from causeway.evaluate.spreading import Processes
from causeway.pipeline import spread
from causeway.pipeline.spread import Keeping, key_of_case

MEASURED: list[int] = []


class Squared(msgspec.Struct, frozen=True):
    value: float
    root: int


def squared(number: int) -> Squared:
    MEASURED.append(number)
    if number > 100:
        raise ValueError(f"{number} is too much")
    return Squared(number * number / 3, number)


@pytest.fixture(autouse=True)
def nothing_measured() -> None:
    MEASURED.clear()


def run(folder: Path, numbers: list[int]) -> tuple[list[Squared], list[int], int]:
    keeping = Keeping(Processes(1), folder)
    found = dict(keeping.run(squared, numbers))
    return [found[place] for place in range(len(numbers))], list(found), keeping.skipped


def test_second_run_measures_only_what_is_missing_and_finds_the_same(tmp_path: Path) -> None:
    first, _, skipped = run(tmp_path, [3, 1, 2])
    assert skipped == 0
    again, told, skipped = run(tmp_path, [2, 5, 1])
    assert MEASURED == [3, 1, 2, 5]
    assert again == [first[2], Squared(25 / 3, 5), first[1]]
    assert (told, skipped) == ([0, 2, 1], 2)


def test_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too much"):
        run(tmp_path, [1, 2, 101, 3])
    found, _, skipped = run(tmp_path, [1, 2, 3])
    assert [one.root for one in found] == [1, 2, 3]
    assert skipped == 2


def test_damaged_file_is_measured_again(tmp_path: Path) -> None:
    run(tmp_path, [1, 2])
    path = tmp_path / f"{key_of_case(squared, 2)}.json"
    path.write_bytes(path.read_bytes()[:-4])
    found, _, skipped = run(tmp_path, [1, 2])
    assert (found[1].root, skipped) == (2, 1)


def test_other_code_measures_everything_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, [1, 2])
    monkeypatch.setattr(spread, "code_digest", lambda: "another")
    assert run(tmp_path, [1, 2])[2] == 0


def test_cases_of_other_fields_or_functions_have_other_names() -> None:
    names = {key_of_case(squared, 1), key_of_case(squared, 2), key_of_case(abs, 1), key_of_case(squared, "1")}  # type: ignore[arg-type]
    assert len(names) == 4


@pytest.mark.parametrize(
    "measure", [aaa.measure, gemom.measure_either, internet.measure_either, pbm.measure, qpidr.measure_either]
)
def test_what_experiments_find_can_be_kept(measure: Callable[[Any], Any]) -> None:
    msgspec.json.Decoder(get_type_hints(measure)["return"])
