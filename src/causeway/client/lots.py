"""Delivered batches in the application's hands, and what is known about each stream they came from.

Owns: which messages of a lot were handed out, settled, given back or reserved by a transaction; which ids of a stream
the application accepted. Does not know links. Cost grows with lots and runs, not with messages.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from causeway.core.messages import BrowsedBatch, Deliver, Published
from causeway.limits import SEEN_RANGES_MAX
from causeway.names import is_seat
from causeway.ranges import IdSet
from causeway.types import Instant, Span
from causeway.wire import body as bodies

StreamKey = tuple[str, int, int]
"""Source, incarnation, class: what numbers a mailbox's incoming messages."""


class SeenStream:
    """One incoming stream of one mailbox: what was accepted, what is in the application's hands."""

    __slots__ = ("accepted", "high", "key", "lots", "mailbox", "passed", "ranges_max")

    def __init__(self, mailbox: str, key: StreamKey, ranges_max: int = SEEN_RANGES_MAX) -> None:
        self.mailbox = mailbox
        self.key = key
        self.ranges_max = ranges_max
        self.high = 0
        """The highest id ever shown or accepted: whatever lies above is certainly new."""
        self.accepted = IdSet()
        self.lots: dict[int, Lot] = {}
        """Lots with messages not yet settled, by serial."""
        self.passed: dict[tuple[bool, int], int] = {}
        """Of what comes by two ways in order: how far each of them has come, per priority (see `merging`)."""

    def accept(self, first: int, last: int) -> None:
        """The application is done with these ids, for ever."""
        self.accepted.add(first, last)
        self.accepted.forget_lowest(self.ranges_max)
        self.high = max(self.high, last)


