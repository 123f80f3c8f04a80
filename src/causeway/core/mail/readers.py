"""The half of the office that faces readers: consumers come, settle, give back and go.

Owns: who consumes what over which connection, and what waits until we may write. The other half is `office`.
Must not know: senders, transactions, paging.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.mail.attendance import Attendance
from causeway.core.mail.box import Box
from causeway.core.mail.consumers import Terms
from causeway.core.mail.looks import Looks
from causeway.core.mail.operations import Operations
from causeway.core.mail.private import Endings
from causeway.core.mail.replies import Replies
from causeway.core.mail.rows import StoredBatch
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Attach, Attached, Credit, Detach, EndMailbox, MailboxEnded, Moved, Return, Settle
from causeway.core.messages.groups import Config
from causeway.core.ports import Courier, Groups, Topics
from causeway.errors import Code
from causeway.limits import CONSUMERS_PER_CONNECTION_MAX, CREDIT_MAX
from causeway.trace import Step
from causeway.types import VOLATILE_FROM, Key, key_of


class Readers:
    """Consumers of all owned mailboxes."""

    def __init__(
        self,
        config: BrokerConfig,
        me: bytes,
        groups: Groups,
        courier: Courier,
        *,
        topics: Topics,
        is_deciding: Callable[[Key], bool],
        alarm: Alarm | None = None,
    ) -> None:
        self.me = me
        self.topics = topics
        self._config = config
        self._tracer = Tracer(config.name)
        self._replies = Replies(courier, self._tracer)
        self._operations = Operations(groups, self._replies, self._tracer, self.touch)
        self._groups = groups
        self._courier = courier
        self.boxes: dict[Key, Box] = {}
        self._dirty: dict[Key, None] = {}
        self._deadlines: Deadlines[Key] = Deadlines(alarm)
        self._endings = Endings(groups, self._deadlines, is_deciding, topics.withdrawn)
        self._attendance = Attendance()
        self.looks = Looks(groups)
        """Browses, and all else that looks at what lies on disk."""
        self.bury: list[tuple[str, Config, StoredBatch]] = []
        """Messages for dead-letter mailboxes, taken by `Burials`."""

    def touch(self, group: Key) -> None:
        """Look at the mailbox again at the end of the turn."""
        self._dirty[group] = None

    def attach(
        self, turn: Turn, conn: int, client: tuple[str, int], head: Attach, answer: Attached | None = None
    ) -> bool:
        """A consumer arrives (the mailbox is ours); False when it must wait until we may write."""
        group = key_of(head.mailbox)
        box = self.boxes[group]
        terms = Terms(head.selector, head.exclusive, client)
        if box.gone and not self._catch_up(turn, box):  # perhaps one of those stands in the way
            return False
        if box.mailbox.audience.is_late(conn, head.consumer, terms) or self.refuses(turn, conn, client, head):
            return True
        former = [(one.conn, one.id) for one in box.mailbox.audience.former(conn, head.consumer, terms)]
        if former and not self._groups.serving(group):
            return False
        if not self._attendance.enter(conn, group, head.consumer):
            detail = f"this connection has {CONSUMERS_PER_CONNECTION_MAX} consumers, its limit"
            turn.send(conn, Moved(head.mailbox, None, Code.OVERLOADED, detail))
            return True
        if (conn, head.consumer) in box.mailbox.consumers():
            # It begins anew: what it holds by our account, it does not know of.
            if not self._groups.serving(group):
                return False
            self._operations.write(turn, box, box.mailbox.detach(conn, head.consumer), None)
        if box.mailbox.knows(client, head.consumer):
            if not self._groups.serving(group):
                return False
            writes = box.mailbox.forgive(client, head.consumer, again=head.again)
            self._operations.write(turn, box, writes, None)
        for ended in former:
            self._operations.write(turn, box, box.mailbox.detach(*ended), None)
            self._attendance.leave(ended[0], group, ended[1])
        credit = max(1, min(head.credit, CREDIT_MAX))
        window = min(max(0, head.window), credit)
        if not box.shown_only:
            box.mailbox.attach(conn, head.consumer, window or credit, turn.now, terms)
        attached = answer or Attached(head.mailbox, head.consumer)
        turn.send(conn, msgspec.structs.replace(attached, window=window) if window else attached)
        if client[0] == head.mailbox:
            while box.notices:
                turn.send(conn, box.notices.popleft())
        self.touch(group)
        return True

    def refuses(self, turn: Turn, conn: int, client: tuple[str, int], head: Attach) -> bool:
        """Whether a consumer cannot be here beside the others; it is told why."""
        audience = self.boxes[key_of(head.mailbox)].mailbox.audience
        refusal = audience.refusal(conn, head.consumer, Terms(head.selector, head.exclusive, client))
        if refusal is not None:
            turn.send(conn, Moved(head.mailbox, None, *refusal))
        return refusal is not None

    def widen(self, turn: Turn, conn: int, head: Credit) -> None:
        """A consumer that keeps up takes more at a time."""
        group = key_of(head.mailbox)
        self.boxes[group].mailbox.audience.widen(conn, head.consumer, head.credit)
        self.touch(group)

    def detach(self, turn: Turn, conn: int, head: Detach) -> None:
        """A consumer leaves (we may write)."""
        group = key_of(head.mailbox)
        box = self.boxes[group]
        self._operations.write(turn, box, box.mailbox.detach(conn, head.consumer), None)
        self._attendance.leave(conn, group, head.consumer)
        self._endings.watch(turn, box)
        self.touch(group)

    def settle(self, turn: Turn, conn: int, head: Settle) -> None:
        """The application is done with messages (we may write, or only express ones are meant)."""
        group = key_of(head.mailbox)
        box = self.boxes[group]
        settlement = box.mailbox.settle(conn, head.consumer, head.spans, turn.now)
        stored = any(first < VOLATILE_FROM for first, _ in head.spans)

        def done(turn: Turn) -> None:
            if stored:
                self._replies.settled(turn, conn, head, settlement)
            if settlement.confirm:
                self._replies.confirm(turn, box, settlement.confirm)

        if stored and not settlement.writes:
            box.after(turn, done)  # what was settled before may still be on its way to the copies
        else:
            self._operations.write(turn, box, settlement.writes, done)
        self._dirty[group] = None

    def give_back(self, turn: Turn, conn: int, head: Return) -> None:
        """The application returns messages (we may write)."""
        group = key_of(head.mailbox)
        box = self.boxes[group]
        # Its count, and perhaps its way to the dead letters, must outlive us.
        self._operations.store_passing(turn, box)
        returned = box.mailbox.give_back(conn, head.consumer, head.spans, turn.now)
        dead = [(box.mailbox.name, box.config, batch) for batch in returned.dead]
        for piece in returned.pieces:
            self._tracer.kept(turn, Step.RETURNED, box.mailbox.name, piece)
        # Not before the verdict is on all copies: a new owner that knows nothing of it would hand them out again.
        self._operations.write(turn, box, returned.writes, lambda _: self.bury.extend(dead))
        self.touch(group)

    def buried(self, turn: Turn, mailbox: str, first: int, last: int) -> None:
        """The dead-letter mailbox has these numbers: they are settled here."""
        box = self.boxes.get(key_of(mailbox))
        if box is not None:  # else the next owner buries them again, and they are known there by their numbers
            box.buried.append((first, last))
            self._catch_up(turn, box)

    def _catch_up(self, turn: Turn, box: Box) -> bool:
        """What had to wait until we may write; whether nothing has to any more."""
        group = box.mailbox.key
        if (box.gone or box.buried) and not self._groups.serving(group):
            self._deadlines.set_if_unset(group, turn.now + self._config.retry)
            return False
        for conn in list(box.gone):
            self._lose(turn, box, conn)
        if box.buried:
            settled = box.mailbox.settle_numbers(box.buried)
            box.buried = []
            self._operations.write(
                turn, box, settled.writes, lambda turn: self._replies.confirm(turn, box, settled.confirm, Step.DEAD)
            )
        return True

    def on_client_gone(self, turn: Turn, conn: int) -> None:
        """All its consumers are gone; what they held goes to others."""
        self.looks.on_client_gone(conn)
        for group in self._attendance.close(conn):
            box = self.boxes.get(group)
            if box is not None:
                self._lose(turn, box, conn)

    def _lose(self, turn: Turn, box: Box, conn: int) -> None:
        group = box.mailbox.key
        if not self._groups.serving(group):
            box.gone[conn] = None
            return
        box.gone.pop(conn, None)
        if box.mailbox.passing() is not None:
            self._operations.store_passing(turn, box)
        lost = box.mailbox.lose(conn)
        dead = [(box.mailbox.name, box.config, batch) for batch in lost.dead]
        self._operations.write(turn, box, lost.writes, lambda _: self.bury.extend(dead))
        self._endings.watch(turn, box)
        self.touch(group)

    def on_drained(self, conn: int) -> None:
        """The connection takes messages again."""
        for group in self._attendance.groups(conn):
            self.touch(group)

    def delete(self, turn: Turn, conn: int, head: EndMailbox) -> None:
        """Somebody wants a mailbox to end, which nobody has use for (we may write)."""
        box = self.boxes[key_of(head.mailbox)]
        if readers := len(box.mailbox.consumers()):
            detail = f"mailbox: {readers} consumers read it; end them first"
            turn.send(conn, Moved(head.mailbox, None, Code.IN_USE, detail))
        elif not box.mailbox.empty():
            detail = "mailbox: has messages, or a transaction about them is open; purge it, and stop who sends to it"
            turn.send(conn, Moved(head.mailbox, None, Code.IN_USE, detail))
        else:
            self._endings.delete(turn, box)
            turn.send(conn, MailboxEnded(head.mailbox, head.token))

    def dismiss(self, turn: Turn, box: Box, code: Code, detail: str) -> None:
        """Tell all readers of a mailbox why they get nothing more."""
        group = box.mailbox.key
        for conn in dict.fromkeys(conn for conn, _ in box.mailbox.consumers()):
            turn.send(conn, Moved(box.mailbox.name, None, code, detail))
            self._attendance.end(conn, group)
            self._lose(turn, box, conn)
