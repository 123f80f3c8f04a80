"""Atomic moves between mailboxes: a token is taken from one and put into another, in one transaction.

However it ends, there are as many tokens afterwards as before, each in exactly one place. A mover reads a token and
commits (settle it here, send it there); after an abort it tries again or gives the token back. In the end nobody
moves: every token is read once more and counted.
"""

from __future__ import annotations

from causeway.sim.application import Application, DeedEnd
from causeway.sim.checkers.base import Deed
from causeway.sim.held import Held
from causeway.sim.letters import Letter
from causeway.sim.workloads.base import Workload
from causeway.types import MILLISECOND, SECOND, ServiceClass

TOKENS_PER_MOVER = 4

PATIENCE = 10_000 * SECOND
"""Of the bank: longer than any run. A token whose issue was given up would look like one that was lost."""


class TokenMoves(Workload):
    """Movers, each with an account of its own that it reads, and a bank that issues the tokens."""

    def setup(self) -> None:
        options = self.scene.options
        self.tokens = self.scene.panel.conservation
        self.held: dict[Letter, Held] = {}
        self.numbers = 0
        self.accounts: list[str] = []
        self.movers: list[Application] = []
        bank = self.scene.application("transfer-bank")
        self.scene.mailbox(bank.name)
        bank.crashable = False  # an issue of unknown fate would be a token that may or may not exist
        for number in range(max(2, min(4, options.clients))):
            mover = self.scene.application(f"transfer-{number}")
            self.accounts.append(self.scene.mailbox(f"account-{number}"))
            self.scene.mailbox(mover.name)
            self.scene.panel.order.share(self.accounts[-1])
            mover.on_letter = self._arrived
            mover.on_start = self._read
            mover.on_decided = self._decided
            self.movers.append(mover)
        for application in (bank, *self.movers):
            self.scene.launch(application)
        for token in range(TOKENS_PER_MOVER * len(self.movers)):
            account = self.accounts[token % len(self.accounts)]
            letter = bank.send(account, ServiceClass.TRANSACTIONAL, options.letter_bytes, timeout=PATIENCE)
            assert letter is not None
            self.tokens.issued(token, letter)

    def pending(self) -> str | None:
        missing = self.tokens.abroad()
        return f"{missing} tokens are not home yet" if missing else None

    def _read(self, mover: Application) -> None:
        mover.read(self.accounts[self.movers.index(mover)], self.scene.options.credit)

    def _arrived(self, held: Held) -> None:
        self.held[held.letter] = held
        self.later(200 * MILLISECOND, lambda: self._move(held))

    def _move(self, held: Held) -> None:
        mover = held.application
        if held.life != mover.life or not mover.up:
            return
        self.numbers += 1
        # Coming home is a transaction too: a plain settlement would not tell whether the token was still ours.
        dests = [self.rng.choice(self.accounts)] if self.active else []
        transaction = mover.commit(self.numbers, dests, [held], self.scene.options.letter_bytes)
        if transaction is not None and dests:
            self.tokens.moved(held.letter, transaction.sends[0])

    def _decided(self, transaction: Deed, outcome: DeedEnd) -> None:
        letter = transaction.settles[0]
        held = self.held.get(letter)
        if outcome is DeedEnd.COMMITTED and not transaction.sends:
            self.tokens.came_home(letter)
        if outcome is not DeedEnd.ABORTED or held is None:
            return
        if self.rng.random() < 0.5:
            self.later(SECOND, lambda: self._move(held))
        else:
            held.application.give_back(held)
