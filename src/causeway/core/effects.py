"""What the core asks of the world. A driver performs one `Effects` per turn, in the order of its fields.

Persist is submitted first and may finish late; whatever must wait for it sits in its `then`. Nothing else waits
for the disk. Persists become durable in the order they were submitted, and Loads see every Persist submitted before
them. A broker's turn writes once: one Persist holds the writes of all its groups. docs/contracts.md has all promises.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from causeway.core.messages import Message
from causeway.core.placing import PlanRequest
from causeway.store.base import Write
from causeway.trace import TraceRecord

Conn = int
"""A connection. Inbound ones are numbered by the driver (even), dialled ones by the core (odd)."""


class Send(msgspec.Struct, frozen=True, gc=False):
    """Put a frame on a connection; dropped without complaint when the connection is gone."""

    conn: Conn
    head: Message
    body: bytes = b""


class Persist(msgspec.Struct, frozen=True, gc=False):
    """Write atomically and durably, then record `traces`, perform `then`, report Persisted(token) unless it is 0."""

    writes: Sequence[Write]
    then: Sequence[Send] = ()
    token: int = 0
    traces: Sequence[TraceRecord] = ()


class Load(msgspec.Struct, frozen=True):
    """Scan the store and report Loaded(token, page)."""

    token: int
    group: bytes
    start: bytes
    stop: bytes
    bytes_max: int


class Dial(msgspec.Struct, frozen=True):
    """Open a connection; Opened(conn) or Closed(conn) follows."""

    conn: Conn
    host: str
    port: int


class Close(msgspec.Struct, frozen=True):
    """Send what is buffered, then close. No Closed event follows a close of our own."""

    conn: Conn
    reason: str


class Pause(msgspec.Struct, frozen=True):
    """Stop (or go on, when `paused` is false) reading from a connection: back-pressure to its peer."""

    conn: Conn
    paused: bool


class PlanItems(msgspec.Struct, frozen=True):
    """Compute where items should be, beside everything else, and report Planned(group, ...)."""

    group: bytes
    """Of the landmark that asks."""
    request: PlanRequest


class Effects(msgspec.Struct, eq=False):
    """One turn's effects; machines append, the driver performs the lists in this order and then forgets them."""

    persists: list[Persist] = []
    loads: list[Load] = []
    dials: list[Dial] = []
    sends: list[Send] = []
    pauses: list[Pause] = []
    closes: list[Close] = []
    traces: list[TraceRecord] = []
    plans: list[PlanItems] = []
