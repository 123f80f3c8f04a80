"""Which probes there are: ours, and those that installed packages offer.

Owns: the contract of a probe, and finding one by its name. Must not know: what probes measure.

A package offers its own in the entry point group `causeway.probes`, by a name that a configuration can use:

    [project.entry-points."causeway.probes"]
    gpu = "mypackage.probes:GpuProbe"

What it points to is called without arguments and returns a probe. The names of ours cannot be taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, Protocol

from causeway.errors import ConfigError
from causeway.probes.machine import BandwidthProbe, BatteryProbe, CpuProbe, DiskProbe, MemoryProbe

GROUP: Final = "causeway.probes"


class ResourceProbe(Protocol):
    """Measures one resource. Called from threads of its own, one call at a time."""

    @property
    def name(self) -> str:
        """What a configuration calls it."""

    @property
    def unit(self) -> str:
        """Of what it measures and of the need it is compared with, for people."""

    def measure(self) -> float | None:
        """How much there is, more being better; None where there is no such resource, which counts as met."""


def known_probes() -> list[str]:
    """Every name that a configuration can use."""
    return sorted({*_ours(None), *(point.name for point in _offered())})


def find_probes(names: Iterable[str], data: Path | None = None) -> dict[str, ResourceProbe]:
    """A new probe for each name, or a ConfigError that lists those that exist. `data` is the broker's directory."""
    ours = _ours(data)
    return {name: ours[name]() if name in ours else _load(name) for name in names}


def _ours(data: Path | None) -> dict[str, Callable[[], ResourceProbe]]:
    return {
        "cpu": CpuProbe,
        "memory": MemoryProbe,
        "bandwidth": BandwidthProbe,
        "battery": BatteryProbe,
        "disk": lambda: DiskProbe(data),
    }


def _offered() -> list[EntryPoint]:
    return list(entry_points(group=GROUP))


def _load(name: str) -> ResourceProbe:
    point = next((point for point in _offered() if point.name == name), None)
    if point is None:
        raise ConfigError("probes", name, f"no probe has this name; there are {', '.join(known_probes())}")
    try:
        probe = point.load()()
    except Exception as error:  # somebody else's code: whatever it raises, the operator hears which probe it was
        reason = f"{type(error).__name__}: {error}"
        raise ConfigError(
            "probes", name, f"{point.value} could not be loaded ({reason}); mend or leave it out"
        ) from error
    named = isinstance(getattr(probe, "name", None), str) and isinstance(getattr(probe, "unit", None), str)
    if not named or not callable(getattr(probe, "measure", None)):
        raise ConfigError("probes", name, f"{point.value} is no probe: it needs name, unit and measure()")
    return probe  # type: ignore[no-any-return]
