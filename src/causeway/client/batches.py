"""The producer's unit of work: messages of one turn to one destination with equal properties, and their fate.

A lane is one combination of destination and properties; messages of a lane that follow each other in one turn share a
batch. Per message there is an append to a list and a ticket; everything else happens once per batch.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from causeway.client.marks import After
from causeway.client.message import MessageId
from causeway.core.deadlines import NEVER
from causeway.core.messages import Causal, Published
from causeway.errors import CausewayError, Refused
from causeway.names import SEATS
from causeway.types import Duration, Flag, Instant, ServiceClass, Span

_HEADERS: Final = int(Flag.HEADERS)
_RELIABLE: Final = int(Flag.RELIABLE)
_FIRST_WAY_ONLY: Final = int(Flag.RETAIN | Flag.CONFIRM)


class SentStream:
    """Ids of one (destination, class): the batch being filled and those that wait for their acknowledgement."""

    __slots__ = (
        "backoff",
        "confirming",
        "dest",
        "lagging",
        "loose",
        "next_id",
        "open",
        "ordered",
        "paused",
        "refusal",
        "resent",
        "service",
        "waiting",
        "way",
    )

    def __init__(self, dest: str, service: int, next_id: int) -> None:
        self.dest = dest
        self.service = service
        self.ordered = service == ServiceClass.TRANSACTIONAL
        self.next_id = next_id
        self.open: SentBatch | None = None
        self.waiting: dict[int, SentBatch] = {}
        """Sealed and not yet resolved, by first id, in id order."""
        self.loose: list[SentBatch] = []
        """Unacknowledged kind (express, unreliable), not yet handed to a link."""
        self.confirming: dict[int, SentBatch] = {}
        self.lagging = False
        """Some waiting batch was not sent on the present home link."""
        self.paused = not dest
        """The owner refused for now, and a timer resumes; or it has no destination yet."""
        self.backoff: Duration = 0
        self.refusal: Refused | None = None
        """The last retriable refusal, to say why when time runs out."""
        self.resent: tuple[int, Instant] = (0, 0)
        """Where and when the owner last had us begin again."""
        self.way: int | None = None
        """Of critical topics: by which of the two ways it goes; None for home."""

    def answered(self, first: int, last: int) -> list[SentBatch]:
        """The waiting batches that hold some of these ids."""
        waiting = self.waiting
        batch = waiting.get(first)
        if batch is not None and batch.last == last:
            return [batch]
        if not waiting or last < next(iter(waiting)):
            return []
        return [batch for batch in waiting.values() if batch.first <= last and first <= batch.last]


class Lane:
    """Where and how: a destination with one set of properties, already checked."""

    __slots__ = (
        "causal",
        "copy",
        "delay",
        "echo",
        "flags",
        "headed",
        "open",
        "priority",
        "published",
        "silent",
        "stream",
        "timeout",
        "ttl",
    )

    def __init__(self, stream: SentStream, flags: int, priority: int, *, ttl: Duration, timeout: Duration) -> None:
        self.stream = stream
        self.flags = flags
        self.headed = bool(flags & _HEADERS)
        self.priority = priority
        self.ttl = ttl
        self.timeout = timeout
        """0: no limit."""
        self.delay: Duration = 0
        """Nobody gets its messages before."""
        self.published: Published | None = None
        """Of a topic; the stream's destination is its item, which other topics share."""
        self.causal: Causal | None = None
        """In causal order: where to in the end, and in which class; the stream's destination is our seat."""
        self.echo: Lane | None = None
        """Of a topic in causal order: the ordinary lane of the topic, for subscriptions and histories without order."""
        self.copy: Lane | None = None
        """Of a critical topic: where copies of its batches go, by way 1."""
        self.silent = False
        """Nobody waits for its acknowledgements: it is done when it has left."""
        self.open: SentBatch | None = None
        """The stream's open batch, if it is ours."""

    def second(self, stream: SentStream) -> Lane:
        """Its copies' lane. What is retained, and whether somebody confirms, is the business of way 0; and there the
        time is counted of what is answered."""
        limit = 0 if self.flags & _RELIABLE else self.timeout
        lane = Lane(stream, self.flags & ~_FIRST_WAY_ONLY, self.priority, ttl=self.ttl, timeout=limit)
        lane.delay, lane.published = self.delay, self.published
        self.stream.way, stream.way = 0, 1
        return lane

    @property
    def target(self) -> str:
        """Where an application says it sends: a mailbox or a topic."""
        if self.causal is not None and self.causal.dest:
            return self.causal.dest
        return self.stream.dest if self.published is None else self.published.topic


