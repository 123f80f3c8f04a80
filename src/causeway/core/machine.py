"""The machine contract, and the turn: what the parts of a machine share while one call of `handle` runs.

A machine decides and never acts: no I/O, no clock, no randomness of its own, no logging, no asyncio. Three stimuli
move it: connections, its store, and time. A driver calls `handle` once per wake-up with everything that happened,
performs the effects, and calls again (with no events) when `next_deadline` has come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from causeway.core.effects import Effects, Send
from causeway.core.events import DriverEvent, InternalEvent
from causeway.core.messages import Message
from causeway.types import Instant

Then = Callable[["Turn"], None]
"""What follows from something that a later turn learns of."""


class Machine(Protocol):
    """Anything a driver can drive: a broker, a client session."""

    def handle(self, events: Sequence[DriverEvent], now: Instant) -> Effects:
        """The one door: let `events` happen at `now`, fire what is due, say what is to be done."""

    def next_deadline(self) -> Instant | None:
        """When to be called again if nothing happens before."""


class Turn(msgspec.Struct, eq=False):
    """One call of `handle`: its instant, its effects so far, and the internal events still to be routed."""

    now: Instant
    effects: Effects = msgspec.field(default_factory=Effects)
    inbox: deque[InternalEvent] = msgspec.field(default_factory=deque)

    def send(self, conn: int, head: Message, body: bytes = b"") -> None:
        """Put a frame on a connection at the end of this turn."""
        self.effects.sends.append(Send(conn, head, body))

    def tell(self, event: InternalEvent) -> None:
        """Hand a fact to the other parts of this machine, in order, within this turn."""
        self.inbox.append(event)
