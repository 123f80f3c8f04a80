"""Frames as one short line each, for the log of a run: names instead of ids, nothing that repeats."""

from __future__ import annotations

from typing import Any

import msgspec

from causeway.core.messages import Config
from causeway.types import Peer, key_of

BYTES_SHOWN_MAX = 8


class Describer:
    """Knows the names behind keys once it was told them."""

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def name(self, name: str) -> None:
        """Show this name instead of its key."""
        self._names[key_of(name)] = name

    def __call__(self, value: Any) -> str:
        """One value, compact."""
        if isinstance(value, bytes):
            known = self._names.get(value)
            if known is not None:
                return known
            shown = value[:BYTES_SHOWN_MAX].hex()
            return shown if len(value) <= BYTES_SHOWN_MAX else f"{shown}..{len(value)}"
        if isinstance(value, Config):
            return self._config(value)
        if isinstance(value, Peer):
            return value.name
        if isinstance(value, (tuple, list)):
            return "[" + " ".join(self(item) for item in value) + "]"
        if isinstance(value, msgspec.Struct):
            fields = (f"{field}={self(getattr(value, field))}" for field in value.__struct_fields__)
            return f"{type(value).__name__}({' '.join(fields)})"
        return repr(value)

    def _config(self, config: Config) -> str:
        members = " ".join(
            member.peer.name
            + ("*" if member.peer.id == config.owner else "")
            + ("-" if member.peer.id in config.incomplete else "")
            for member in config.members
        )
        return f"<{config.name} e{config.epoch} {members}>"
