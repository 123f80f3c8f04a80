"""Browsing tells the truth: it shows what lies in a mailbox, once each and in order, and nothing that is settled.

A look takes time, and the mailbox changes meanwhile. What was acknowledged to its sender before the look began, and
what nobody had begun to settle or give back when it ended, must be there. What was confirmed as settled before it began
must not. Of the rest nothing is asked. An owner that was replaced and has not heard of it can answer what it knew: so
looks that began while the mailbox was in one hand are held to all of it, others to order and uniqueness only.
"""

from __future__ import annotations

from collections.abc import Sequence

from causeway.sim.checkers.base import Checker, Deed, Reader, Viewing
from causeway.sim.letters import Letter
from causeway.types import ServiceClass


class Browsing(Checker):
    """Looks into mailboxes."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: dict[Letter, None] = {}
        self._stored: dict[str, dict[Letter, None]] = {}
        """Acknowledged letters nobody has touched, by mailbox."""
        self._touched: dict[Letter, None] = {}
        self._settled: dict[Letter, int] = {}
        """Letters confirmed as settled, with how many looks had begun by then."""
        self._looks = 0
        self._begun: dict[Viewing, tuple[int, tuple[Letter, ...]]] = {}
        """Looks under way: which one it is, and what it must show."""

    def sent(self, letter: Letter) -> None:
        self._sent[letter] = None

    def acknowledged(self, letter: Letter) -> None:
        if letter.stream != ServiceClass.EXPRESS and letter not in self._touched:
            self._stored.setdefault(letter.dest, {})[letter] = None

    def decided(self, transaction: Deed, *, committed: bool | None) -> None:
        if committed:
            for letter in transaction.sends:
                self.acknowledged(letter)

    def begun(self, transaction: Deed) -> None:
        for letter in transaction.settles:
            self._touch(letter)

    def settled(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._touch(letter)

    def returned(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._touch(letter)

    def settlement_confirmed(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        if mailbox == letter.dest:
            self._settled.setdefault(letter, self._looks)

    def look_began(self, viewing: Viewing) -> None:
        self._looks += 1
        self._begun[viewing] = (self._looks, tuple(self._stored.get(viewing.mailbox, ())))

    def look_ended(self, viewing: Viewing, shown: Sequence[Letter] | None) -> None:
        number, owed = self._begun.pop(viewing)
        if shown is None:
            return
        seen: dict[Letter, None] = {}
        last: dict[tuple[str, int], Letter] = {}
        for letter in shown:
            if letter not in self._sent:
                self.complain(f"{viewing} showed {letter}, which was never sent")
            if letter in seen:
                self.complain(f"{viewing} showed {letter} twice")
            seen[letter] = None
            if letter.stream == ServiceClass.TRANSACTIONAL:
                before = last.get((letter.source, letter.life))
                if before is not None and before.number > letter.number:
                    self.complain(f"{viewing} showed {letter} after {before}")
                last[letter.source, letter.life] = letter
            if viewing.exact and self._settled.get(letter, number) < number:
                self.complain(f"{viewing} showed {letter}, which was settled before it began")
        for letter in owed:
            if viewing.exact and letter not in seen and letter not in self._touched:
                self.complain(f"{viewing} did not show {letter}, which was stored before it began")

    def _touch(self, letter: Letter) -> None:
        self._touched[letter] = None
        self._stored.get(letter.dest, {}).pop(letter, None)
