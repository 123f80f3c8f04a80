"""Order: transactional letters of one source reach the one reader of a mailbox in the order they were sent.

Letters whose send failed may be missing; none may come after a later one. Mailboxes with several readers, or whose
readers give letters back, make no such promise and are not watched.
"""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Reader
from causeway.sim.letters import Letter
from causeway.types import ServiceClass


class Order(Checker):
    """Per source life, mailbox and reader."""

    def __init__(self) -> None:
        super().__init__()
        self._shared: dict[str, None] = {}
        self._last: dict[tuple[str, int, str, Reader], Letter] = {}

    def share(self, mailbox: str) -> None:
        """The mailbox has several readers or returns: no order is promised."""
        self._shared[mailbox] = None

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        if letter.stream != ServiceClass.TRANSACTIONAL or mailbox in self._shared or mailbox != letter.dest:
            return
        place = (letter.source, letter.life, mailbox, reader)
        last = self._last.get(place)
        if last is not None and letter.number < last.number:
            self.complain(f"{letter} reached {reader} after {last}")
        self._last[place] = letter
