"""The map of domains at its owner: who sits where, who is bound to which seat (the group `causeway/domains`).

Owns: the rows of that group, and who waits until all seats know a new one. Must not know: clocks, batches.
"""

from __future__ import annotations

from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.events import OwnershipGained
from causeway.core.machine import Turn
from causeway.core.messages import AskDomains, Bind, DomainsHeld, TakeSeat
from causeway.core.ports import Courier, Groups
from causeway.types import Instant, Key


class Registrar:
    """The map, if this broker owns it."""

    def __init__(self, groups: Groups, courier: Courier, *, alarm: Alarm | None = None) -> None:
        self._groups = groups
        self._courier = courier
        self._deadlines: Deadlines[str] = Deadlines(alarm)

    def gain(self, turn: Turn, event: OwnershipGained) -> None:
        raise NotImplementedError

    def resume(self, turn: Turn, group: Key) -> None:
        raise NotImplementedError

    def lose(self, turn: Turn, group: Key) -> None:
        raise NotImplementedError

    def on_committed(self, turn: Turn, group: Key, ticket: int) -> None:
        raise NotImplementedError

    def arrived(self, turn: Turn, head: TakeSeat | AskDomains | DomainsHeld | Bind) -> bool:
        """A question for the map; False when it must wait until we may write."""
        raise NotImplementedError

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Tell seats again that have not answered."""
