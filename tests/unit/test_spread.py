"""Cases over processes come back in the order given; finished ones are found again, by what they are and by the code
that measured them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from causeway import spread
from causeway.evaluate import aaa, gemom, internet, pbm, qpidr
from causeway.spread import Keeping, Processes, key_of_case, run_cases


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_have_the_order_of_their_cases(jobs: int) -> None:
    told: list[tuple[int, int]] = []
    assert run_cases(abs, [-3, 2, -1], Processes(jobs), lambda *much: told.append(much)) == [3, 2, 1]
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_work_is_told_by_weight_and_ends_with_all_of_it() -> None:
    told: list[tuple[int, int]] = []
    run_cases(weighed, [Weighed(0.1)] * 25 + [Weighed(7.5)], Processes(1), lambda *much: told.append(much))
    assert (told[0], told[24], told[25]) == ((0, 10), (2, 10), (10, 10))


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_case_raises_is_raised(jobs: int) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        run_cases(int, ["1", "x"], Processes(jobs))


def test_each_result_is_told_with_its_place() -> None:
    assert sorted(Processes(2).run(abs, [-3, 2])) == [(0, 3), (1, 2)]


class Weighed(msgspec.Struct, frozen=True):
    weight: float


def weighed(case: Weighed) -> float:
    return case.weight


def measured_for_long(seconds: float) -> float:
    print(os.getpid(), flush=True)
    threading.Event().wait(seconds)
    return seconds


ASKING = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_spread import Processes, measured_for_long
if __name__ == "__main__":
    list(Processes(2).run(measured_for_long, [60.0, 60.0]))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_nobody_measures_for_one_who_has_ended(how: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "asking.py"
    script.write_text(ASKING)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        workers = [int(asking.stdout.readline()) for _ in range(2)]
        asking.send_signal(how)
        asking.wait(10)
        ends = time.monotonic() + 10
        while any(is_running(pid) for pid in workers):
            assert time.monotonic() < ends, "they go on"
            time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
    except FileNotFoundError:
        return False


# Finished cases -----------------------------------------------------------------------------------------------------
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
