"""No loss of acknowledged: what a sender was told is stored reaches an application."""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Deed, Reader
from causeway.sim.letters import Letter
from causeway.types import ServiceClass

SHOWN_MAX = 5


class NoLoss(Checker):
    """Recoverable, transactional and committed letters; express may be lost with its owner's memory."""

    def __init__(self) -> None:
        super().__init__()
        self._owed: dict[Letter, int] = {}
        self._seen: dict[Letter, None] = {}

    def acknowledged(self, letter: Letter) -> None:
        if letter.stream != ServiceClass.EXPRESS and letter not in self._seen:
            self._owed[letter] = self.now

    def decided(self, transaction: Deed, *, committed: bool | None) -> None:
        if committed:
            for letter in transaction.sends:
                self.acknowledged(letter)

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._seen[letter] = None
        self._owed.pop(letter, None)

    def owed(self) -> list[Letter]:
        """Acknowledged and not delivered yet."""
        return list(self._owed)

    def finish(self) -> None:
        if self._owed:
            shown = [f"{letter} acknowledged at {at / 1e9:.6f}s" for letter, at in self._owed.items()]
            rest = len(shown) - SHOWN_MAX
            more = f" and {rest} more" if rest > 0 else ""
            self.complain(f"{len(shown)} acknowledged letters never arrived: {'; '.join(shown[:SHOWN_MAX])}{more}")
