"""Mailboxes of a made-up circle, and what lies in them. Owns: these records. Must not know: what happens to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from causeway.pipeline.generate.writers import MadeBatch, Writer

Task = Callable[[], None]


class MadeEntry:
    """A batch in a mailbox."""

    __slots__ = ("again", "batch", "fault", "healthy", "ready", "then")

    def __init__(self, batch: MadeBatch, fault: str, *, healthy: bool) -> None:
        self.batch, self.fault, self.healthy = batch, fault, healthy
        self.ready = False
        self.again = ""
        """Note of its next delivery: that it is not the first."""
        self.then: Task | None = None
        """What follows when its reader has taken it."""


class MadeMailbox:
    """A mailbox, an item or a subscription: a group of brokers, a queue in the order of sending, and who reads it."""

    def __init__(self, name: str, members: list[Writer], readers: list[Writer]) -> None:
        self.name = name
        self.members = members
        self.epoch = 1
        self.readers = readers
        self.queue: deque[MadeEntry] = deque()
        self.closed = False
        self.taken_at = 0
        """When the last of what was handed out is taken: readers take things in order."""

    @property
    def owner(self) -> Writer:
        return self.members[0]
