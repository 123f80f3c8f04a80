"""The one trace: a flat, versioned record of what happened to a batch.

Brokers, clients and the simulator write the same record; `causeway story`, the checkers and the data pipeline
read only this.
"""

from __future__ import annotations

import enum

import msgspec

TRACE_VERSION = 1


class Step(enum.IntEnum):
    """What happened, in the order of a batch's life."""

    SENT = 1
    """A source broker took the batch from its application."""
    FORWARDED = 2
    """A broker passed it on towards its owner."""
    STORED = 3
    """The owner and all copies confirmed it."""
    DELIVERED = 4
    """It was handed to a consumer's connection."""
    SETTLED = 5
    """The application acknowledged it."""
    ACKNOWLEDGED = 6
    """The sender was told."""
    RETURNED = 7
    """The application gave it back, or its consumer vanished."""
    DEAD = 8
    """Moved to the dead-letter mailbox."""
    EXPIRED = 9
    """Nobody took it within its time to live."""
    REFUSED = 10
    """Its owner did not take it; `note` has the code."""
    DUPLICATE = 11
    """Arrived again and was suppressed."""
    LOST = 12
    """A stored row failed its checksum and no copy of it exists; `note` names it. Never seen while K-1 copies live."""
    HELD = 13
    """In causal order, it came before something that must be delivered first; `note` says what."""
    RECEIVED = 14
    """An application took it from its reader. Written by the application."""
    COPIED = 15
    """A member of the owner's epoch, the owner included, has it on its storage."""

    # What agents find out. `source` is the broker it is about, `dest` the domain.
    BROKER_FAILED = 20
    """The landmark, and others, have lost a broker."""
    BROKER_BACK = 21
    """It was gone, and is there again."""
    LINK_FAILED = 22
    """A link between two brokers broke; `note` names the other end."""
    SEAT_TAKEN = 23
    """Another broker holds a seat now; `note` says whose."""
    LANDMARK = 24
    """A broker became the landmark of its domain; `first` is its term."""
    BOTTLENECK = 25
    """Something falls behind; `source` is the mailbox or broker, `note` the kind and figures. `first` is 1 when it is
    found, 0 when it is over."""
    PLACED = 26
    """The landmark has a new policy for the items of its domain; `first` is its version."""


class TraceRecord(msgspec.Struct, frozen=True, array_like=True):
    """One step in the life of one batch, or of a part of it."""

    at: int
    """Instant, by the clock of the broker that wrote it."""
    broker: str
    step: int
    source: str
    incarnation: int
    dest: str
    stream: int
    first: int
    last: int
    note: str = ""
