"""Order: letters of one source reach the one reader of a mailbox in the order they were sent, or committed.

Letters whose send failed may be missing; none may come after a later one, unless its reader has given it back.
Transactional letters, and those of transactions that follow one another. Mailboxes with several readers make no such
promise and are not watched.
"""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Reader
from causeway.sim.letters import Letter
from causeway.types import ServiceClass

ORDERED = (ServiceClass.TRANSACTIONAL, ServiceClass.COMMITTED)


class Order(Checker):
    """Per source life, mailbox and reader."""

    def __init__(self) -> None:
        super().__init__()
        self._shared: dict[str, None] = {}
        self._last: dict[tuple[str, int, int, str, Reader], Letter] = {}
        self._returned: dict[tuple[Letter, str], None] = {}
        """Given back by an application in any of its lives: it comes again, whenever."""

    def share(self, mailbox: str) -> None:
        """The mailbox has several readers: no order is promised."""
        self._shared[mailbox] = None

    def returned(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._returned[letter, reader[0]] = None

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        if letter.stream not in ORDERED or mailbox in self._shared or mailbox != letter.dest:
            return
        if (letter, reader[0]) in self._returned:
            return
        place = (letter.source, letter.life, letter.stream, mailbox, reader)
        last = self._last.get(place)
        if last is not None and letter.number < last.number:
            self.complain(f"{letter} reached {reader} after {last}")
        self._last[place] = letter
