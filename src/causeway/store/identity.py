"""The id of a storage: drawn once, when it is created. A broker that lost its storage is a new member everywhere."""

from __future__ import annotations

import secrets


def draw_storage_id() -> int:
    """A positive 63-bit number that nobody else has drawn."""
    return secrets.randbits(63) or 1
