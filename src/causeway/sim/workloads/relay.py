"""A forwarder: it passes on what one writer sends, a few letters per transaction, in order, over all its own lives."""

from __future__ import annotations

from causeway.sim.application import Application, DeedEnd
from causeway.sim.checkers.base import Deed
from causeway.sim.held import Held
from causeway.sim.workloads.base import Workload
from causeway.types import MILLISECOND, ServiceClass

PASSED_ON_MAX = 8
"""Letters of one transaction."""


class Relay(Workload):
    """One writer, one forwarder, one reader; each alone at its mailbox."""

    def setup(self) -> None:
        options = self.scene.options
        self.writer = self.scene.application("relay-writer")
        self.relay = self.scene.application("relay", keep=self.rng.random() < 0.5)
        self.reader = self.scene.application("relay-reader")
        self.hands: list[Held] = []
        """With the forwarder, in the order in which they came."""
        self.numbers = 0
        self.is_busy = False
        for application in (self.writer, self.relay, self.reader):
            self.scene.mailbox(application.name)
        self.relay.on_letter = self.hands.append
        self.relay.on_start = self._begin
        self.relay.on_decided = self._decided
        self.reader.on_letter = self.think_and_settle
        self.reader.on_start = self.read_in_order
        for application in (self.writer, self.reader, self.relay):
            self.scene.launch(application)
        self.every(options.rate / options.burst, self._burst)

    def pending(self) -> str | None:
        return f"{len(self.hands)} letters wait to be passed on" if self.hands or self.is_busy else None

    def _burst(self) -> None:
        options = self.scene.options
        for _ in range(self.rng.randint(1, 2 * options.burst - 1) if self.writer.up else 0):
            size = self.rng.randint(1, options.letter_bytes)
            self.writer.send(self.relay.name, ServiceClass.TRANSACTIONAL, size, timeout=options.send_timeout)

    def _begin(self, relay: Application) -> None:
        self.hands.clear()
        self.is_busy = False
        self.read_in_order(relay)
        self._look(relay.life)

    def _look(self, life: int) -> None:
        if self.relay.life != life or not self.relay.up:
            return
        if self.hands and not self.is_busy:
            self._pass_on(self.hands[:PASSED_ON_MAX])
        self.later(40 * MILLISECOND, lambda: self._look(life))

    def _pass_on(self, batch: list[Held]) -> None:
        self.numbers += 1
        dests = [self.reader.name] * len(batch)
        self.is_busy = self.relay.commit(self.numbers, dests, batch, self.scene.options.letter_bytes) is not None

    def _decided(self, transaction: Deed, outcome: DeedEnd) -> None:
        self.is_busy = False
        if outcome is DeedEnd.UNKNOWN:
            return  # this life is over
        done = len(transaction.settles)
        batch = self.hands[:done]
        del self.hands[:done]
        if outcome is DeedEnd.ABORTED:
            for held in batch:
                self.relay.give_back(held)
