"""What a seat knows of batches on their way through it, and of those who send them. Owns: the records only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from causeway.core.machine import Turn
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Deposit, Published
from causeway.types import NORMAL_PRIORITY, Flag, Instant, Span
from causeway.wire.body import join

_HEADERS = int(Flag.HEADERS)

Origin = tuple[str, str, int, int]
"""Where a batch came from: domain (empty: an application), sender, its incarnation (0: a seat), its first id there."""

MARK_BODY = join([b""])
"""Of a batch that only tells a seat what another one knows."""


class Way(msgspec.Struct, frozen=True, array_like=True):
    """A batch on its way to another seat."""

    dest: str
    """The seat's group."""
    domain: str
    first: int
    stamp: tuple[int, ...]


class EntryRow(msgspec.Struct, frozen=True, array_like=True):
    """A batch that has passed the clock and not arrived everywhere, as it is stored: all but its body."""

    count: int
    origin: Origin
    published: Published
    dest: str
    to: str
    flags: int
    expires: Instant
    ways: tuple[Way, ...]
    mailboxes: tuple[str, ...]
    void: bool = False


class Entry:
    """A batch that has passed the clock and not arrived everywhere."""

    __slots__ = ("answer_to", "body", "left", "number", "refused", "row", "safe", "void")

    def __init__(self, number: int, row: EntryRow, body: bytes | None, answer_to: bytes) -> None:
        self.number = number
        """Of its first message among all that this seat let through."""
        self.row = row
        self.body = body
        """None after a take-over, until its sender has sent it again."""
        self.answer_to = answer_to
        """The broker that sent it last; empty when nobody did in our time."""
        self.left: dict[str, Way | None] = {way.dest: way for way in row.ways}
        """Where it has not arrived: seats, and (None) mailboxes of this seat."""
        self.left.update(dict.fromkeys(row.mailboxes))
        self.safe = False
        """Whether it is on all copies."""
        self.void = row.void
        self.refused = 0
        """Why the mailbox that it was sent to did not take it (a code); 0 if it did, or has not answered."""

    @property
    def is_mark(self) -> bool:
        """Whether it only tells a seat what we know."""
        return not self.row.dest and not self.row.published.topic

    @property
    def is_own_mark(self) -> bool:
        """Whether it is one that this seat made."""
        return self.is_mark and not self.row.origin[0]

    @property
    def first(self) -> int:
        """Its first id at the one who sent it."""
        return self.row.origin[3]

    @property
    def last(self) -> int:
        return self.first + self.row.count - 1

    def batch(self) -> StoredBatch:
        """As its sender made it: what selectors look at."""
        was, row = self.row.published, self.row
        assert self.body is not None
        return StoredBatch(
            self.number,
            was.source,
            was.incarnation,
            was.stream,
            was.first,
            row.count,
            row.flags & _HEADERS,
            NORMAL_PRIORITY,
            row.expires,
            was.at,
            b"",
            self.body,
            published=was,
        )


class ApplicationRow(msgspec.Struct, frozen=True, array_like=True):
    """One life of an application that sends through this seat, as it is stored."""

    source: str
    incarnation: int
    high: int
    used: Instant
    voided: tuple[Span, ...] = ()


@dataclass(slots=True)
class Sender:
    """One life of an application that sends through this seat."""

    source: str
    incarnation: int
    high: int = 0
    """The last id that got its place in the order."""
    used: Instant = 0
    voided: list[Span] = field(default_factory=list)
    """Ids whose place was given up."""
    waiting: deque[tuple[Deposit, bytes, Instant]] = field(default_factory=deque)
    """Batches that wait, in order, and since when: for where a mailbox is bound, or for a mark."""
    why: str = ""
    """What the first of them waits for."""
    since: Instant = 0
    bytes: int = 0
    """Bodies of it that wait or are on their way."""
    open: dict[int, Entry] = field(default_factory=dict)
    """Entries that have not arrived everywhere, by first id."""

    @property
    def expected(self) -> int:
        """The id that comes next."""
        return self.waiting[-1][0].first + self.waiting[-1][0].count if self.waiting else self.high + 1

    @property
    def is_idle(self) -> bool:
        return not self.waiting and not self.open

    def row(self) -> ApplicationRow:
        return ApplicationRow(self.source, self.incarnation, self.high, self.used, tuple(self.voided))


Done = Callable[[Turn], None]


class SeatDecision:
    """What one operation of the seat's group makes safe."""

    __slots__ = ("arrived", "done", "new")

    def __init__(self, new: list[Entry], arrived: list[Entry], done: list[Done]) -> None:
        self.new = new
        """Entries that may leave."""
        self.arrived = arrived
        """Entries that have arrived everywhere and are forgotten: their senders may hear so."""
        self.done = done

    @property
    def size(self) -> int:
        """Batches it is about."""
        return len(self.new) + len(self.arrived)
