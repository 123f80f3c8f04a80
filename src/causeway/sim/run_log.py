"""The digest of a run, and its one-line-per-event log for people.

Every event handed to a machine and every effect it asked for enters the digest with its virtual time and its
process, so two runs with the same digest did the same things in the same order. The log holds the same lines in
readable form; it is only written when asked for, because text is what costs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from zlib import crc32

from causeway.core.messages import Message
from causeway.wire.codec import encode_head

FLUSH_LINES = 512


def fingerprint(head: Message, body: bytes) -> int:
    """A frame as one number: what the digest knows of it."""
    return crc32(body, crc32(encode_head(head)))


class RunLog:
    """Collects lines; `digest()` at any time."""

    __slots__ = ("_hash", "_lines", "write")

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self._hash = hashlib.sha256()
        self._lines: list[str] = []
        self.write = write
        """Where readable lines go; None when nobody reads."""

    def note(self, line: str) -> None:
        """One canonical line."""
        self._lines.append(line)
        if len(self._lines) >= FLUSH_LINES:
            self._flush()

    def digest(self) -> str:
        """Of everything noted so far."""
        self._flush()
        return self._hash.hexdigest()

    def _flush(self) -> None:
        if self._lines:
            self._lines.append("")
            self._hash.update("\n".join(self._lines).encode())
            self._lines.clear()