class Lot(msgspec.Struct, eq=False):
    """One delivered batch, or what is new of it. Indexes count from 0 within the lot."""

    serial: int
    mailbox: str
    seen: SeenStream | None
    consumer: int
    seq: int
    source: str
    incarnation: int
    stream: int
    first: int
    count: int
    flags: int
    priority: int
    deliveries: int
    body: bytes = b""
    bodies: list[bytes] = []
    """Split when the first message is handed out."""
    taken: int = 0
    """Messages below were handed to the application."""
    low: int = 0
    """Messages below are finished: accepted or given back."""
    reported: int = 0
    """Messages of reported..low-1 are accepted and not yet passed on."""
    done: IdSet | None = None
    """Finished messages above `low`, None while there are none."""
    spans: list[Span] = []
    """Accepted out of order and not yet passed on."""
    reserved: IdSet | None = None
    """In a transaction whose outcome is open."""
    rolled_back: IdSet | None = None
    """Were in a transaction that failed."""
    returned: IdSet | None = None
    """Were given back."""
    aliases: dict[int, list[tuple[int, int]]] | None = None
    """Further (consumer, mailbox number) under which a message arrived again while it was in hand."""
    stale: bool = False
    """Our numbers mean nothing any more: express, and the link it came by is gone."""
    dirty: bool = False
    at: Instant = 0
    """When the mailbox's owner took it."""
    expires: Instant = 0
    """When it ends, 0 for never."""
    published: Published | None = None
    """Of a topic, or in causal order: who sent it, and as which ids; `source` and `first` are the item's or seat's."""
    doubled: bool = False
    """Of a critical topic: it comes by two ways, and `first` is its publisher's."""

    @classmethod
    def delivered(cls, serial: int, head: Deliver, body: bytes, seen: SeenStream) -> Lot:
        """A whole Deliver frame."""
        lot = cls(
            serial,
            head.mailbox,
            seen,
            head.consumer,
            head.seq,
            head.source,
            head.incarnation,
            head.stream,
            head.first,
            head.count,
            head.flags,
            head.priority,
            head.deliveries,
            body,
        )
        lot.at, lot.expires, lot.published = head.at, head.expires, head.published
        return lot

    @classmethod
    def browsed(cls, mailbox: str, head: BrowsedBatch, body: bytes) -> Lot:
        """A stretch of a Browsed frame: to look at, never to be settled."""
        whose = (head.source, head.incarnation, head.stream, head.first)
        lot = cls(0, mailbox, None, 0, head.seq, *whose, head.count, head.flags, head.priority, head.deliveries)
        lot.bodies = bodies.split(body, head.count)
        lot.taken = lot.low = lot.reported = lot.count
        lot.at, lot.expires, lot.published = head.at, head.expires, head.published
        return lot

    def narrow(self, first: int, last: int) -> None:
        """Keep only these ids, before anything was handed out."""
        start, stop = first - self.first, last - self.first + 1
        self.body = bodies.cut(self.body, self.count, start, stop)
        self.seq += start
        self.first = first
        self.count = stop - start
        if self.published is not None:
            self.published = self.published.without(start)

    def part(self, serial: int, first: int, last: int) -> Lot:
        """A lot of its own of these ids, before anything was handed out."""
        lot = msgspec.structs.replace(self, serial=serial, bodies=[], spans=[])
        lot.narrow(first, last)
        return lot

    def keep_aliases(self, is_good: Callable[[int, int], bool]) -> None:
        """Forget further numbers of which this does not hold."""
        kept = {index: [one for one in aliases if is_good(*one)] for index, aliases in (self.aliases or {}).items()}
        self.aliases = {index: aliases for index, aliases in kept.items() if aliases} or None

    def take(self, limit: int) -> range:
        """Hand out up to `limit` messages: their indexes."""
        if not self.bodies:
            body, count = self.body, self.count
            self.bodies = [body[4:]] if count == 1 else bodies.split(body, count)  # its lengths were checked on arrival
            self.body = b""
        start = self.taken
        self.taken = min(self.count, start + limit)
        return range(start, self.taken)

    def truncate(self) -> None:
        """Forget what was not handed out: it will be delivered again."""
        self.count = self.taken

    @property
    def causal(self) -> bool:
        """Whether a seat handed it on, in causal order."""
        return self.published is not None and is_seat(self.source)

    @property
    def finished(self) -> bool:
        """Whether nothing is left in the application's hands or on its way there."""
        return self.low >= self.count

    def is_open(self, index: int) -> bool:
        """Whether this message is neither accepted nor given back."""
        return self.low <= index < self.count and (self.done is None or index not in self.done)

    def accept(self, first: int, last: int) -> bool:
        """The application is done with these indexes; whether that is news."""
        if first == self.low and self.done is None and self.reserved is None:
            self.low = last + 1
            return True
        news = self._finish_free(first, last)
        self.spans += news
        return bool(news)

    def give_back(self, first: int, last: int) -> list[Span]:
        """The application does not want these indexes; those that were still open."""
        news = self._finish_free(first, last)
        self.returned = self.returned or IdSet()
        for start, stop in news:
            self.returned.add(start, stop)
        return news

    def settlement(self, index: int) -> str:
        """What was done with this message; empty while it is in the application's hands."""
        if self.is_reserved(index):
            return "put in a transaction"
        if self.is_open(index):
            return ""
        return "given back" if self.returned is not None and index in self.returned else "acknowledged"

    def alias(self, index: int, consumer: int, number: int) -> None:
        """The message arrived again, under this number of this consumer, while it is in hand."""
        if self.aliases is None:
            self.aliases = {}
        self.aliases.setdefault(index, []).append((consumer, number))

    def take_aliases(self, first: int, last: int) -> list[tuple[int, int]]:
        """Further numbers of these indexes, once."""
        if self.aliases is None:
            return []
        found = [index for index in self.aliases if first <= index <= last]
        return [alias for index in found for alias in self.aliases.pop(index)]

    # Transactions ----------------------------------------------------------------------------------------------
    def reserve(self, index: int) -> None:
        """A transaction holds this message until its outcome is known."""
        if self.reserved is None:
            self.reserved = IdSet()
        self.reserved.add(index, index)

    def is_reserved(self, index: int) -> bool:
        """Whether a transaction holds this message."""
        return self.reserved is not None and index in self.reserved

    def was_rolled_back(self, index: int) -> bool:
        """Whether it was in a transaction that failed."""
        return self.rolled_back is not None and index in self.rolled_back

    def conclude(self, index: int, *, committed: bool) -> None:
        """A transaction that had reserved this message has ended."""
        if self.reserved is not None:
            self.reserved.remove(index, index)
            self.reserved = self.reserved or None
        if committed:
            self._finish_free(index, index)
            return
        if self.rolled_back is None:
            self.rolled_back = IdSet()
        self.rolled_back.add(index, index)

    def fresh_spans(self) -> list[Span]:
        """Indexes accepted since the last call."""
        self._close_run()
        spans, self.spans = self.spans, []
        return spans

    def _close_run(self) -> None:
        if self.reported < self.low:
            self.spans.append((self.reported, self.low - 1))
            self.reported = self.low

    def _finish_free(self, first: int, last: int) -> list[Span]:
        """Finish what no transaction holds; the runs that were open until now."""
        self._close_run()
        news: list[Span] = []
        first = max(first, self.low)
        free = [(first, last)] if self.reserved is None else self.reserved.missing(first, last)
        for start, stop in free:
            news += self._finish(start, stop)
        self.reported = self.low
        return news

    def _finish(self, first: int, last: int) -> list[Span]:
        if first > last:
            return []
        done = self.done or IdSet()
        news = done.missing(first, last)
        for start, stop in news:
            done.add(start, stop)
        end = done.end_of(self.low)
        if end >= self.low:
            done.remove(self.low, end)
            self.low = end + 1
        self.done = done or None
        return news
