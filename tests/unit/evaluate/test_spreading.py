"""Cases over processes come back in the order given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from causeway.evaluate.spreading import Processes, run_cases


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_have_the_order_of_their_cases(jobs: int) -> None:
    told: list[int] = []
    assert run_cases(abs, [-3, 2, -1], Processes(jobs), told.append) == [3, 2, 1]
    assert sorted(told) == [-3, -1, 2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_case_raises_is_raised(jobs: int) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        run_cases(int, ["1", "x"], Processes(jobs), lambda case: None)


def test_each_result_is_told_with_its_place() -> None:
    assert sorted(Processes(2).run(abs, [-3, 2])) == [(0, 3), (1, 2)]


def measured_for_long(seconds: float) -> float:
    print(os.getpid(), flush=True)
    threading.Event().wait(seconds)
    return seconds


ASKING = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_spreading import Processes, measured_for_long
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
