"""What a mailbox writes becomes operations of its group, and what follows when they are on all copies.

Owns: the bond between an operation and those who wait for it. Must not know: consumers, replication.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from causeway.core.machine import Turn
from causeway.core.mail.box import Box, Done
from causeway.core.mail.replies import Replies
from causeway.core.mail.rows import StoredBatch
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Deposit
from causeway.core.ports import Groups
from causeway.store.base import Write
from causeway.trace import Step
from causeway.types import Key


class Operations:
    """The operations of all owned mailboxes."""

    def __init__(self, groups: Groups, replies: Replies, tracer: Tracer, touch: Callable[[Key], None]) -> None:
        self._groups = groups
        self._touch = touch
        """Have a mailbox looked at when the turn ends: there may be something to deliver."""
        self._replies = replies
        self._tracer = tracer

    def append(self, turn: Turn, box: Box, writes: Sequence[Write], span: int, done: Done | None) -> None:
        """One operation that takes `span` numbers; `done` when it is on all copies."""
        group = box.mailbox.key
        seq = self._groups.position(group)
        box.done[seq] = done
        self._groups.append(turn, group, writes, span, lambda turn: self._committed(turn, box, seq))

    def write(self, turn: Turn, box: Box, writes: Sequence[Write], done: Done | None) -> None:
        """Append when there is something durable to say, else go on at once."""
        if writes:
            self.append(turn, box, writes, 1, done)
        elif done is not None:
            done(turn)

    def store(self, turn: Turn, box: Box, head: Deposit, body: bytes, skip: int) -> None:
        """A batch, behind everything that came before it; acknowledged when it is on all copies."""
        self.store_passing(turn, box)
        seq = self._groups.position(box.mailbox.key)
        writes = box.mailbox.store(head, body, seq, turn.now, skip)
        box.senders.setdefault(seq, []).append(head)
        self.append(turn, box, writes, head.count - skip, None)

    def store_passing(self, turn: Turn, box: Box) -> None:
        """What was let through and not settled yet goes into the group, in order, before anything newer."""
        for batch in box.mailbox.unpass():
            seq = self._groups.position(box.mailbox.key)
            writes = box.mailbox.store_passed(batch, seq)
            waiting = box.senders.pop(batch.seq, [])
            box.senders.setdefault(seq, []).extend(waiting)
            self.append(turn, box, writes, batch.count, None)

    def stored(self, turn: Turn, box: Box, batch: StoredBatch, transaction: str = "") -> None:
        """Write into the trace that a batch is on all copies, and whose these are."""
        config = self._groups.config(box.mailbox.key) or box.config
        self._tracer.kept(turn, Step.STORED, box.mailbox.name, batch, config=config, transaction=transaction)

    def _committed(self, turn: Turn, box: Box, seq: int) -> None:
        """An operation is on all copies: acknowledge, and do what waited for it."""
        self._touch(box.mailbox.key)
        done = box.done.pop(seq)
        batch = box.mailbox.committed(seq)
        heads = box.senders.pop(seq, ())
        if batch is not None:
            self.stored(turn, box, batch)
        for head in heads:
            self._replies.accept(turn, head)
        if batch is not None and not heads:
            # It passed first, and part of it was settled on the way: whoever waits waits for what is left.
            self._replies.accept_batch(turn, box.mailbox.name, batch)
        if done is not None:
            done(turn)
