"""A mailbox in its owner's hands. Owns: the record; `Office` and `Parts` work on it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from causeway.core.machine import Turn
from causeway.core.mail.mailbox import Mailbox
from causeway.core.mail.rows import TxId
from causeway.core.messages import Config, Confirmed, Deposit
from causeway.limits import NOTICES_PER_MAILBOX_MAX
from causeway.types import Duration, Instant, Span

Done = Callable[[Turn], None]
"""What to do when an operation is on all copies."""


@dataclass(slots=True)
class Box:
    """A mailbox we own, with what waits for its operations."""

    mailbox: Mailbox
    config: Config
    done: dict[int, Done | None] = field(default_factory=dict)
    """Operations on their way by their positions, in order, and what to do when each is committed."""
    senders: dict[int, list[Deposit]] = field(default_factory=dict)
    """Batches to acknowledge when the operation at seq is committed (or, passing, when it is settled)."""
    gone: dict[int, None] = field(default_factory=dict)
    """Connections that ended while we could not write."""
    buried: list[Span] = field(default_factory=list)
    """Numbers the dead-letter mailbox has, to be settled when we may write."""
    unburied: deque[Span] = field(default_factory=deque)
    """Numbers of condemned messages, all in memory, for which the outbox had no room."""
    notices: deque[Confirmed] = field(default_factory=lambda: deque(maxlen=NOTICES_PER_MAILBOX_MAX))
    """Delivery confirmations for this application, until it is back."""
    deciding: dict[TxId, None] = field(default_factory=dict)
    """Transactions whose outcome is on its way to the copies: not done before it is there."""
    ask_after: Instant = 0
    """When to ask again how transactions in doubt ended."""
    unread: Instant = 0
    """Since when nobody reads it; kept for mailboxes that end some day."""
    deleted: int | None = None
    """Somebody has deleted it: how far it reached then. It ends if nobody has used it a moment later."""
    loading: int = 0
    """Token of the load for the window, 0 when none is under way."""

    overflow: int = 0
    """Of a subscription: what happens when it is full (types.Overflow)."""
    dropped: int = 0
    """Messages that made room for newer ones."""
    shown_only: bool = False
    """A history: nobody consumes from it."""

    sweeping: bool = False
    """Whether a look for what has expired on disk waits or is under way."""

    def waiting_senders(self) -> list[Deposit]:
        """Batches that are not acknowledged yet."""
        return [deposit for deposits in self.senders.values() for deposit in deposits]

    def after(self, turn: Turn, done: Done) -> None:
        """Do something when every operation on its way is on all copies: now, if none is."""
        if not self.done:
            done(turn)
            return
        seq = next(reversed(self.done))
        earlier = self.done[seq]

        def both(turn: Turn) -> None:
            if earlier is not None:
                earlier(turn)
            done(turn)

        self.done[seq] = both

    def due(self, patience: Duration) -> Instant | None:
        """When something expires or is to be delivered, or has passed unsettled for longer than `patience`."""
        since = self.mailbox.passing()
        dues = (
            self.mailbox.next_expiry(),
            self.mailbox.next_delivery(),
            self.sweep_due(),
            None if since is None else since + patience,
        )
        return min((due for due in dues if due is not None), default=None)

    def sweep_due(self) -> Instant | None:
        """When to look for what has expired on disk."""
        return None if self.sweeping else self.mailbox.next_sweep()
