"""Publishers of several topics, and durable subscriptions whose readers come, go and crash."""

from __future__ import annotations

from causeway.client.subscriptions import durable_mailbox
from causeway.core.messages import Interest
from causeway.sim.application import Application
from causeway.sim.workloads.base import Workload
from causeway.types import SECOND, ServiceClass

TOPICS = ("roads/a1/speed", "roads/a1/noise", "roads/b7/speed", "rails/north", "rails/south/delay")
PATTERNS = ("roads/a1/speed", "roads/*/speed", "roads/#", "#", "rails/*")


class Topics(Workload):
    """Everybody publishes on every topic; each subscriber has one pattern."""

    def setup(self) -> None:
        options = self.scene.options
        self.publishers: list[Application] = []
        self.away: dict[str, bool] = {}
        for number in range(max(2, options.clients // 2)):
            publisher = self.scene.application(f"publisher-{number}", keep=self.rng.random() < 0.25)
            self.publishers.append(publisher)
            self.scene.launch(publisher)
            self.every(options.rate / options.burst, lambda publisher=publisher: self._burst(publisher))  # type: ignore[misc]
        for number in range(max(2, options.clients // 2)):
            self._subscriber(f"subscriber-{number}", PATTERNS[number % len(PATTERNS)])

    def _subscriber(self, name: str, pattern: str) -> None:
        reader = self.scene.application(name, keep=self.rng.random() < 0.25)
        mailbox = durable_mailbox(name, "all", shared=False)
        self.scene.mailbox(mailbox)
        interest = Interest(pattern, retained=False)
        self.away[name] = False
        reader.on_letter = self.think_and_settle
        reader.on_start = lambda reader: reader.subscribe(mailbox, interest, self.scene.options.credit)
        reader.may_start = lambda: not self.away[name]
        # One by one: who publishes already knows by then what the others want, and must hear of this one.
        begins = self.rng.randrange(SECOND, 6 * SECOND)
        self.later(begins, lambda: self.scene.launch(reader))
        self.later(begins + 6 * SECOND, lambda: self._leave(reader))

    def wind_down(self) -> None:
        super().wind_down()
        for name in self.away:
            self.away[name] = False

    def pending(self) -> str | None:
        owed = self.scene.panel.subscribing.owed()
        return f"{len(owed)} acknowledged letters have not reached {owed[0][0]}, first {owed[0][1]}" if owed else None

    def _burst(self, publisher: Application) -> None:
        if not publisher.up:
            return
        options = self.scene.options
        service = self.rng.choice((ServiceClass.TRANSACTIONAL, ServiceClass.RECOVERABLE, ServiceClass.EXPRESS))
        for _ in range(self.rng.randint(1, 2 * options.burst - 1)):
            topic = self.rng.choice(TOPICS)
            size = self.rng.randint(1, options.letter_bytes)
            publisher.publish(topic, service, size, timeout=options.send_timeout)

    def _leave(self, reader: Application) -> None:
        """For longer than some brokers live."""
        if not self.active:
            return
        self.away[reader.name] = True
        if reader.up:
            reader.close()
        self.later(6 * SECOND, lambda: self._return(reader))

    def _return(self, reader: Application) -> None:
        self.away[reader.name] = False
        self.scene.launch(reader)
        if self.active:
            self.later(6 * SECOND, lambda: self._leave(reader))
