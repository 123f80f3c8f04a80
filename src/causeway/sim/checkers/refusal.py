"""A refusal is final: what a sender was told is refused reaches nobody, neither before nor after."""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Reader
from causeway.sim.letters import Letter


class Refusal(Checker):
    """Every class. A send whose outcome its client calls unknown is not refused."""

    def __init__(self) -> None:
        super().__init__()
        self._refused: dict[Letter, None] = {}
        self._seen: dict[Letter, Reader] = {}

    def refused(self, letter: Letter) -> None:
        self._refused[letter] = None
        if letter in self._seen:
            self.complain(f"{letter} was refused after {self._seen[letter]} had got it")

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._seen[letter] = reader
        if letter in self._refused:
            self.complain(f"{letter} was refused and reached {reader}")
