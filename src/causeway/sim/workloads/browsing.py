"""Somebody who looks into a mailbox again and again, while others write to it and a slow reader takes from it.

The reader keeps what it gets for a while, so that the mailbox is longer than its owner's window; in the end it hurries.
"""

from __future__ import annotations

from causeway.sim.held import Held
from causeway.sim.workloads.base import Workload
from causeway.types import MILLISECOND, SECOND, ServiceClass

LOOKS_PER_SECOND = 2.0


class Looking(Workload):
    """Some writers, a slow reader, and somebody who looks."""

    def setup(self) -> None:
        options = self.scene.options
        self.shelf = self.scene.mailbox("shelf")
        self.writers = [self.scene.application(f"browse-writer-{n}") for n in range(max(1, options.clients // 2))]
        self.reader = self.scene.application("browse-reader")
        self.looker = self.scene.application("browse-looker")
        for application in (*self.writers, self.looker):
            self.scene.mailbox(application.name)
        self.reader.on_letter = self._ponder
        self.reader.on_start = lambda reader: reader.read(self.shelf, options.credit)
        for application in (*self.writers, self.reader, self.looker):
            self.scene.launch(application)
        self.every(options.rate * len(self.writers) / options.burst, self._burst)
        self.every(LOOKS_PER_SECOND, self._look)

    def pending(self) -> str | None:
        return "a browse is not answered" if self.looker.looking else None

    def _burst(self) -> None:
        options = self.scene.options
        writer = self.rng.choice(self.writers)
        if not writer.up:
            return
        service = self.rng.choice((ServiceClass.RECOVERABLE, ServiceClass.TRANSACTIONAL, ServiceClass.TRANSACTIONAL))
        for _ in range(self.rng.randint(1, 2 * options.burst - 1)):
            size = self.rng.randint(1, options.letter_bytes)
            writer.send(self.shelf, service, size, timeout=options.send_timeout)

    def _look(self) -> None:
        if self.looker.up and not self.looker.looking:
            self.looker.look(self.shelf, exact=self.scene.in_one_hand(self.shelf))

    def _ponder(self, held: Held) -> None:
        most = 2 * SECOND if self.active else 20 * MILLISECOND
        self.later(most, lambda: held.application.settle(held))
