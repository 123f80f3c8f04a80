"""What a broker needs of its machine, and how it is written: `cpu=0.5, memory=256MiB*2`.

Owns: the text of the setting `probes`, its defaults and its bounds. Must not know: how anything is measured, or which
probes exist (a machine may have more than ours).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from causeway.errors import ConfigError
from causeway.limits import KIB, MIB, PROBES_MAX

DEFAULT_PROBES: Final = "cpu=0.5, memory=256MiB, bandwidth=1MiB, battery=20, disk=1GiB"
"""Half a core, and room for a broker with some thousand mailboxes: what makes a spare worth promoting."""

_UNITS: Final = {"": 1, "KiB": KIB, "MiB": MIB, "GiB": 1024 * MIB, "TiB": 1024 * 1024 * MIB}
_NUMBER: Final = r"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|[A-Za-z]+)"
_ENTRY: Final = re.compile(rf"([a-z][a-z0-9_-]*) *= *({_NUMBER}?) ?([KMGT]iB|) *(?:\* *({_NUMBER}))?")
_FORM: Final = (
    "must be PROBE=NEED or PROBE=NEED*WEIGHT, separated by commas; a need may have KiB, MiB, GiB or TiB, "
    f"for example {DEFAULT_PROBES!r}"
)


class Need(msgspec.Struct, frozen=True):
    """How much of one resource a broker needs, in the unit of its probe, and how much that counts beside the others."""

    probe: str
    need: float
    weight: float = 1.0


def read_needs(text: str) -> tuple[Need, ...]:
    """The needs that the setting `probes` names, or a ConfigError that says which part of it is wrong."""
    entries = [entry.strip() for entry in text.split(",")]
    if not 1 <= len(entries) <= PROBES_MAX:
        raise ConfigError("probes", text, f"must name 1 to {PROBES_MAX} probes")
    return check_needs([_read(entry) for entry in entries])


def check_needs(needs: Sequence[Need]) -> tuple[Need, ...]:
    """The same needs, or a ConfigError: a need or a weight that cannot be, a probe named twice, no weight at all."""
    known: dict[str, None] = {}
    for one in needs:
        if one.probe in known:
            raise ConfigError("probes", one.probe, "is named twice; name each probe once")
        known[one.probe] = None
        _check_number(f"probes.{one.probe}.need", one.need)
        _check_number(f"probes.{one.probe}.weight", one.weight)
    if not any(one.weight for one in needs):
        named = ", ".join(f"{one.probe}={one.need:g}*{one.weight:g}" for one in needs)
        raise ConfigError("probes", named, "its weights sum to zero; give at least one probe a weight above 0")
    return tuple(needs)


def _read(entry: str) -> Need:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise ConfigError("probes", entry, _FORM)
    name, need, unit, weight = found.groups()
    try:
        return Need(name, float(need) * _UNITS[unit], 1.0 if weight is None else float(weight))
    except ValueError:
        raise ConfigError("probes", entry, _FORM) from None


def _check_number(field: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ConfigError(field, value, "must be a finite number, 0 or more")
