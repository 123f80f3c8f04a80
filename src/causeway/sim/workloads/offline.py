"""An application that goes away and comes back: what was sent meanwhile waits for it, and comes first and in order."""

from __future__ import annotations

from causeway.sim.application import Application
from causeway.sim.workloads.base import Workload
from causeway.types import SECOND, ServiceClass


class Offline(Workload):
    """One writer, one reader that is often away."""

    def setup(self) -> None:
        options = self.scene.options
        self.writer = self.scene.application("offline-writer")
        self.reader = self.scene.application("offline-reader", keep=self.rng.random() < 0.5)
        self.away = False
        self.scene.mailbox(self.writer.name)
        self.scene.mailbox(self.reader.name)
        self.reader.on_letter = self.think_and_settle
        self.reader.on_start = self.read_in_order
        self.reader.may_start = lambda: not self.away
        self.scene.launch(self.writer)
        self.scene.launch(self.reader)
        self.every(options.rate / options.burst, self._burst)
        self.later(3 * SECOND, self._leave)

    def wind_down(self) -> None:
        super().wind_down()
        self._return()

    def _burst(self) -> None:
        options = self.scene.options
        if not self.writer.up:
            return
        service = self.rng.choice((ServiceClass.TRANSACTIONAL, ServiceClass.TRANSACTIONAL, ServiceClass.RECOVERABLE))
        for _ in range(self.rng.randint(1, 2 * options.burst - 1)):
            size = self.rng.randint(1, options.letter_bytes)
            self.writer.send(self.reader.name, service, size, confirm=True, timeout=options.send_timeout)

    def _leave(self) -> None:
        if not self.active:
            return
        self.away = True
        if self.reader.up:
            self.reader.close()
        self.later(6 * SECOND, self._return)

    def _return(self) -> None:
        if self.away:
            self.away = False
            self._come_back(self.reader)
            if self.active:
                self.later(4 * SECOND, self._leave)

    def _come_back(self, reader: Application) -> None:
        if self.away or reader.up:
            return
        self.scene.launch(reader)
