"""Dead letters on their way out of this broker: as many as the outbox has room for, the others stay where they are.

A condemned message is safe in its own mailbox, and nobody gets it there any more. So one that finds no room is only
remembered by its numbers, and taken up again when an earlier one has arrived.

Owns: which mailboxes have condemned messages that wait for room. Must not know: why they are condemned, how they leave.
"""

from __future__ import annotations

from causeway.core.machine import Turn
from causeway.core.mail.box import Box
from causeway.core.mail.deadletters import dead_letter
from causeway.core.mail.office import Office
from causeway.core.mail.outbox import Outbox
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Config
from causeway.types import Key, key_of


class Burials:
    """Between the office, which condemns, and the outbox, which sends."""

    def __init__(self, office: Office, outbox: Outbox, incarnation: int) -> None:
        self._office = office
        self._outbox = outbox
        self._incarnation = incarnation
        self._waiting: dict[Key, None] = {}
        """Mailboxes with condemned messages that found no room; who got some is last."""

    def flush(self, turn: Turn) -> None:
        """End of a turn: what was condemned leaves, as far as there is room."""
        fresh, self._office.bury = self._office.bury, []
        for mailbox, config, batch in fresh:
            if self._outbox.can_bury(mailbox):
                self._bury(turn, mailbox, config, batch)
            else:
                self._put_off(mailbox, batch)
        if self._outbox.burials_ended:
            self._outbox.burials_ended = False
            self._take_up(turn)

    def _bury(self, turn: Turn, mailbox: str, config: Config, batch: StoredBatch) -> None:
        self._outbox.bury(turn, dead_letter(mailbox, config, batch, self._incarnation), batch.body)

    def _put_off(self, mailbox: str, batch: StoredBatch) -> None:
        group = key_of(mailbox)
        box = self._office.boxes.get(group)
        if box is not None:  # else the next owner finds it condemned, and buries it
            box.unburied.append((batch.seq, batch.seq + batch.count - 1))
            self._waiting[group] = None

    def _take_up(self, turn: Turn) -> None:
        """There is room again, for some mailbox at least."""
        for group in list(self._waiting):
            box = self._office.boxes.get(group)
            if box is None:
                del self._waiting[group]
            elif self._outbox.can_bury(box.mailbox.name):
                del self._waiting[group]
                self._go_on(turn, box)
                if box.unburied:
                    self._waiting[group] = None

    def _go_on(self, turn: Turn, box: Box) -> None:
        """Bury what was put off, oldest verdict first. What is sent twice is known by its numbers where it arrives."""
        name = box.mailbox.name
        while box.unburied:
            for batch in box.mailbox.condemned_among(*box.unburied[0]):
                if not self._outbox.can_bury(name):
                    return
                self._bury(turn, name, box.config, batch)
            box.unburied.popleft()
