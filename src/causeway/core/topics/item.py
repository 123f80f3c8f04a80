"""One item in its owner's hands: who is registered, what is on its way to whom, what is retained.

Owns: the record, and which numbers all have accepted. Must not know: how batches travel, what is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from causeway.core.mail.box import Box
from causeway.core.mail.matching import selector_of
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Interest
from causeway.selectors import Selector
from causeway.topics import TopicIndex, is_temporary
from causeway.types import Instant, Span


class HandedBatch:
    """Numbers of an item that are on their way to subscriptions."""

    __slots__ = ("greets", "left", "size", "span")

    def __init__(self, span: Span, size: int, greets: Registration | None = None) -> None:
        self.span = span
        self.size = size
        self.left = 0
        """Forwards of it that nobody has accepted yet."""
        self.greets = greets
        """Set when these are retained messages for a new subscription."""


class Registration:
    """One subscription, as an item knows it."""

    __slots__ = ("greeted", "greeting", "interest", "last", "mailbox", "selector", "sent", "since", "version")

    def __init__(self, mailbox: str, version: int, interest: Interest, since: int, *, greeted: bool) -> None:
        self.mailbox = mailbox
        self.version = version
        self.interest = interest
        self.since = since
        """From which number on it gets what it wants."""
        self.greeted = greeted
        """Whether it has what was retained before it began."""
        self.greeting = False
        """Whether that is on its way."""
        self.selector: Selector | None = selector_of(interest.selector) if interest.selector else None
        self.last = 0
        """Id of the last stored message forwarded in our time."""
        self.sent: dict[int, tuple[int, HandedBatch]] = {}
        """Forwards on their way: first id -> last id, and what they are part of; in order."""


class Item:
    """An item we own."""

    __slots__ = ("box", "bytes", "done", "gained", "greetings", "index", "registrations", "retained", "retained_bytes")

    def __init__(self, box: Box, now: Instant) -> None:
        self.box = box
        self.gained = now
        self.registrations: dict[str, Registration] = {}
        self.index = TopicIndex()
        """Patterns to names of subscriptions."""
        self.retained: dict[str, StoredBatch] = {}
        """By topic."""
        self.retained_bytes = 0
        self.bytes = 0
        """Bodies on their way to subscriptions; one that goes to several counts once."""
        self.done: list[Span] = []
        """Numbers that all have accepted, to be settled."""
        self.greetings: list[Registration] = []
        """New subscriptions that have all that was retained, to be written."""

    @property
    def name(self) -> str:
        """Its mailbox."""
        return self.box.mailbox.name

    def register(self, registration: Registration) -> None:
        """Forward to a subscription from now on, instead of what it wanted before."""
        known = self.registrations.get(registration.mailbox)
        if known is not None:
            self.index.remove(known.interest.pattern, known.mailbox)
            registration.sent, registration.last = known.sent, known.last
        self.registrations[registration.mailbox] = registration
        self.index.add(registration.interest.pattern, registration.mailbox)

    def remove(self, mailbox: str) -> Registration | None:
        """Forward nothing more; what is on its way there counts as arrived."""
        registration = self.registrations.pop(mailbox, None)
        if registration is not None:
            self.index.remove(registration.interest.pattern, mailbox)
            for _, handed in registration.sent.values():
                self._arrived(handed)
            registration.sent = {}
        return registration

    def matching(self, topic: str) -> Iterator[Registration]:
        """Who wants messages of a topic, by the topic alone."""
        private = is_temporary(topic)
        for mailbox in self.index.match(topic):
            registration = self.registrations[mailbox]
            if not private or is_temporary(registration.interest.pattern):  # no wildcard overhears a temporary topic
                yield registration

    def accepted(self, mailbox: str, first: int, last: int) -> None:
        """A subscription has these ids: whole forwards, one or several."""
        registration = self.registrations.get(mailbox)
        while registration is not None and first <= last:
            found = registration.sent.get(first)
            if found is None or found[0] > last:
                return
            del registration.sent[first]
            self._arrived(found[1])
            first = self._next_sent(registration, found[0])

    @staticmethod
    def _next_sent(registration: Registration, last: int) -> int:
        """Ids of forwards have gaps: the next one after `last`."""
        return next((first for first in registration.sent if first > last), last + 1)

    def _arrived(self, handed: HandedBatch) -> None:
        handed.left -= 1
        if handed.left:
            return
        self.bytes -= handed.size
        if handed.greets is not None:
            self.greetings.append(handed.greets)
        else:
            self.done.append(handed.span)

    def retain(self, batch: StoredBatch) -> bool:
        """Keep the last message of a batch as its topic's; an empty one ends that. Whether a message is kept."""
        assert batch.published is not None
        topic = batch.published.topic
        old = self.retained.pop(topic, None)
        if old is not None:
            self.retained_bytes -= len(old.body)
        if not batch.body:
            return False
        self.retained[topic] = batch
        self.retained_bytes += len(batch.body)
        return True

    def lowest(self) -> int | None:
        """The lowest stored number that somebody has not accepted, None when there is none on its way."""
        numbers = (h.span[0] for r in self.registrations.values() for _, h in r.sent.values() if h.greets is None)
        return min(numbers, default=None)
