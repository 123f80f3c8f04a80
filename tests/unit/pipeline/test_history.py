"""The loop goes on when a turn fails, says so in its history, and stops when told to."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from causeway.cli.pipeline import parse_every
from causeway.errors import ConfigError, PipelineError
from causeway.pipeline import history
from causeway.pipeline.history import HISTORY_FILE, add_history, keep_going


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / HISTORY_FILE).read_text().splitlines()]


def test_turn_that_fails_is_in_the_history_and_the_next_one_comes(tmp_path: Path) -> None:
    stop, turns = threading.Event(), 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        if turns == 2:
            raise PipelineError("the cluster is away", "wait")
        if turns == 3:
            stop.set()

    keep_going(turn, str(tmp_path), 0.001, stop)
    assert turns == 3
    (line,) = lines(tmp_path)
    assert (line["action"], line["adopted"]) == ("failed", False)
    assert "the cluster is away" in str(line["why"])


def test_first_turn_that_fails_ends_the_loop(tmp_path: Path) -> None:
    def turn() -> None:
        raise ConfigError("set url", "x", "is no URL")

    with pytest.raises(ConfigError, match="set url"):
        keep_going(turn, str(tmp_path), 0.001, threading.Event())


def test_history_is_bounded_and_keeps_the_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "HISTORY_MAX", 3)
    for number in range(5):
        add_history(str(tmp_path), [{"number": number}])
    assert [line["number"] for line in lines(tmp_path)] == [2, 3, 4]


def test_times_of_the_loop() -> None:
    assert [parse_every("run", text) for text in ("90s", "10m", "1.5h", "")] == [90, 600, 5400, None]
    for text in ("10", "m", "-1m", "0s", "10d", "999999h", "1e3s"):
        with pytest.raises(ConfigError, match=r"every=.*like 90s, 10m or 1h"):
            parse_every("run", text)
    with pytest.raises(ConfigError, match="for the job run"):
        parse_every("rates", "10m")
