"""Private mailboxes: of one life of one application (its replies). Owns: when such a mailbox has ended."""

from __future__ import annotations

from collections.abc import Callable

from causeway.core.deadlines import Deadlines
from causeway.core.machine import Turn
from causeway.core.mail.box import Box
from causeway.core.ports import Groups
from causeway.names import is_private
from causeway.types import SECOND, Key

PRIVATE_FOR = 60 * SECOND


class Endings:
    """Ends the private mailboxes of one office."""

    def __init__(
        self,
        groups: Groups,
        deadlines: Deadlines[Key],
        is_deciding: Callable[[Key], bool],
        withdrawn: Callable[[Turn, Key], bool],
    ) -> None:
        self._groups = groups
        self._deadlines = deadlines
        self._is_deciding = is_deciding
        """Whether transactions of this mailbox's application are not carried out yet: its rows say how they ended."""
        self._withdrawn = withdrawn
        """Whether no topic forwards to a mailbox; if one does, it is told to stop."""

    def watch(self, turn: Turn, box: Box) -> None:
        """A mailbox may have no reader from now on: if it is private, look at it when some time has passed."""
        if is_private(box.mailbox.name) and not box.mailbox.consumers():
            box.unread = turn.now
            self._look_at(turn, box)

    def end(self, turn: Turn, box: Box) -> bool:
        """Retire a private mailbox whose time has come, else look at it again later (we may write)."""
        if not is_private(box.mailbox.name) or box.mailbox.consumers():
            return False
        group = box.mailbox.key
        over = turn.now - box.unread >= PRIVATE_FOR and is_over(box) and not self._is_deciding(group)
        if over and self._withdrawn(turn, group):
            self._groups.retire(turn, group)
        else:
            self._look_at(turn, box)
        return over

    def _look_at(self, turn: Turn, box: Box) -> None:
        """Timers for other things may come first, and end here as well."""
        at = box.unread + PRIVATE_FOR
        self._deadlines.set_sooner(box.mailbox.key, at if at > turn.now else turn.now + PRIVATE_FOR)


def is_over(box: Box) -> bool:
    """Whether a private mailbox has lost its reader, and nothing in it is in doubt: nobody else reads the rest."""
    mailbox = box.mailbox
    return is_private(mailbox.name) and not mailbox.consumers() and not mailbox.in_doubt and not box.done
