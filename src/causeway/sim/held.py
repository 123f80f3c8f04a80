"""A letter in an application's hands, until it is settled, given back, or the application's life ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causeway.client.lots import Lot
from causeway.client.reader import MailReader
from causeway.sim.checkers.handing import Place
from causeway.sim.letters import Letter
from causeway.types import TWIN_PREFIX

if TYPE_CHECKING:
    from causeway.sim.application import Application


class Held:
    """A letter in the application's hands."""

    __slots__ = ("application", "consumer", "index", "letter", "life", "lot", "mailbox")

    def __init__(self, application: Application, consumer: MailReader, lot: Lot, index: int, letter: Letter) -> None:
        self.application = application
        self.consumer = consumer
        self.lot = lot
        self.index = index
        self.letter = letter
        self.mailbox = lot.mailbox.removeprefix(TWIN_PREFIX)
        self.life = application.life

    @property
    def settled_as(self) -> tuple[int, int]:
        """Who settles it, and under which number."""
        return self.lot.consumer, self.number

    @property
    def number(self) -> int:
        """Its number in the mailbox."""
        return self.lot.seq + self.index

    @property
    def place(self) -> Place:
        """What frames call it."""
        lot = self.lot
        return lot.mailbox, lot.source, lot.incarnation, lot.stream, lot.first + self.index
