"""Looks at what lies behind the windows of the mailboxes we own: reads of the disk that bring nothing into memory.

Owns: the queues of looks, their bounds, the one load per mailbox that reads for them, browsing.
Must not know: what a page shows (Browser), the window and its loads.

A look takes its turn: after a page that was not its last it goes to the end of the queue. A browse that waits is
forgotten when its connection ends and sent on when the mailbox moves; a load whose look has gone is let come in and
thrown away.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from causeway.core.events import PageLoaded
from causeway.core.machine import Turn
from causeway.core.mail.box import Box
from causeway.core.mail.browser import Glance
from causeway.core.mail.views import browsed, question_of
from causeway.core.messages import Browse, Moved
from causeway.core.ports import Groups
from causeway.errors import Code
from causeway.limits import LOOK_BYTES, LOOKS_PER_CONNECTION_MAX, LOOKS_PER_MAILBOX_MAX
from causeway.types import Key, Peer


class Look:
    """Something that wants to see what lies on disk."""

    wanted = True

    def serve(self, turn: Turn, box: Box) -> int | None:
        """Do what needs no disk; the number from which on a page is needed, None when it is done."""
        raise NotImplementedError

    def page(self, turn: Turn, box: Box, page: PageLoaded) -> bool:
        """The page has come; whether that was all."""
        raise NotImplementedError

    def move(self, turn: Turn, mailbox: str, peer: Peer | None) -> None:
        """The mailbox has gone to another broker."""


class BrowseLook(Look):
    """A client's browse."""

    def __init__(self, conn: int, head: Browse) -> None:
        self.conn = conn
        self.head = head
        self.question = question_of(head)
        """What is left of it."""

    def serve(self, turn: Turn, box: Box) -> int | None:
        """Answer from memory, if that has something to show."""
        glance = box.mailbox.browser.browse(self.question, turn.now)
        return None if self._answer(turn, box, glance) else glance.hidden

    def page(self, turn: Turn, box: Box, page: PageLoaded) -> bool:
        """Answer, unless everything in the page is settled."""
        glance = box.mailbox.browser.page(self.question, page.rows, page.next, turn.now)
        if self._answer(turn, box, glance):
            return True
        assert glance.hidden is not None
        self.question = self.question.behind(glance.hidden)
        return False

    def _answer(self, turn: Turn, box: Box, glance: Glance) -> bool:
        """Say what was found, unless that is nothing yet."""
        if not glance.shown and glance.hidden is not None:
            return False
        extent = (*box.mailbox.browser.extent, box.config.born)
        turn.send(self.conn, *browsed(self.head, self.question, glance, extent))
        return True

    def move(self, turn: Turn, mailbox: str, peer: Peer | None) -> None:
        """Send the client on."""
        turn.send(self.conn, Moved(mailbox, peer, Code.NOT_OWNER, "the mailbox has moved"))


@dataclass(slots=True)
class LookQueue:
    """Those who wait at one mailbox."""

    waiting: deque[Look] = field(default_factory=deque)
    current: Look | None = None
    """For whom a page is being loaded."""
    token: int = 0
    """Of that load."""

    def is_full(self) -> bool:
        """Whether as many wait as may."""
        if len(self.waiting) >= LOOKS_PER_MAILBOX_MAX:
            self.waiting = deque(look for look in self.waiting if look.wanted)
        return len(self.waiting) >= LOOKS_PER_MAILBOX_MAX


class Looks:
    """Looks into all mailboxes of an office."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._queues: dict[Key, LookQueue] = {}
        self._browses: dict[int, dict[tuple[Key, int], BrowseLook]] = {}
        """By connection, mailbox and the client's token."""

    def browse(self, turn: Turn, box: Box, conn: int, head: Browse) -> None:
        """Show messages, now or when they were read from disk."""
        group = box.mailbox.key
        mine = self._browses.get(conn, {})
        before = mine.get((group, head.token))
        if before is not None and before.head == head:
            return  # asked again out of impatience
        if before is not None:
            self._drop(group, before)
        look = BrowseLook(conn, head)
        if look.serve(turn, box) is None:
            return
        queue = self._queues.get(group)
        if len(mine) >= LOOKS_PER_CONNECTION_MAX or (queue is not None and queue.is_full()):
            detail = f"too many browses of {head.mailbox!r}, or of this connection, wait for the disk; ask again"
            turn.send(conn, Moved(head.mailbox, None, Code.OVERLOADED, detail))
            return
        self._browses.setdefault(conn, {})[group, head.token] = look
        self.add(turn, box, look)

    def add(self, turn: Turn, box: Box, look: Look) -> None:
        """Let a look take its turn."""
        queue = self._queues.setdefault(box.mailbox.key, LookQueue())
        queue.waiting.append(look)
        self._advance(turn, box, queue)

    def on_page(self, turn: Turn, box: Box, page: PageLoaded) -> bool:
        """A page came; whether it was asked for here."""
        queue = self._queues.get(page.group)
        if queue is None or queue.current is None or queue.token != page.token:
            return False
        look, queue.current = queue.current, None
        if not look.wanted:
            box.mailbox.browser.skip()
        elif look.page(turn, box, page):
            self._drop(page.group, look)
        else:
            queue.waiting.append(look)
        self._advance(turn, box, queue)
        return True

    def _advance(self, turn: Turn, box: Box, queue: LookQueue) -> None:
        """Load for the next one who waits, unless a load is under way."""
        group = box.mailbox.key
        # If we have just lost the mailbox, we are told in this turn, and they are sent on.
        while queue.waiting and queue.current is None and self._groups.owned(group):
            look = queue.waiting.popleft()
            if not look.wanted:
                continue
            first = look.serve(turn, box)
            if first is None:
                self._drop(group, look)
                continue
            start = box.mailbox.browser.look(first)
            queue.current, queue.token = look, self._groups.load_page(turn, group, start, LOOK_BYTES)
        if not queue.waiting and queue.current is None:
            del self._queues[group]

    def _drop(self, group: Key, look: Look) -> None:
        """Nobody waits for it any more."""
        look.wanted = False
        if isinstance(look, BrowseLook):
            mine = self._browses[look.conn]
            del mine[group, look.head.token]
            if not mine:
                del self._browses[look.conn]

    def on_client_gone(self, conn: int) -> None:
        """Its browses are wanted no more; one whose page is being loaded ends with it."""
        for look in self._browses.pop(conn, {}).values():
            look.wanted = False

    def on_ownership_lost(self, turn: Turn, group: Key, mailbox: str, peer: Peer | None) -> None:
        """Send those who wait to the new owner. What was being loaded will not come."""
        queue = self._queues.pop(group, None)
        if queue is None:
            return
        for look in (*((queue.current,) if queue.current is not None else ()), *queue.waiting):
            if look.wanted:
                self._drop(group, look)
                look.move(turn, mailbox, peer)
