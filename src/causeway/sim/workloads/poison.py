"""A reader that some letters kill whenever it is shown them, and that is started again: these end as dead letters."""

from __future__ import annotations

from causeway.sim.application import Application
from causeway.sim.checkers.base import Wrong
from causeway.sim.held import Held
from causeway.sim.letters import Letter
from causeway.sim.workloads.base import Workload
from causeway.types import MILLISECOND, ServiceClass

POISONED = (3, 12)
"""The numbers of these letters."""

BACK_WITHIN = 200 * MILLISECOND


class Poison(Workload):
    """One writer, and one reader that looks at letters one after another."""

    def setup(self) -> None:
        options = self.scene.options
        self.writer = self.scene.application("poison-writer")
        self.reader = self.scene.application("poison-reader", keep=self.rng.random() < 0.5)
        for application in (self.writer, self.reader):
            self.scene.mailbox(application.name)
        self.writer.crashable = False  # its letters would count from 1 again
        self.reader.crashable = False  # nothing else kills it
        self.reader.on_letter = self._look
        self.reader.on_start = self.read_in_order
        self.scene.launch(self.writer)
        self.scene.launch(self.reader)
        self.every(options.rate / options.burst, self._burst)

    def buried(self, letter: Letter) -> None:
        if letter.source == self.writer.name and letter.number not in POISONED:
            raise Wrong(type(self).__name__, f"{letter} is innocent, and a dead letter")

    def _burst(self) -> None:
        options = self.scene.options
        for _ in range(self.rng.randint(1, 2 * options.burst - 1)):
            size = self.rng.randint(1, options.letter_bytes)
            self.writer.send(self.reader.name, ServiceClass.TRANSACTIONAL, size, timeout=options.send_timeout)

    def _look(self, held: Held) -> None:
        life = held.life
        if held.letter.number not in POISONED:
            self.later(MILLISECOND, lambda: held.application.settle(held))
            return
        self.later(MILLISECOND, lambda: self._die(held.application, life))

    def _die(self, reader: Application, life: int) -> None:
        if reader.up and reader.life == life:
            reader.crash()
            self.later(BACK_WITHIN, lambda: self.scene.launch(reader))
