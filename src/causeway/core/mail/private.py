"""Mailboxes that end: private ones, of one life of one application (its replies), and those that people delete.

Owns: when such a mailbox has ended.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.core.deadlines import Deadlines
from causeway.core.machine import Turn
from causeway.core.mail.box import Box
from causeway.core.ports import Groups
from causeway.names import is_private
from causeway.types import SECOND, Duration, Key

PRIVATE_FOR = 60 * SECOND
DELETED_FOR = 10 * SECOND
"""So long a deleted mailbox still knows what it has had: what is on its way a second time must not begin it anew."""


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
        """A mailbox may have no reader from now on: if it is to end some day, look at it when some time has passed."""
        if _ends(box) and not box.mailbox.consumers():
            box.unread = turn.now
            self._look_at(turn, box)

    def delete(self, turn: Turn, box: Box) -> None:
        """Somebody wants an empty mailbox to end, which it does if nothing more comes to it."""
        box.deleted = _end_of(box)
        self.watch(turn, box)

    def end(self, turn: Turn, box: Box) -> bool:
        """Retire a mailbox whose time has come, else look at it again later (we may write)."""
        used = box.mailbox.consumers() or not box.mailbox.empty() or box.deleted != _end_of(box)
        if box.deleted is not None and used:
            box.deleted = None  # somebody has use for it after all
        if not _ends(box) or box.mailbox.consumers():
            return False
        group = box.mailbox.key
        over = turn.now - box.unread >= _patience(box) and is_over(box) and not self._is_deciding(group)
        if over and self._withdrawn(turn, group):
            self._groups.retire(turn, group)
        else:
            self._look_at(turn, box)
        return over

    def _look_at(self, turn: Turn, box: Box) -> None:
        """Timers for other things may come first, and end here as well."""
        at = box.unread + _patience(box)
        self._deadlines.set_sooner(box.mailbox.key, at if at > turn.now else turn.now + _patience(box))


def _patience(box: Box) -> Duration:
    return PRIVATE_FOR if box.deleted is None else DELETED_FOR


def _end_of(box: Box) -> int:
    """The number of the next message that is stored."""
    return box.mailbox.browser.extent[0]


def _ends(box: Box) -> bool:
    return box.deleted is not None or is_private(box.mailbox.name)


def is_over(box: Box) -> bool:
    """Whether a mailbox that is to end has no reader, and nothing in it is in doubt: nobody else reads the rest."""
    mailbox = box.mailbox
    return _ends(box) and not mailbox.consumers() and not mailbox.in_doubt and not box.done
