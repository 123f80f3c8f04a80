"""Finding probes by name: ours, those of packages, and what is said about the rest."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from causeway.errors import ConfigError
from causeway.probes import registry
from causeway.probes.machine import CpuProbe, MemoryProbe
from causeway.probes.registry import find_probes, known_probes


class TapeProbe:
    """A probe as a package might bring it."""

    name = "tape"
    unit = "reels"

    def measure(self) -> float | None:
        return 3.0


class NoProbe:
    name = "none"


def fail() -> TapeProbe:
    raise OSError("no driver")


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that offer probes, one of them under a name of ours."""
    monkeypatch.setattr(registry, "TapeProbe", TapeProbe, raising=False)
    monkeypatch.setattr(registry, "NoProbe", NoProbe, raising=False)
    monkeypatch.setattr(registry, "fail", fail, raising=False)
    names = {"tape": "TapeProbe", "memory": "TapeProbe", "none": "NoProbe", "broken": "fail", "gone": "Absent"}
    points = [EntryPoint(name, f"{registry.__name__}:{what}", registry.GROUP) for name, what in names.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])


@pytest.mark.usefixtures("offered")
def test_probes_of_packages_are_found_beside_ours(tmp_path: Path) -> None:
    found = find_probes(["tape", "cpu", "memory"], tmp_path)
    assert [type(probe) for probe in found.values()] == [TapeProbe, CpuProbe, MemoryProbe], "ours keep their names"
    assert found["tape"].measure() == 3.0


@pytest.mark.usefixtures("offered")
def test_unknown_probe_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ConfigError) as refused:
        find_probes(["cpu", "disc"])
    assert (refused.value.field, refused.value.value) == ("probes", "disc")
    assert refused.value.remedy.endswith(", ".join(known_probes()))
    assert {"cpu", "memory", "bandwidth", "battery", "disk", "tape"} <= {*known_probes()}


@pytest.mark.usefixtures("offered")
@pytest.mark.parametrize(
    ("name", "reason"),
    [("broken", "OSError: no driver"), ("gone", "AttributeError"), ("none", "needs name, unit and measure()")],
)
def test_probe_that_cannot_be_used_is_refused_when_it_is_named(name: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        find_probes([name])
    assert refused.value.value == name
    assert reason in str(refused.value) or reason in refused.value.remedy
