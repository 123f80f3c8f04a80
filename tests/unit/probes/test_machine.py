"""Our own probes: what they read from the system, with the system's answers planted."""

from __future__ import annotations

import os
import time
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import psutil  # type: ignore[import-untyped]
import pytest

from causeway.probes.machine import BandwidthProbe, BatteryProbe, CpuProbe, DiskProbe, MemoryProbe

Times = namedtuple("Times", "user system idle iowait guest")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time; to sleep is to let it pass."""
    state = [100.0]

    def sleep(seconds: float) -> None:
        state[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: state[0])
    monkeypatch.setattr(time, "sleep", sleep)
    return state


def answer(monkeypatch: pytest.MonkeyPatch, name: str, what: object) -> None:
    monkeypatch.setattr(psutil, name, lambda *_, **__: what, raising=False)


def test_cpu_counts_idle_cores_of_those_it_may_use(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2}, raising=False)
    answer(monkeypatch, "cpu_times", [Times(10, 0, 10, 0, 0)] * 3)
    probe = CpuProbe()
    # Of the second since: 60 % idle; all idle, but not ours; 25 % waits for a disk, and guests are users counted twice.
    later = [Times(10.4, 0, 10.6, 0, 0), Times(10, 0, 11, 0, 0), Times(10.75, 0, 10, 0.25, 0.75)]
    answer(monkeypatch, "cpu_times", later)
    assert probe.measure() == pytest.approx(0.85)
    assert clock[0] == pytest.approx(100.1), "it was asked at once and took a look of its own"


def test_cpu_says_nothing_is_free_when_no_time_was_counted(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    answer(monkeypatch, "cpu_times", [Times(10, 0, 10, 0, 0)])
    assert CpuProbe().measure() == 0.0


@pytest.mark.parametrize(
    ("battery", "percent"),
    [
        (None, None),
        (SimpleNamespace(percent=31, power_plugged=False), 31.0),
        (SimpleNamespace(percent=31, power_plugged=None), 31.0),
        (SimpleNamespace(percent=31, power_plugged=True), 100.0),
    ],
    ids=["none", "discharging", "unknown", "mains"],
)
def test_battery_on_mains_is_full(monkeypatch: pytest.MonkeyPatch, battery: object, percent: float | None) -> None:
    answer(monkeypatch, "sensors_battery", battery)
    assert BatteryProbe().measure() == percent


def test_a_system_that_knows_no_batteries_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert BatteryProbe().measure() is None


def test_disk_is_that_of_the_data_directory_even_before_it_exists(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def usage(path: str) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(free=7)

    monkeypatch.setattr(psutil, "disk_usage", usage)
    assert DiskProbe(tmp_path / "not" / "yet").measure() == 7.0
    assert asked == [str(tmp_path)]
    assert DiskProbe(None).measure() is None


def test_memory_is_what_programs_can_get(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "virtual_memory", SimpleNamespace(available=5, free=1))
    assert MemoryProbe().measure() == 5.0


def interface(**changes: object) -> SimpleNamespace:
    return SimpleNamespace(**{"isup": True, "speed": 1000, "flags": "up,broadcast", **changes})


def test_bandwidth_is_what_the_interface_has_left(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    down, loop = interface(isup=False, speed=9000), interface(speed=9000, flags="up,loopback")
    answer(monkeypatch, "net_if_stats", {"down": down, "lo": loop, "virtual": interface(speed=0), "eth": interface()})
    answer(monkeypatch, "net_io_counters", {"eth": SimpleNamespace(bytes_sent=0, bytes_recv=10**12)})
    probe = BandwidthProbe()
    assert probe.measure() == 125e6
    clock[0] += 2
    moved = SimpleNamespace(bytes_sent=50_000_000, bytes_recv=10**12 + 8_000_000)
    answer(monkeypatch, "net_io_counters", {"eth": moved})
    assert probe.measure() == 100e6, "the fuller direction counts"


def test_interface_without_a_rating_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "net_if_stats", {"virtual": interface(speed=0)})
    assert BandwidthProbe().measure() is None


def test_this_machine_can_be_measured(tmp_path: Path) -> None:
    memory, disk, cores = MemoryProbe().measure(), DiskProbe(tmp_path).measure(), CpuProbe().measure()
    assert memory is not None
    assert memory > 0
    assert disk is not None
    assert disk > 0
    assert cores is not None
    assert 0 <= cores <= (os.cpu_count() or 1)
