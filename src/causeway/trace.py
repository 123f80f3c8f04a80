"""The one trace: a flat record of what happened to a batch.

Brokers, clients and the simulator write the same record; `causeway story`, the checkers and the audit read only
this. What a batch is called is what its sender called it, wherever it is: an item or a seat that numbers it
anew writes the sender's ids.

Segments of the lake outlive a release: numbers of steps and meanings of fields never change, and `lake/schema.py` has
the version that is written into every row.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec


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
    TAKEN = 16
    """Its owner has it in memory: express, or on its way to a reader that is there. It may be STORED later."""
    RELEASED = 17
    """What it was HELD for has come."""
    PREPARED = 18
    """In a transaction: its mailbox holds it ready on all copies, invisible until the transaction is decided."""

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
    BROKER_LEFT = 27
    """A broker goes for good and gives up its seat: it has not failed."""

    # What a writer of the lake says of itself.
    GAP = 30
    """So many of its records as `last` says, just before this one, are missing: it could not keep up, or not write."""
    ENDED = 31
    """Its life ended in order: nothing of it is missing behind this. Without it, its last seconds may be."""
    SEALED = 32
    """The end of a segment, with no number of its own: records `first` to `last` of this life have the digest `note`
    (`lake/seal.py`). `incarnation` is the writer's life before this one, `copies` how many a broker is to keep."""
    RETIRED = 33
    """In the place of records `first` to `last` of this life, which were deleted because they were old: `note` has how
    many they were and their digests (`lake/seal.py`), `incarnation` and `copies` are what their seals said."""

    # What an item's owner knows of subscriptions: `dest` is the item, `mailbox` the subscription, `topic` the pattern.
    SUBSCRIBED = 40
    """What is stored from now on goes to this subscription; with a `note`, only what that lets through."""
    UNSUBSCRIBED = 41
    """Nothing more goes there."""


MEMBERS_APART: Final = "\n"
"""Between names of members in one field: no name has it."""


def transaction_name(source: str, incarnation: int, number: int) -> str:
    """What a transaction is called in the trace: by who began it, in which life, and its number there."""
    return f"{source}:{incarnation:x}:{number}"


class TraceRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
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
    service: int = 0
    """ServiceClass that its sender chose."""
    reliable: bool = False
    """Whether its sender waits for an acknowledgement, as far as is known here."""
    causal: bool = False
    topic: str = ""
    """That it was published on."""
    mailbox: str = ""
    """Where this happened: the mailbox, item or subscription."""
    seat: str = ""
    """In causal order: the seat that it is at or on its way to, or that handed it to the mailbox."""
    peer: str = ""
    """The other side: the next broker, the reader, the owner of what was copied, all members of what was stored."""
    epoch: int = 0
    copies: int = 0
    """Of what is stored: how many members of the epoch have confirmed it."""
    bytes: int = 0
    """Of the bodies, 0 where they are not known."""
    transaction: str = ""
    """That it was sent or settled in: see `transaction_name`."""

    @property
    def step_name(self) -> str:
        """The name of the step, also of one that a newer broker invented."""
        try:
            return Step(self.step).name.lower()
        except ValueError:
            return f"step-{self.step}"
