"""Competing consumers on a named queue, some of which give letters back; what nobody wants ends as a dead letter."""

from __future__ import annotations

from causeway.sim.application import Application
from causeway.sim.held import Held
from causeway.sim.workloads.base import Workload
from causeway.types import ServiceClass


class Queue(Workload):
    """Several writers and readers of one queue."""

    def setup(self) -> None:
        options = self.scene.options
        self.queue = self.scene.mailbox("queue")
        self.scene.panel.share(self.queue)
        self.writers: list[Application] = []
        for number in range(max(1, options.clients // 2)):
            writer = self.scene.application(f"queue-writer-{number}")
            self.scene.mailbox(writer.name)
            self.writers.append(writer)
            self.scene.launch(writer)
        for number in range(max(2, options.clients // 2)):
            reader = self.scene.application(f"queue-reader-{number}")
            reader.on_letter = self._look
            reader.on_start = lambda reader: reader.read(self.queue, options.credit)
            self.scene.launch(reader)
        self.every(options.rate * len(self.writers) / options.burst, self._burst)

    def _burst(self) -> None:
        options = self.scene.options
        writer = self.rng.choice(self.writers)
        if not writer.up:
            return
        service = self.rng.choice((ServiceClass.RECOVERABLE, ServiceClass.TRANSACTIONAL))
        priority = self.rng.choice((4, 4, 4, 0, 9))
        for _ in range(self.rng.randint(1, 2 * options.burst - 1)):
            size = self.rng.randint(1, options.letter_bytes)
            writer.send(self.queue, service, size, priority=priority, timeout=options.send_timeout)

    def _look(self, held: Held) -> None:
        if self.rng.random() < 0.15:
            held.application.give_back(held)
        else:
            self.think_and_settle(held)