class SentBatch(msgspec.Struct, eq=False):
    """Messages with consecutive ids of one stream, and what became of them."""

    lane: Lane
    source: tuple[str, int]
    handler: Any = None
    """The driver's."""
    bodies: list[bytes] = []
    """Emptied when sealed."""
    limit: int = 0
    """How many messages may be in `bodies` before the window is looked at again."""
    counted: int = 0
    """Messages of `bodies` that `size` and the window already know of."""
    size: int = 0
    body: bytes = b""
    count: int = 0
    first: int = 0
    """0 until sealed."""
    deadline: Instant = NEVER
    dies: Instant = 0
    """When its time to live ends, 0 for never."""
    due: Instant = 0
    """Nobody gets it before; 0 for at once."""
    durable: bool = True
    """Whether it may leave: with kept state, only once it is on our own disk."""
    sent: int = 0
    """Connection it was last sent on; 0 when it must be sent."""
    sent_at: Instant = 0
    after: After = ()
    """In causal order: what its application was shown elsewhere before."""
    left: bool = False
    """It is on its way, and nobody waits for more; underneath it is kept until it is resolved."""
    resolved: bool = False
    accepted: int = 0
    """How many messages were acknowledged."""
    delivered: bool = False
    """The application acknowledged all of them at once; nothing had to be stored."""
    stored: list[Span] = []
    """Acknowledged as stored, not as delivered."""
    confirmed: bool = False
    unresolved: list[Span] | None = None
    """What is left when only a part was answered."""
    failures: list[tuple[Span, CausewayError]] = []
    copy: SentBatch | None = None
    """Of a critical topic: the same messages by way 1; each goes its way until it is answered there."""
    original: SentBatch | None = None
    """Whose copy this is; nobody is told what becomes of it."""
    echo: SentBatch | None = None
    """In causal order: the same messages, published without."""
    apart: bool = False
    """Of a copy: to have it there is not enough, somebody may be served by way 0 alone."""
    waiter: Any = None
    """The driver's."""
    heard: dict[int, None] = {}
    """Messages whose failure somebody waits for; the driver's."""

    @property
    def last(self) -> int:
        """Id of the last message, once sealed."""
        return self.first + self.count - 1

    def by_second_way(self, lane: Lane) -> SentBatch:
        """The same messages, sealed, in their copies' lane."""
        copy = self.copy = SentBatch(lane, self.source)
        copy.original, copy.body = self, self.body
        copy.first, copy.count, copy.size = self.first, self.count, self.size
        copy.dies, copy.due = self.dies, self.due
        lane.stream.next_id = copy.last + 1
        return copy

    def copies(self) -> list[SentBatch]:
        """The same messages for other ways, once this batch is sealed."""
        found: list[SentBatch] = []
        if self.lane.copy is not None:
            found.append(self.by_second_way(self.lane.copy))
        if self.lane.echo is not None:
            echo = self.echo = SentBatch(self.lane.echo, self.source, self.handler)
            stream = echo.lane.stream
            echo.body, echo.count, echo.size, echo.first = self.body, self.count, self.size, stream.next_id
            stream.next_id += echo.count
            found += [echo, *echo.copies()]
        return found

    @property
    def over(self) -> bool:
        """Whether nobody waits for it (any more)."""
        return self.resolved or self.left

    def unheard(self) -> CausewayError | None:
        """The first failure that nobody waits for; None if there is none."""
        for (first, last), error in self.failures:
            if any(number - self.first not in self.heard for number in range(first, last + 1)):
                return error
        return None

    def error_of(self, index: int) -> CausewayError | None:
        """Why message `index` failed, None if it did not."""
        number = self.first + index
        for (first, last), error in self.failures:
            if first <= number <= last:
                return error
        return None


class Ticket(msgspec.Struct, frozen=True, gc=False):
    """One sent message."""

    batch: SentBatch
    index: int

    @property
    def done(self) -> bool:
        """Whether its batch is resolved, well or not, or nobody waits for that."""
        return self.batch.over

    @property
    def error(self) -> CausewayError | None:
        """Why it failed; None while unknown and when it did not."""
        return self.batch.error_of(self.index)

    @property
    def message_id(self) -> MessageId:
        """Known once the turn in which it was sent is over."""
        batch = self.batch
        stream = batch.lane.stream
        dest = stream.dest if batch.lane.causal is None else SEATS
        return MessageId(*batch.source, dest, stream.service, batch.first + self.index)
