"""Delivery confirmations tell the truth: whoever hears that an application has a letter hears it after it was so."""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Deed, Reader
from causeway.sim.letters import Letter


class Confirmation(Checker):
    """A letter is confirmed only after some application settled it. That none comes is allowed: they may be lost."""

    def __init__(self) -> None:
        super().__init__()
        self._settled: dict[Letter, None] = {}

    def settled(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._settled[letter] = None

    def begun(self, transaction: Deed) -> None:
        for letter in transaction.settles:
            self._settled[letter] = None

    def delivery_confirmed(self, letter: Letter) -> None:
        if letter not in self._settled:
            self.complain(f"{letter} was confirmed as delivered, but nobody has settled it")
