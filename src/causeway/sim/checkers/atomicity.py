"""Atomicity: of a transaction all letters arrive and all acknowledgements hold, or none.

Committed: every send arrives (NoLoss sees to it), no settled letter comes again, and no other transaction settles it
too. Aborted: no send ever arrives. Unknown to its application: still all or none, which can only be judged at the end;
that a send arrived means that it was committed.
"""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Deed, Reader
from causeway.sim.letters import Letter


class Atomicity(Checker):
    """Follows every letter that some transaction sends or settles."""

    def __init__(self) -> None:
        super().__init__()
        self._sends: dict[Letter, Deed] = {}
        self._outcome: dict[Deed, bool | None] = {}
        self._arrived: dict[Letter, None] = {}
        self._spent: dict[Letter, Deed] = {}
        """Settled by a transaction that is known to be committed."""

    def begun(self, transaction: Deed) -> None:
        for letter in transaction.sends:
            self._sends[letter] = transaction

    def decided(self, transaction: Deed, *, committed: bool | None) -> None:
        self._outcome[transaction] = committed
        if committed:
            self._spend(transaction)
        if committed is False:
            for letter in transaction.sends:
                if letter in self._arrived:
                    self.complain(f"{letter} arrived, but {transaction} was aborted")

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        sender = self._sends.get(letter)
        if sender is not None:
            self._arrived[letter] = None
            if self._outcome.get(sender) is False:
                self.complain(f"{letter} arrived, but {sender} was aborted")
            self._spend(sender)
        settler = self._spent.get(letter)
        if settler is not None and self._outcome.get(settler):
            self.complain(f"{letter} came again to {reader}, but {settler} had settled it")

    def finish(self) -> None:
        for transaction, committed in self._outcome.items():
            there = [letter for letter in transaction.sends if letter in self._arrived]
            missing = [letter for letter in transaction.sends if letter not in self._arrived]
            if committed and missing:
                self.complain(f"{transaction} was committed, but {missing[0]} never arrived")
            if there and missing:
                self.complain(f"{transaction} was torn: {there[0]} arrived, {missing[0]} did not")

    def _spend(self, transaction: Deed) -> None:
        for letter in transaction.settles:
            other = self._spent.setdefault(letter, transaction)
            if other is not transaction:
                self.complain(f"{letter} was settled by {other} and again by {transaction}")
