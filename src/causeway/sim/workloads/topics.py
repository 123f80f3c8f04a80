"""Publishers of several topics, and durable subscriptions whose readers come, go, crash, change their minds and end."""

from __future__ import annotations

from causeway.client.subscriptions import durable_mailbox
from causeway.sim.application import Application
from causeway.sim.checkers.subscribing import Wish
from causeway.sim.letters import NOTICES
from causeway.sim.workloads.base import Workload
from causeway.types import SECOND, ServiceClass

TOPICS = (
    "roads/a1/speed",
    "roads/a1/noise",
    "roads/b7/speed",
    "rails/north",
    "rails/south/delay",
    f"{NOTICES}a",
    f"{NOTICES}b",
)
WISHES = (
    Wish("roads/a1/speed"),
    Wish("roads/*/speed", "red"),
    Wish("#"),
    Wish(f"{NOTICES}*", retained=True),
    Wish("roads/#"),
    Wish("#", "blue"),
    Wish(f"{NOTICES}#"),
    Wish("rails/*"),
    Wish("#", retained=True),
    Wish("roads/#", "blue"),
)
SERVICES = (ServiceClass.TRANSACTIONAL, ServiceClass.RECOVERABLE, ServiceClass.EXPRESS)


class Subscriber:
    """An application with one durable subscription."""

    def __init__(self, reader: Application, wish: Wish) -> None:
        self.reader = reader
        self.mailbox = durable_mailbox(reader.name, "all", shared=False)
        self.wish = wish
        self.away = False
        self.ending = False
        """Whether it wants its subscription to end, and has not heard yet that it has."""
        self.ended = False


class Topics(Workload):
    """Everybody publishes on every topic; each subscriber has one subscription, most of the time."""

    topics: tuple[str, ...] = TOPICS
    wishes: tuple[Wish, ...] = WISHES
    people = ""
    """In front of the names of its applications."""

    def setup(self) -> None:
        options = self.scene.options
        self.subscribers: list[Subscriber] = []
        for number in range(max(2, options.clients // 2)):
            publisher = self.scene.application(f"{self.people}publisher-{number}", keep=self.rng.random() < 0.25)
            self.scene.launch(publisher)
            self.every(options.rate / options.burst, lambda publisher=publisher: self._burst(publisher))  # type: ignore[misc]
        for number in range(max(2, options.clients)):
            self._subscriber(f"{self.people}subscriber-{number}")

    def _subscriber(self, name: str) -> None:
        reader = self.scene.application(name, keep=self.rng.random() < 0.25)
        subscriber = Subscriber(reader, self.rng.choice(self.wishes))
        self.subscribers.append(subscriber)
        self.scene.mailbox(subscriber.mailbox)
        reader.on_letter = self.think_and_settle
        reader.on_start = lambda _: self._started(subscriber)
        reader.on_ended = lambda _: self._ended(subscriber)
        reader.may_start = lambda: not subscriber.away
        # One by one: who publishes already knows by then what the others want, and must hear of this one.
        begins = self.rng.randrange(SECOND, 6 * SECOND)
        self.later(begins, lambda: self.scene.launch(reader))
        self.later(begins + 6 * SECOND, lambda: self._turn_away(subscriber))

    def wind_down(self) -> None:
        super().wind_down()
        for subscriber in self.subscribers:
            subscriber.away = False

    def pending(self) -> str | None:
        checker = self.scene.panel.subscribing
        checker.registrations = self.scene.registrations()
        owed = checker.owed()
        if owed:
            return f"{len(owed)} acknowledged letters have not reached {owed[0][0]}, first {owed[0][1]}"
        ending = [subscriber.mailbox for subscriber in self.subscribers if subscriber.ending]
        return f"{ending[0]} has not ended" if ending else checker.misregistered()

    # Publishing ------------------------------------------------------------------------------------------------
    def _burst(self, publisher: Application) -> None:
        if not publisher.up:
            return
        options = self.scene.options
        service = self.rng.choice(SERVICES)
        for _ in range(self.rng.randint(1, 2 * options.burst - 1)):
            topic = self.rng.choice(self.topics)
            size = self.rng.randint(1, options.letter_bytes)
            # What is retained and can be lost with a broker would prove nothing.
            stored = ServiceClass.TRANSACTIONAL if NOTICES in topic else service
            publisher.publish(topic, stored, size, timeout=options.send_timeout)

    # Subscribing -----------------------------------------------------------------------------------------------
    def _started(self, subscriber: Subscriber) -> None:
        """What each life does first: go on where the last one was."""
        if subscriber.ending:
            subscriber.reader.end_subscription(subscriber.mailbox)
        elif not subscriber.ended:
            subscriber.reader.subscribe(subscriber.mailbox, subscriber.wish, self.scene.options.credit)

    def _turn_away(self, subscriber: Subscriber) -> None:
        if not self.active:
            return
        if self.rng.random() < 0.4 and subscriber.reader.up and not (subscriber.ending or subscriber.ended):
            subscriber.ending = True
            subscriber.reader.end_subscription(subscriber.mailbox)
            return
        self._leave(subscriber)

    def _leave(self, subscriber: Subscriber) -> None:
        """For longer than some brokers live."""
        subscriber.away = True
        if subscriber.reader.up:
            subscriber.reader.close()
        self.later(6 * SECOND, lambda: self._return(subscriber))

    def _return(self, subscriber: Subscriber) -> None:
        subscriber.away = False
        if self.active and self.rng.random() < 0.5:
            subscriber.wish = self.rng.choice(self.wishes)
        self.scene.launch(subscriber.reader)
        if self.active:
            self.later(6 * SECOND, lambda: self._turn_away(subscriber))

    def _ended(self, subscriber: Subscriber) -> None:
        """Those that end late never begin again."""
        subscriber.ending, subscriber.ended = False, True
        self.later(2 * SECOND, lambda: self._begin_again(subscriber))

    def _begin_again(self, subscriber: Subscriber) -> None:
        if not self.active:
            return
        subscriber.ended = False
        subscriber.wish = self.rng.choice((subscriber.wish, self.rng.choice(self.wishes)))
        if subscriber.reader.up:
            self._started(subscriber)
        self.later(6 * SECOND, lambda: self._turn_away(subscriber))
