"""A refusal is final: what a sender was told is refused reaches nobody.

`Refused` means that a broker said no, and invites to send again; what arrives
all the same is there twice then.
What has another outcome is not known to its sender: such a letter may arrive.
"""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Reader
from causeway.sim.letters import Letter

REFUSED = "Refused"
"""How the reason begins when the client raised that."""


class Refusal(Checker):
    """Letters of every class."""

    def __init__(self) -> None:
        super().__init__()
        self._refused: dict[Letter, str] = {}
        self._arrived: dict[Letter, None] = {}

    def failed(self, letter: Letter, reason: str) -> None:
        if reason.startswith(REFUSED):
            self._refused[letter] = reason
            if letter in self._arrived:
                self._say(letter)

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        if letter not in self._arrived:
            self._arrived[letter] = None
            if letter in self._refused:
                self._say(letter)

    def _say(self, letter: Letter) -> None:
        self.complain(f"{letter} arrived, but its sender was told that it is refused: {self._refused[letter]}")
