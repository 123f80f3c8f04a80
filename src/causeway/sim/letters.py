"""A letter: what an application of the simulator sends, recognisable wherever it turns up.

The payload names the letter, so checkers follow what applications wrote and read, never the ids the product gave it.
"""

from __future__ import annotations

from typing import NamedTuple

from causeway.types import ServiceClass

PUBLISHED = "#"
"""In front of the topic in place of a mailbox's name."""


class Letter(NamedTuple):
    """Number `number` that one life of an application sent to a mailbox in one service class."""

    source: str
    life: int
    dest: str
    stream: int
    number: int

    @property
    def topic(self) -> str:
        """Where it was published; empty for a letter to a mailbox."""
        return self.dest[1:] if self.dest.startswith(PUBLISHED) else ""

    def payload(self, size: int) -> bytes:
        """At least `size` bytes that say which letter this is."""
        text = f"{self.source}|{self.life}|{self.dest}|{self.stream}|{self.number}|".encode()
        return text + b"." * (size - len(text))

    def __str__(self) -> str:
        stream = ServiceClass(self.stream).name.lower()
        return f"{self.source}/{self.life}->{self.dest} {stream} #{self.number}"


def letter_of(payload: bytes) -> Letter:
    """The letter inside a payload."""
    source, life, dest, stream, number, _ = bytes(payload).decode().split("|", 5)
    return Letter(source, int(life), dest, int(stream), int(number))
