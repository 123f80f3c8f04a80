"""A letter: what an application of the simulator sends, recognisable wherever it turns up.

The payload names the letter, so checkers follow what applications wrote and read, never the ids the product gave it.
"""

from __future__ import annotations

from typing import NamedTuple

from causeway.topics.critical import CRITICAL
from causeway.types import ServiceClass

PUBLISHED = "#"
"""In front of the topic in place of a mailbox's name."""

COLOURS = ("red", "blue", "red", "red", "", "blue", "red")
"""Of published letters, by their numbers: some of each side by side; some have none."""

NOTICES = "notices/"
"""Topics that begin so have letters that are retained."""

RETAINED_EVERY = 3
"""Of so many letters of such a topic, all but one."""


CAUSAL = "causal"
"""Mailboxes and topics that begin so get what is sent in causal order, and nothing else."""


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

    @property
    def causal(self) -> bool:
        """Whether it is sent or published in causal order."""
        return self.dest.startswith((CAUSAL, PUBLISHED + CAUSAL))

    @property
    def colour(self) -> str:
        """What selectors look at; empty when it has no such header."""
        return COLOURS[self.number % len(COLOURS)]

    @property
    def retained(self) -> bool:
        """Whether it is published to stay as its topic's."""
        return self.topic.startswith((NOTICES, f"{CRITICAL}/{NOTICES}")) and self.number % RETAINED_EVERY != 0

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
