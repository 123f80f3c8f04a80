"""What can happen to a machine: facts from its driver, and the few facts one part of a broker tells another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from causeway.core.messages import Config, Message
from causeway.core.placing import PlannedItems
from causeway.store.base import Page, Row
from causeway.types import Duration, Key, Peer


# From the driver -----------------------------------------------------------------------------------------------
class Opened(msgspec.Struct, frozen=True):
    """A connection is up: one we dialled (odd) or an inbound one (even)."""

    conn: int
    remote: str = ""
    """Of an inbound one: the address at its other end, empty when the driver does not know."""


class Received(msgspec.Struct, frozen=True):
    """Messages arrived, each with its body, in the order in which they were sent."""

    conn: int
    messages: list[tuple[Message, bytes]]


class Closed(msgspec.Struct, frozen=True):
    """A connection is gone, or could not be made."""

    conn: int
    reason: str


class Clogged(msgspec.Struct, frozen=True):
    """A connection's write buffer passed its high mark."""

    conn: int


class Drained(msgspec.Struct, frozen=True):
    """A clogged connection's write buffer fell below its low mark."""

    conn: int


class Persisted(msgspec.Struct, frozen=True, gc=False):
    """The Persist with this token is durable."""

    token: int


class Loaded(msgspec.Struct, frozen=True):
    """The Load with this token found a page."""

    token: int
    page: Page


class Lagged(msgspec.Struct, frozen=True):
    """Our process is busy: what arrives on connections may wait so long before it is handled."""

    duration: Duration


class LeaveRequested(msgspec.Struct, frozen=True):
    """The operator asks this broker to hand over and leave."""


class Measured(msgspec.Struct, frozen=True):
    """The driver has measured its machine."""

    fitness: int
    """How well it meets the needs of a broker, in thousandths."""
    capacity: int
    """Messages a second that it sustains; 0 when it does not know."""


class Planned(msgspec.Struct, frozen=True):
    """A PlanItems is computed."""

    group: bytes
    plan: PlannedItems


DriverEvent = (
    Opened | Received | Closed | Clogged | Drained | Persisted | Loaded | Lagged | LeaveRequested | Measured | Planned
)


# Between the parts of one broker -------------------------------------------------------------------------------
class PeerUp(msgspec.Struct, frozen=True):
    """The connection to a broker is established in both directions."""

    peer: Peer


class PeerDown(msgspec.Struct, frozen=True):
    """A broker's connection broke, could not be made, or it fell silent."""

    peer: Peer


class WayChanged(msgspec.Struct, frozen=True):
    """A broker that is up is sent to on another connection: what went over the one before may be lost."""

    peer: Peer


class PeerMessage(msgspec.Struct, frozen=True, gc=False):
    """A message of another broker."""

    peer: Peer
    head: Message
    body: bytes


class ClientMessage(msgspec.Struct, frozen=True, gc=False):
    """A message of a client that said hello."""

    conn: int
    head: Message
    body: bytes


class ClientGone(msgspec.Struct, frozen=True):
    """A client's connection ended."""

    conn: int


class RootLearned(msgspec.Struct, frozen=True):
    """A later membership of the directory's group came to our ears."""

    config: Config


class MembershipChanged(msgspec.Struct, frozen=True):
    """The leaf set changed: who is responsible for a key may have changed."""


class Committed(msgspec.Struct, frozen=True):
    """Operations appended to groups we own are on all their members: what follows from each, in order."""

    thens: list[Callable[[Any], None]]
    """Each takes the Turn."""


class OwnershipGained(msgspec.Struct, frozen=True):
    """We own the group in a new epoch; `rows` are its rows below `next`, the rest is paged from `next` on."""

    group: Key
    config: Config
    rows: list[Row]
    next: bytes | None


class OwnershipLost(msgspec.Struct, frozen=True):
    """We no longer own the group (superseded, or handed over); operations not committed are not ours to report."""

    group: Key
    config: Config


class OwnershipResumed(msgspec.Struct, frozen=True):
    """We still own the group, in a new epoch, and may append again."""

    group: Key


class PageLoaded(msgspec.Struct, frozen=True):
    """Rows of a group we own, asked for by the `load_page` that gave the token; `next` is where to go on."""

    group: Key
    token: int
    rows: list[Row]
    next: bytes | None


InternalEvent = (
    PeerUp
    | PeerDown
    | WayChanged
    | PeerMessage
    | ClientMessage
    | ClientGone
    | RootLearned
    | MembershipChanged
    | Committed
    | OwnershipGained
    | OwnershipLost
    | OwnershipResumed
    | PageLoaded
)
