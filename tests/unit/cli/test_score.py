"""What the command shows of this machine, with the machine planted."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import psutil  # type: ignore[import-untyped]
import pytest

from causeway.cli import score as score_module
from causeway.cli.main import main
from causeway.cli.score import amount
from causeway.probes.calibration import Calibration


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the memory that is needed, all of the disk, no battery."""
    monkeypatch.setattr(score_module, "calibrate", lambda: Calibration(400_000.0, 6_500.0))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1 << 30))
    monkeypatch.setattr(psutil, "disk_usage", lambda _: SimpleNamespace(free=8 << 30))
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)


PROBES = "probes=memory=2GiB*3, disk=1GiB, battery=20*0"


def test_json_has_every_part_and_the_capacity(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["score", "--json", "--data", str(tmp_path), "--set", PROBES]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["score"] == pytest.approx(0.75 * 0.36788 + 0.25, abs=1e-4)
    memory, disk, battery = found["parts"]
    assert (memory["probe"], memory["unit"], memory["available"], memory["need"]) == ("memory", "bytes", 2**30, 2**31)
    assert (memory["weight"], memory["share"], disk["share"]) == (3.0, 0.75, 0.25)
    assert (battery["available"], battery["value"]) == (None, 1.0)
    assert "counts as met" in battery["reason"]
    assert (found["capacity"], found["batched"], found["single"]) == (6_500.0, 400_000.0, 6_500.0)


def test_table_names_what_is_short_and_why_something_was_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--set", PROBES, "--set", "capacity=700"]) == 0
    shown = capsys.readouterr().out
    assert "score of this machine: 0.526" in shown
    assert "1 GiB" in shown
    assert "0.368" in shown
    assert "battery: there is none here" in shown
    assert "capacity: 700 messages/s, as configured" in shown


def test_unknown_probe_is_a_wrong_setting_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--json", "--set", "probes=disc=1GiB"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["field"], error["value"]) == ("probes", "disc")
    assert "bandwidth, battery, cpu, disk, memory" in error["remedy"]


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.5, "cores", "0.5 cores"),
        (100.0, "percent", "100 percent"),
        (12.0, "bytes", "12 B"),
        (1.5 * 2**20, "bytes/s", "1.5 MiB/s"),
        (2.0**60, "bytes", "1.049e+06 TiB"),
    ],
    ids=["cores", "percent", "bytes", "rate", "very much"],
)
def test_amounts_are_for_people(value: float, unit: str, shown: str) -> None:
    assert amount(value, unit) == shown
