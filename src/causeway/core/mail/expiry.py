"""Messages that outlive their time in the mailboxes we own.

Owns: the writes and traces of their end. Must not know: when it is looked for (Office), which they are (Mailbox).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from causeway.core.machine import Turn
from causeway.core.mail.answers import Expired
from causeway.core.mail.box import Box, Done
from causeway.core.mail.tracer import Tracer
from causeway.store.base import Write
from causeway.trace import Step

WriteRows = Callable[[Turn, Box, Sequence[Write], Done | None], None]


class Expiry:
    """Expiry in one office. Needs groups that may be written."""

    def __init__(self, write: WriteRows, tracer: Tracer) -> None:
        self._write = write
        self._tracer = tracer

    def expire(self, turn: Turn, box: Box) -> None:
        """Settle what waits in memory and is due."""
        due = box.mailbox.next_expiry()
        if due is not None and due <= turn.now:
            self._end(turn, box, box.mailbox.expire(turn.now))

    def _end(self, turn: Turn, box: Box, expired: Expired) -> None:
        self._write(turn, box, expired.writes, None)
        for piece in expired.pieces:
            self._tracer.kept(turn, Step.EXPIRED, box.mailbox.name, piece)
