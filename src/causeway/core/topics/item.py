"""One item in its owner's hands: who is registered, what is on its way to whom, what is retained.

Owns: the record, and which numbers all have accepted. Must not know: how batches travel, what is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from causeway.core.mail.box import Box
from causeway.core.mail.matching import selector_of
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Interest
from causeway.core.topics.withdrawn import Withdrawn
from causeway.limits import ITEM_OVERHEAD_BYTES
from causeway.selectors import Selector
from causeway.topics import TopicIndex, is_temporary
from causeway.topics.limits import RETAINED_BYTES_PER_ITEM_MAX
from causeway.types import Instant, Span


class HandedBatch:
    """Numbers of an item that are on their way to subscriptions."""

    __slots__ = ("greets", "left", "size", "span")

    def __init__(self, span: Span, greets: Registration | None = None) -> None:
        self.span = span
        self.size = 0
        """Bytes of its forwards."""
        self.left = 1
        """Forwards of it that nobody has accepted yet, and one more until all of them are on their way."""
        self.greets = greets
        """Set when these are retained messages for a new subscription."""


class Registration:
    """One subscription, as an item knows it."""

    __slots__ = (
        "begun",
        "greeted",
        "greeting",
        "greets",
        "interest",
        "last",
        "mailbox",
        "safe",
        "selector",
        "sent",
        "since",
        "version",
    )

    def __init__(
        self, mailbox: str, version: int, interest: Interest, since: int, *, greeted: bool, greets: int = 0
    ) -> None:
        self.mailbox = mailbox
        self.version = version
        self.interest = interest
        self.since = since
        """From which number on it gets what it wants."""
        self.greets = greets or since
        """Under which numbers, from this one on, it gets what was retained before: when it first wanted that."""
        self.begun: Instant = 0
        """From when on it gets what passes without a lasting number, if it began in our time."""
        self.safe = False
        """Whether it is on all copies."""
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

    __slots__ = (
        "box",
        "bytes",
        "done",
        "greetings",
        "handed",
        "histories",
        "index",
        "open",
        "published",
        "registrations",
        "retained",
        "retained_bytes",
        "ungreeted",
        "withdrawn",
    )

    def __init__(self, box: Box) -> None:
        self.box = box
        self.registrations: dict[str, Registration] = {}
        self.withdrawn = Withdrawn(box.mailbox.key)
        self.index = TopicIndex()
        """Patterns to names of subscriptions."""
        self.retained: dict[str, StoredBatch] = {}
        """By topic."""
        self.retained_bytes = 0
        self.bytes = 0
        """Bodies on their way to subscriptions."""
        self.open: dict[int, HandedBatch] = {}
        """Stored batches that somebody has not accepted, by their first numbers; in order."""
        self.histories: dict[str, Registration] = {}
        """Those of the registrations that keep what is published for a while."""
        self.done: list[Span] = []
        """Numbers that all have accepted, to be settled."""
        self.greetings: list[Registration] = []
        """New subscriptions that have all that was retained, to be written."""
        self.ungreeted: dict[str, None] = {}
        """Names of those to which nothing of that was sent yet."""
        self.published = 0
        """Messages that were handed out in our time, also to nobody."""
        self.handed = -1
        """First number of the last stored batch that was handed out in our time."""

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
        if registration.interest.keep:
            self.histories[registration.mailbox] = registration
        if registration.greeted or registration.greeting:
            self.ungreeted.pop(registration.mailbox, None)
        else:
            self.ungreeted[registration.mailbox] = None

    def remove(self, mailbox: str) -> Registration | None:
        """Forward nothing more; what is on its way there counts as arrived."""
        registration = self.registrations.pop(mailbox, None)
        if registration is not None:
            self.index.remove(registration.interest.pattern, mailbox)
            self.ungreeted.pop(mailbox, None)
            self.histories.pop(mailbox, None)
            for _, handed in registration.sent.values():
                self.arrived(handed)
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
            self.arrived(found[1])
            first = self._next_sent(registration, found[0])

    @staticmethod
    def _next_sent(registration: Registration, last: int) -> int:
        """Ids of forwards have gaps: the next one after `last`."""
        return next((first for first in registration.sent if first > last), last + 1)

    def arrived(self, handed: HandedBatch) -> None:
        """One subscription has it, or all forwards of it are on their way."""
        handed.left -= 1
        if handed.left:
            return
        self.bytes -= handed.size
        self.open.pop(handed.span[0], None)
        if handed.greets is not None:
            self.greetings.append(handed.greets)
        else:
            self.done.append(handed.span)

    def retain(self, batch: StoredBatch) -> bool:
        """Keep a message as its topic's instead of an older one; an empty one ends that, and so does one too many.

        Whether it is kept.
        """
        assert batch.published is not None
        topic = batch.published.topic
        old = self.retained.pop(topic, None)
        if old is not None:
            self.retained_bytes -= len(old.body) + ITEM_OVERHEAD_BYTES
        size = len(batch.body) + ITEM_OVERHEAD_BYTES
        if not batch.body or self.retained_bytes + size > RETAINED_BYTES_PER_ITEM_MAX:
            return False
        self.retained[topic] = batch
        self.retained_bytes += size
        return True

    def has_passed(self, number: int) -> bool:
        """Whether all that is stored below a number was taken from the mailbox."""
        return self.handed >= number or self.box.mailbox.is_handed_over()

    def has_arrived(self, number: int) -> bool:
        """Whether all that is stored below a number was taken from the mailbox, and everybody has it."""
        return self.has_passed(number) and next(iter(self.open), number) >= number
