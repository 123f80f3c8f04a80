"""Copies that a source broker keeps of what was sent through it. Owns: the records; `outbox` works on them."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from causeway.core.messages import Accepted, Deposit
from causeway.types import Duration, Flag, Instant

_APART = int(Flag.APART)

StreamId = tuple[str, int, str, int]
"""Source, incarnation, destination, service class."""


@dataclass(slots=True)
class Copy:
    """A batch not yet acknowledged."""

    head: Deposit
    body: bytes
    dies: Instant = 0
    """When its time to live is over; 0 = never."""
    ripe: Instant = 0
    """When its delay is over; 0 = it has none."""
    fades: Instant = 0
    """Between seats: when there is nothing left to deliver of it, only its place; 0 = never."""
    at: Instant = 0
    """When it was first sent on its way."""

    @property
    def last(self) -> int:
        return self.head.first + self.head.count - 1


@dataclass(slots=True)
class Stream:
    """Batches of one source to one destination in one class."""

    conn: int
    """The client that sends it, or (BURIED, FORWARDED) this broker itself."""
    sent: dict[int, Copy] = field(default_factory=dict)
    """On their way, by first id, oldest first."""
    queue: dict[int, Copy] = field(default_factory=dict)
    """Behind the window."""
    newest: int = 0
    """First id of the newest batch kept."""
    dropped: int = 0
    """Ids from here on were refused and handed back to the application, which will send them again; 0 = none."""
    patience: Duration = 0
    """How long it waits for an answer to any of them before it sends them again."""
    wait: Duration = 0
    resent: Instant = -1
    apart: bool = False
    """Of way 1 of a critical topic: some of it was not for this way alone (see Flag.APART)."""
    repeated: int = 0
    """In causal order: how far copies behind those that are always sent again were sent again."""

    def note(self, head: Deposit) -> None:
        """One more batch of it."""
        if head.flags & _APART:
            self.apart = True

    def told(self, head: Accepted) -> Accepted:
        """What the client hears of an answer."""
        return msgspec.structs.replace(head, unwanted=True) if self.apart else head

    @property
    def is_idle(self) -> bool:
        """Whether nothing is lost if it is forgotten: what comes later begins it anew."""
        return not self.sent and not self.queue and not self.dropped
