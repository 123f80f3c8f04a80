"""The seats this broker holds: what each decides becomes operations of its group, then messages, when they are safe.

Owns: one Seat per seat group we own, and the bond between an operation and what may leave after it.
Must not know: what a seat decides, how operations are replicated.
"""

from __future__ import annotations

from causeway.config import BrokerConfig
from causeway.core.causal.chart import Chart
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.events import OwnershipGained
from causeway.core.machine import Turn
from causeway.core.mail.desk import Desk
from causeway.core.messages import Accepted, AskMark, Deposit, Domains, Register, Rejected, Relayed
from causeway.core.ports import Groups, Links
from causeway.types import Instant, Key


class Seats:
    """All seats of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        desk: Desk,
        groups: Groups,
        links: Links,
        chart: Chart,
        *,
        alarm: Alarm | None = None,
    ) -> None:
        self._desk = desk
        self._groups = groups
        self._links = links
        self._chart = chart
        self._deadlines: Deadlines[Key] = Deadlines(alarm)

    def gain(self, turn: Turn, event: OwnershipGained) -> None:
        raise NotImplementedError

    def resume(self, turn: Turn, group: Key) -> None:
        raise NotImplementedError

    def lose(self, turn: Turn, group: Key) -> None:
        raise NotImplementedError

    def on_committed(self, turn: Turn, group: Key, ticket: int) -> None:
        raise NotImplementedError

    def arrived(self, turn: Turn, key: Key, head: Deposit | Register | Domains | AskMark, body: bytes) -> bool:
        """A message for a seat we hold; False when it must wait until we may write."""
        raise NotImplementedError

    def on_chart(self, turn: Turn) -> None:
        """The map, or a binding, came to our ears: what waited for it goes on."""
        raise NotImplementedError

    def on_accepted(self, turn: Turn, head: Accepted) -> None:
        """Another seat, or a mailbox, has what a seat of ours sent."""
        raise NotImplementedError

    def on_gone(self, turn: Turn, head: Rejected) -> None:
        """A mailbox does not exist any more."""
        raise NotImplementedError

    def relay(self, turn: Turn, head: Relayed, body: bytes) -> None:
        raise NotImplementedError

    def submit(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        raise NotImplementedError

    def flush(self, turn: Turn) -> None:
        """End of a turn."""

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """What came without a body was lost with its sender, if nobody has sent it again since."""

    def statistics(self) -> list[dict[str, object]]:
        """Each seat held here."""
        return []
