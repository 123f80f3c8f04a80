"""Messages that outlive their time in the mailboxes we own, in memory and on disk.

Owns: the writes and traces of their end, and the look that finds them on disk.
Must not know: which they are (Mailbox, Sweeper), other looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from causeway.core.events import PageLoaded
from causeway.core.machine import Turn
from causeway.core.mail.answers import Expired
from causeway.core.mail.box import Box, Done
from causeway.core.mail.looks import Look, Looks
from causeway.core.mail.tracer import Tracer
from causeway.core.ports import Groups
from causeway.store.base import Write
from causeway.trace import Step

WriteRows = Callable[[Turn, Box, Sequence[Write], Done | None], None]


class Expiry:
    """Expiry in one office."""

    def __init__(self, groups: Groups, looks: Looks, write: WriteRows, tracer: Tracer) -> None:
        self._groups = groups
        self._looks = looks
        self._write = write
        self._tracer = tracer

    def expire(self, turn: Turn, box: Box) -> None:
        """Settle what waits in memory and is due; look for what is due on disk (we may write)."""
        due = box.mailbox.next_expiry()
        if due is not None and due <= turn.now:
            self.end(turn, box, box.mailbox.expire(turn.now))
        due = box.sweep_due()
        if due is not None and due <= turn.now:
            box.sweeping = True
            self._looks.add(turn, box, SweepLook(self))

    def sweep(self, turn: Turn, box: Box, page: PageLoaded) -> None:
        """End what is due in a page from disk, if we (still) may write."""
        if self._groups.serving(box.mailbox.key):
            self.end(turn, box, box.mailbox.sweeper.page(page.rows, page.next, turn.now))
        else:
            box.mailbox.sweeper.skip(turn.now)

    def end(self, turn: Turn, box: Box, expired: Expired) -> None:
        """Write and tell that messages have ended."""
        self._write(turn, box, expired.writes, None)
        for piece in expired.pieces:
            self._tracer.kept(turn, Step.EXPIRED, box.mailbox.name, piece)


class SweepLook(Look):
    """One page of what has expired on disk."""

    def __init__(self, expiry: Expiry) -> None:
        self._expiry = expiry

    def serve(self, turn: Turn, box: Box) -> int | None:
        """The stretch to be read, unless its messages were consumed meanwhile."""
        first = box.mailbox.sweeper.begin(turn.now)
        box.sweeping = first is not None
        return first

    def page(self, turn: Turn, box: Box, page: PageLoaded) -> bool:
        """One page at a time; the next one has its own time."""
        box.sweeping = False
        self._expiry.sweep(turn, box, page)
        return True
