"""Streams between applications: each has a mailbox of its own, reads it alone, and writes to all the others.

Three classes of traffic, each with what its class promises: transactional in order, recoverable in any order, express
acknowledged or not. All of them may ask for delivery confirmations.
"""

from __future__ import annotations

from causeway.sim.application import Application
from causeway.sim.workloads.base import Workload
from causeway.types import ServiceClass


class Correspondence(Workload):
    """Everybody to everybody, in one service class."""

    service = ServiceClass.TRANSACTIONAL

    def setup(self) -> None:
        options = self.scene.options
        self.applications: list[Application] = []
        for number in range(max(2, options.clients)):
            keep = self.rng.random() < 0.25
            application = self.scene.application(f"{self.name}-{number}", keep=keep)
            self.scene.mailbox(application.name)
            application.on_letter = self.think_and_settle
            application.on_start = self._read
            self.applications.append(application)
        for application in self.applications:
            self.scene.launch(application)
            self.every(options.rate / options.burst, lambda application=application: self._burst(application))  # type: ignore[misc]

    def _read(self, application: Application) -> None:
        self.read_in_order(application)

    def _burst(self, application: Application) -> None:
        if not application.up:
            return
        options = self.scene.options
        dest = self.rng.choice(self.applications).name
        confirm = self.rng.random() < 0.3
        for _ in range(self.rng.randint(1, 2 * options.burst - 1)):
            self.write(application, dest, confirm=confirm)

    def write(self, application: Application, dest: str, *, confirm: bool) -> None:
        """Send one letter."""
        options = self.scene.options
        size = self.rng.randint(1, options.letter_bytes)
        application.send(dest, self.service, size, confirm=confirm, timeout=options.send_timeout)


class Transactional(Correspondence):
    """In order, exactly once."""


class Recoverable(Correspondence):
    """Exactly once, in any order; some of it sent without waiting for an answer."""

    service = ServiceClass.RECOVERABLE

    def write(self, application: Application, dest: str, *, confirm: bool) -> None:
        if self.rng.random() < 0.8:
            super().write(application, dest, confirm=confirm)
        else:
            size = self.rng.randint(1, self.scene.options.letter_bytes)
            application.send(dest, self.service, size, reliable=False, timeout=self.scene.options.send_timeout)


class Express(Correspondence):
    """At most once; some acknowledged, some not."""

    service = ServiceClass.EXPRESS

    def write(self, application: Application, dest: str, *, confirm: bool) -> None:
        options = self.scene.options
        size = self.rng.randint(1, options.letter_bytes)
        reliable = self.rng.random() < 0.5
        application.send(dest, self.service, size, reliable=reliable, timeout=options.send_timeout)
