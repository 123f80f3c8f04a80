"""What lies in a mailbox, read by number: whole stretches, for who reads a lot of it, and more than once.

Owns: a stretch and the extent of a mailbox, and the questions for them. A number never changes and never comes again:
the same range read twice, from whichever broker owns the mailbox by then, holds the same messages. Some may have ended
meanwhile, and `before` tells that. Must not know: what becomes of it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from causeway.client.inquiries import BrowseInquiry, Inquiry
from causeway.client.links import Uplink
from causeway.client.lots import Lot
from causeway.client.message import MessageId
from causeway.core.machine import Turn
from causeway.core.messages import Browse, Browsed, BrowsedBatch, Message, Moved, Published, Settle, Settled
from causeway.errors import Code, ConfigError
from causeway.limits import BROWSED_MESSAGES_MAX, BROWSED_TOPICS_MAX, ID_MAX
from causeway.names import SEATS
from causeway.topics import check_pattern_path, item_of
from causeway.types import Flag, Instant, ServiceClass, Span
from causeway.wire import body as bodies
from causeway.wire.headers import Headers, split_headers

_HEADERS = int(Flag.HEADERS)


class MailboxExtent(msgspec.Struct, frozen=True):
    """How far a mailbox reaches at this moment; express messages, which nobody keeps, aside."""

    number: int
    """Every message that can be read has a number below, every later one this or a higher one."""
    ever: int
    """How many messages were stored below that number, ever, those that have ended included."""
    born: int
    """Another value: it is another mailbox, whose numbers have nothing in common with those of the former one."""


class ReadStretch(msgspec.Struct, frozen=True):
    """Messages of one sender, side by side in a mailbox, on one topic if they were published."""

    mailbox: str
    number: int
    """Of the first; the others follow it one by one."""
    count: int
    before: int
    """How many messages were stored in the mailbox before the first, ever; -1 of express ones."""
    sender: tuple[str, int]
    """Application and incarnation."""
    stream: int
    """Their class."""
    first: int
    """Id of the first among those of its sender."""
    headed: bool
    """Whether each begins with a block of headers."""
    at: Instant
    """When the broker of their mailbox or topic took them."""
    body: bytes
    """Lengths, then messages: see `wire.body`."""
    published: Published | None = None

    @classmethod
    def of(cls, mailbox: str, head: BrowsedBatch, body: bytes) -> ReadStretch:
        """A part of a Browsed frame."""
        it = head.published
        sender, stream, first, at = (head.source, head.incarnation), head.stream, head.first, head.at
        if it is not None:
            sender, stream, first, at = (it.source, it.incarnation), it.stream, it.first, it.at
        headed = bool(head.flags & _HEADERS)
        return cls(mailbox, head.seq, head.count, head.before, sender, stream, first, headed, at, body, it)

    def head(self, count: int) -> ReadStretch:
        """Only the first `count` messages."""
        if count >= self.count:
            return self
        body = bodies.cut(self.body, self.count, 0, count)
        return msgspec.structs.replace(self, count=count, body=body)

    @property
    def topic(self) -> str | None:
        """Where they were published, as a path; None of messages sent to the mailbox."""
        return None if self.published is None or not self.published.topic else self.published.topic

    @property
    def offset(self) -> int | None:
        """Of the first: its place among all messages of topics with its first level; None if it was not published."""
        return None if self.published is None else self.published.number + self.published.offset_of(0)

    def contiguous(self) -> bool:
        """Whether ids and offsets follow each other as the numbers do: no selector has left any out."""
        return self.published is None or not self.published.picked

    def id_of(self, index: int) -> MessageId:
        """What identifies a message in the whole cluster."""
        it = self.published
        if it is None:
            return MessageId(*self.sender, self.mailbox, self.stream, self.first + index)
        number = self.first + it.offset_of(index)
        if not it.topic:  # sent in causal order
            return MessageId(*self.sender, SEATS, int(ServiceClass.TRANSACTIONAL), number)
        return MessageId(*self.sender, item_of(it.topic), self.stream, number)

    def messages(self) -> list[tuple[Headers, bytes]]:
        """Headers and payload of each."""
        raw = bodies.split(self.body, self.count)
        return [split_headers(one) for one in raw] if self.headed else [({}, one) for one in raw]


class ReadFilter(msgspec.Struct, frozen=True):
    """What is to be read of a range: the broker passes over everything else."""

    topics: tuple[str, ...] = ()
    """Only what was published on topics that one of these patterns matches; empty for all."""
    since: Instant = 0
    """Only what was taken at this instant, in nanoseconds since 1970, or later."""
    until: Instant = 0
    """Only what was taken before this instant; 0 for all."""
    part: int = 0
    parts: int = 0
    """Only this one of so many parts, each of which has whole topics, and in a queue whole senders; 0 for all."""

    def check(self) -> ReadFilter:
        """Itself. Raises ConfigError, or TopicError for a wrong pattern."""
        if len(self.topics) > BROWSED_TOPICS_MAX:
            raise ConfigError("topics", len(self.topics), f"must be {BROWSED_TOPICS_MAX} patterns at most")
        for pattern in self.topics:
            check_pattern_path("topics", pattern)
        for field, value in (("since", self.since), ("until", self.until)):
            if type(value) is not int or not 0 <= value <= ID_MAX:
                raise ConfigError(field, value, "must be nanoseconds since 1970")
        if not 0 <= self.part < max(1, self.parts):
            raise ConfigError("part", self.part, f"must be one of {self.parts} parts, the first of which is 0")
        return self


EVERYTHING: Final = ReadFilter()


class ReadPage(msgspec.Struct, frozen=True):
    """One answer of a broker: what is wanted of the stored messages that it looked at."""

    stretches: list[ReadStretch]
    passed: int
    """How many it passed over, because they are not wanted."""
    through: int
    """How many messages were stored in the mailbox up to the last one it looked at, ever; -1 if there was none. What
    lies between two pages, or is on neither list of one, has ended."""

    @property
    def count(self) -> int:
        """How many messages it looked at."""
        return self.passed + sum(stretch.count for stretch in self.stretches)


class StretchInquiry(BrowseInquiry):
    """One page of a mailbox, from `after` on and below `stop`: `result` is a ReadPage."""

    __slots__ = ("born", "end", "ever", "stop", "wanted")

    def __init__(
        self, number: int, mailbox: str, after: int, stop: int, *, row: int, limit: int, wanted: ReadFilter
    ) -> None:
        super().__init__(number, mailbox, after, limit, "")
        self.stop = stop
        self.row = row
        self.wanted = wanted
        self.end, self.ever, self.born = 0, 0, 0
        self.result = ReadPage([], 0, -1)

    def following(self, number: int) -> StretchInquiry:
        """The question for the next page."""
        page = StretchInquiry(
            number, self.mailbox, self.after, self.stop, row=self.row, limit=self.limit, wanted=self.wanted
        )
        page.link = self.link
        return page

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Ask the owner, or who knows it."""
        limit = max(1, min(self.stop - self.after - 1, self.limit, BROWSED_MESSAGES_MAX))
        it = self.wanted
        turn.send(
            link.conn,
            Browse(
                self.mailbox,
                self.number,
                self.after,
                limit,
                self.row,
                topics=it.topics,
                since=it.since,
                until=it.until,
                stop=self.stop,
                part=it.part,
                parts=it.parts,
            ),
        )

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """The page's stretches, and how far the mailbox reaches."""
        super().on_answer(turn, head, body)
        assert isinstance(head, Browsed)
        self.result = ReadPage(self.result, head.passed, head.ever_through)
        self.more = self.more and self.after < self.stop - 1
        self.end, self.ever, self.born = head.end, head.ever, head.born
        return True

    def take(self, head: BrowsedBatch, body: bytes) -> Any:
        """A stretch, none of what lies behind the end."""
        return ReadStretch.of(self.mailbox, head, body).head(self.stop - head.seq) if head.seq < self.stop else None

    def lots(self) -> list[Lot]:
        """What is read by number is nobody's delivery."""
        return []

    @property
    def extent(self) -> MailboxExtent:
        """As of the answer."""
        return MailboxExtent(self.end, self.ever, self.born)


class SettleInquiry(Inquiry):
    """Everything in some ranges of numbers is done with, whoever has it in hand."""

    __slots__ = ("spans",)

    def __init__(self, number: int, mailbox: str, spans: tuple[Span, ...]) -> None:
        super().__init__(number, mailbox)
        self.spans = spans

    def is_final(self, turn: Turn, refusal: Moved) -> bool:
        """Where there is no mailbox, all is done with."""
        return refusal.code == Code.NO_MAILBOX

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Only the owner can settle."""
        turn.send(link.conn, Settle(self.mailbox, self.number, self.spans))

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """It is on all copies."""
        assert isinstance(head, Settled)
        return True
