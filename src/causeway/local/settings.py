"""`--set FIELD=VALUE`: settings of a broker that have no flag of their own.

Owns: which fields these are, and how their values are written: times with us, ms or s, bytes also with KiB, MiB or GiB.
Must not know: what a setting does. Whether values fit each other is said by BrokerConfig.check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from causeway.config import BrokerConfig
from causeway.errors import ConfigError
from causeway.limits import KIB, MIB
from causeway.types import MICROSECOND, MILLISECOND, SECOND

_FLAGS: Final = ("name", "host", "port", "seeds", "founder", "durability", "copies", "domains", "spare")
"""Fields that have a flag."""

FIELDS: Final = tuple(
    field.name
    for field in msgspec.structs.fields(BrokerConfig)
    if field.name not in _FLAGS and field.type in (int, str)
)
"""What may be set, in the order of BrokerConfig."""

_UNITS: Final[Mapping[str, Mapping[str, int]]] = {
    "time": {"us": MICROSECOND, "ms": MILLISECOND, "s": SECOND},
    "bytes": {"": 1, "KiB": KIB, "MiB": MIB, "GiB": 1024 * MIB},
    "number": {"": 1},
}
_FORMS: Final[Mapping[str, str]] = {
    "time": "must be a whole number with its unit, us, ms or s, for example 250ms",
    "bytes": "must be a whole number of bytes, or one with KiB, MiB or GiB, for example 64MiB",
    "number": "must be a whole number",
}


def split_settings(pairs: Iterable[str]) -> dict[str, str]:
    """FIELD=VALUE, each as it was written; the last one of a field counts, an empty value asks for the default."""
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError("set", pair, f"must be FIELD=VALUE; fields are {', '.join(FIELDS)}")
        _check_field(name, value)
        settings[name] = value
    return settings


def settings_of(written: Mapping[str, str]) -> dict[str, int | str]:
    """The values of BrokerConfig's fields, or a ConfigError that names the first wrong one."""
    values: dict[str, int | str] = {}
    for name, value in written.items():
        _check_field(name, value)
        if value:
            values[name] = _value(name, value)
    return values


def _check_field(name: str, value: str) -> None:
    if name in _FLAGS:
        raise ConfigError("set", f"{name}={value}", f"{name} has a flag; fields to set are {', '.join(FIELDS)}")
    if name not in FIELDS:
        raise ConfigError("set", f"{name}={value}", f"no field is named {name!r}; fields are {', '.join(FIELDS)}")


def _value(name: str, text: str) -> int | str:
    if BrokerConfig.__annotations__[name] == "str":
        return text
    kind = _kind(name)
    found = re.fullmatch(r"([0-9]{1,19}) ?([A-Za-z]*)", text)
    unit = _UNITS[kind].get(found[2]) if found else None
    if found is None or unit is None:
        raise ConfigError(name, text, _FORMS[kind])
    return int(found[1]) * unit


def _kind(name: str) -> str:
    if BrokerConfig.__annotations__[name] == "Duration":
        return "time"
    return "bytes" if "bytes" in name else "number"
