from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from causeway.errors import ConfigError
from causeway.lake import opening
from causeway.lake.recorder import Recorder
from causeway.lake.segments import WriterName
from causeway.trace import Step
from causeway.types import MILLISECOND
from tests.unit.lake.lakes import rows_of, some_record, steps_of

BROKER = WriterName("b1", "broker", 5, "north")


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "took too long"
        threading.Event().wait(0.02)


def test_records_are_in_the_lake_in_order_when_it_is_closed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, BROKER, time.time_ns)
    recorder.start()
    for number in range(3_000):
        recorder.add([some_record(2 * number), some_record(2 * number + 1)])
    recorder.close()
    recorder.close()
    rows = rows_of(tmp_path)
    assert [row["first"] for row in rows[:-1]] == list(range(6_000))
    assert [row["sequence"] for row in rows] == list(range(1, 6_002))
    assert steps_of(rows)[-1] == Step.ENDED


def test_lake_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, BROKER, time.time_ns, every=50 * MILLISECOND)
    recorder.start()
    try:
        for number in range(3):
            recorder.add([some_record(number, at=time.time_ns())])
            wait_until(lambda number=number: len(rows_of(tmp_path)) == number + 1)
    finally:
        recorder.close()


def test_full_buffer_drops_and_says_how_many_and_where(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, BROKER, time.time_ns, records_max=4)
    recorder.add([some_record(1), some_record(2), some_record(3)])
    recorder.add([some_record(4), some_record(5)])
    recorder.add([some_record(6)])
    recorder.add([some_record(7), some_record(8)])
    recorder.start()
    recorder.close()
    rows = rows_of(tmp_path)
    shown = [(row["sequence"], Step(row["step"]), row["last"]) for row in rows]
    assert shown == [
        (1, Step.STORED, 1),
        (2, Step.STORED, 2),
        (3, Step.STORED, 3),
        (6, Step.GAP, 2),
        (7, Step.STORED, 6),
        (10, Step.GAP, 2),
        (11, Step.ENDED, 1),
    ]
    assert recorder.writer.missing == 4


def test_recorder_whose_thread_has_ended_by_a_bug_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path, BROKER, time.time_ns)
    monkeypatch.setattr(recorder.writer, "open", lambda: 1 / 0)
    recorder.add([some_record(1)])
    recorder.start()
    recorder.close()
    recorder.add([some_record(2)])
    recorder.drain()
    assert not rows_of(tmp_path)


def test_lake_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"lake=.*causeway-mq\[lake\]"):
        opening.open_recorder(tmp_path, ("b1", "broker", 1, ""), time.time_ns)
